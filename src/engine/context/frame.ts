import { AsyncLocalStorage } from 'node:async_hooks'
import { CancelledError } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import { type Random, seededRandom } from './random.ts'
import type { Registry } from '../define/registry.ts'
import { cancellable, type CommandPromise } from '../replay/command-promise.ts'
import type { NewCommand } from '../replay/execution.ts'
import { Scope } from '../replay/scope.ts'
import type { LiveInstance } from '../instance/live-instance.ts'
import type { ByteLimit, LimitGuard } from '../core/limits.ts'
import { instanceKeys } from '../core/log-keys.ts'
import type { Values } from '../core/values.ts'
import type { WorkflowContext } from '../define/workflow-context.ts'
import { WorkflowState } from './workflow-state.ts'

/** What the context of a workflow needs of the runtime. */
export interface ContextHost {
  readonly values: Values
  readonly log: Logger
  readonly guard: LimitGuard
  /** The code that is registered in this process. */
  readonly registry: Pick<
    Registry,
    'activity' | 'latest' | 'learn' | 'replacement' | 'stepReplacement'
  >
  /** Whether activities with this tag run here; an empty tag means none. */
  serves(tag: string): boolean
}

// Code inside a scope may use the `ctx` of a scope around it, as closures do. What it calls belongs to
// the innermost scope nevertheless.
const scopes = new AsyncLocalStorage<Scope>()

/** What the contexts of one execution share. */
export class Frame {
  readonly instance: LiveInstance
  readonly host: ContextHost
  #state: WorkflowState | undefined
  #random: Random | undefined
  #scoped = false

  constructor(instance: LiveInstance, host: ContextHost) {
    this.instance = instance
    this.host = host
  }

  // Created on first use, because most executions never need them.

  get state(): WorkflowState {
    return (this.#state ??= new WorkflowState(this))
  }

  get random(): Random {
    return (this.#random ??= seededRandom(this.instance.started.seed))
  }

  /** The state that the next execution begins with, as text. */
  writeState(): string {
    return this.#state?.write() ?? this.instance.started.state
  }

  /** The scope that a call on the context of `scope` belongs to. */
  innermost(scope: Scope): Scope {
    if (!this.#scoped) return scope
    const current = scopes.getStore()
    if (current === undefined) return scope
    // A context outlives its scope in the undo functions of a saga: those run in the scope of the undo.
    const isMeant = current.isWithin(scope) || (scope.left && current.root === scope.root)
    return isMeant ? current : scope
  }

  /** Encodes a value that the code passes out. Throws if it is over the limit, also on replay. */
  encode(value: unknown, label: string, limit: ByteLimit): string {
    const { values, guard } = this.host
    const text = values.encode(value, label)
    const keys = (): object => instanceKeys(this.instance)
    this.instance.run.passOut(() => guard.excess(text, label, limit, keys))
    return text
  }

  /** Issues a command on the context of `scope`. */
  give(scope: Scope, command: NewCommand, work: unknown): CommandPromise {
    return this.instance.run.give(command, work, this.innermost(scope))
  }

  /** Runs code in a new scope, and cancels what is still open in it when the code ends. */
  enter(
    outer: Scope,
    makeContext: (scope: Scope) => WorkflowContext,
    run: (ctx: WorkflowContext) => Promise<unknown>,
    { shielded = false }: { shielded?: boolean } = {},
  ): { readonly scope: Scope; readonly promise: CommandPromise } {
    this.#scoped = true
    const { run: execution } = this.instance
    const scope = new Scope(this.innermost(outer), shielded)
    const promise = scopes.run(scope, async () => {
      try {
        const value = await run(makeContext(scope))
        execution.returned(scope)
        return value
      } finally {
        execution.cancelScope(scope, new CancelledError('its scope has ended'))
        scope.leave()
      }
    })
    scope.promise = cancellable(promise, (reason) =>
      execution.cancelScope(scope, new CancelledError(reason)),
    )
    return { scope, promise: scope.promise }
  }
}
