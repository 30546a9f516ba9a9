import { AsyncLocalStorage } from 'node:async_hooks'
import { CancelledError } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import { type Random, seededRandom } from './random.ts'
import type { Registry } from '../define/registry.ts'
import { cancellable, type CommandPromise } from '../replay/command-promise.ts'
import type { NewCommand } from '../replay/execution.ts'
import { Scope } from '../replay/scope.ts'
import type { LiveInstance } from '../instance/live-instance.ts'
import type { Values } from '../core/values.ts'
import type { WorkflowContext } from '../define/workflow-context.ts'
import { WorkflowState } from './workflow-state.ts'

/** What workflow code may not exceed. */
export interface WorkflowLimits {
  /** Keys of state that one instance may have. */
  readonly stateKeys: number
  /** Length of one encoded value of state or progress, in characters. */
  readonly valueLength: number
}

/** What workflow code reaches through its context. */
export interface ContextHost {
  readonly values: Values
  readonly log: Logger
  readonly limits: WorkflowLimits
  /** The code that is registered in this process. */
  readonly registry: Pick<Registry, 'activity' | 'latest' | 'learn'>
  /** Whether activities with this tag run here; empty for none. */
  serves(tag: string): boolean
}

// Code inside a scope may use the context of a scope around it, as a function written in place does:
// what it asks for belongs to the innermost scope all the same.
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

  // What most executions never ask for is made when they do.

  get state(): WorkflowState {
    return (this.#state ??= new WorkflowState(this.instance, this.host))
  }

  get random(): Random {
    return (this.#random ??= seededRandom(this.instance.started.seed))
  }

  /** The state for the next execution, as text. */
  writeState(): string {
    return this.#state?.write() ?? this.instance.started.state
  }

  /** The scope that a call through a context of `scope` belongs to. */
  innermost(scope: Scope): Scope {
    if (!this.#scoped) return scope
    const current = scopes.getStore()
    if (current === undefined) return scope
    // A context outlives its scope where an undo was noted in it: that runs in the scope of the undos.
    const isMeant = current.isWithin(scope) || (scope.left && current.root === scope.root)
    return isMeant ? current : scope
  }

  /** Gives a command through a context of `scope`. */
  give(scope: Scope, command: NewCommand, work: unknown): CommandPromise {
    return this.instance.run.give(command, work, this.innermost(scope))
  }

  /** Runs code in a scope of its own; what it leaves behind is cancelled when it ends. */
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
        execution.cancelScope(scope, new CancelledError('the scope it was in has ended'))
        scope.leave()
      }
    })
    scope.promise = cancellable(promise, (reason) =>
      execution.cancelScope(scope, new CancelledError(reason)),
    )
    return { scope, promise: scope.promise }
  }
}
