import { describe } from '../../base/describe.ts'
import { type Duration, durationMs } from '../../base/time/duration.ts'
import type { Log, Logger } from '../../base/log.ts'
import { option, resolveOptions } from '../../base/options.ts'
import { randomUuid } from './random.ts'
import type { StartOptions } from '../define/instance.ts'
import { type ActivityOptions, mergeActivityOptions } from '../define/activity-options.ts'
import type { ActivityDefinition, ChildOptions, WorkflowDefinition } from '../define/definitions.ts'
import { instanceKeys } from '../core/log-keys.ts'
import { checkName } from '../define/names.ts'
import type { CommandPromise } from '../replay/command-promise.ts'
import type { Scope } from '../replay/scope.ts'
import { type ActivityWork, limitOf, unsetOptions } from '../instance/activity-work.ts'
import type { LiveInstance } from '../instance/live-instance.ts'
import { checkVersion } from '../../base/versions.ts'
import type { ActivityContext } from '../define/activity-context.ts'
import { type ContextHost, Frame } from './frame.ts'
import { guardedSignal } from './guarded-signal.ts'
import { runChild, startInstance } from './instances.ts'
import { receive, remote } from './messages.ts'
import { MAX_DATE_MS } from '../core/moments.ts'
import { makeStructure, runTimed, type Structure } from './structure.ts'
import type { WorkflowContext } from '../define/workflow-context.ts'

export type { ContextHost } from './frame.ts'

/** Calls the code of one execution with its context. */
export function callCode(
  instance: LiveInstance,
  host: ContextHost,
  run: (ctx: WorkflowContext) => Promise<unknown>,
): Promise<unknown> {
  const frame = new Frame(instance, host)
  instance.keepsStateBy(() => frame.writeState())
  const makeContext = (scope: Scope): WorkflowContext => contextIn(frame, scope)
  const { name, timeoutMs } = instance.definition
  return timeoutMs === undefined
    ? run(makeContext(instance.run.root))
    : runTimed(frame, instance.run.root, makeContext, run, timeoutMs, `workflow "${name}"`)
}

/** Creates the `ctx` of one scope, whose calls become commands of the execution. */
function contextIn(frame: Frame, scope: Scope): WorkflowContext {
  const { instance, host } = frame
  const { run, definition, started } = instance
  const makeContext = (inner: Scope): WorkflowContext => contextIn(frame, inner)
  const timer = (fireAt: number): CommandPromise =>
    frame.give(scope, { type: 'timer', command: 0, fireAt }, undefined)
  let signal: AbortSignal | undefined
  let log: Logger | undefined
  let made: Structure | undefined
  const structure = (): Structure => (made ??= makeStructure(frame, scope, makeContext))
  const context = {
    info: {
      id: instance.id,
      execution: instance.execution,
      workflow: definition.name,
      version: definition.version,
      ...(started.parentId !== '' && { parentId: started.parentId }),
      get replaying() {
        return run.replaying
      },
    },
    get signal() {
      return (signal ??= guardedSignal(run, scope))
    },
    get log() {
      return (log ??= turnLog(instance, host.log))
    },
    get state() {
      return frame.state
    },
    run(
      what: unknown,
      ...[input, options]: [input?: unknown, options?: ActivityOptions | ChildOptions]
    ) {
      const { kind } = (what ?? {}) as { kind?: unknown }
      if (kind === 'workflow') {
        const workflow = what as WorkflowDefinition
        return runChild(frame, scope, makeContext, workflow, input, options)
      }
      if (kind !== 'activity') {
        throw new TypeError(`ctx.run: needs an activity or a workflow, got ${describe(what)}`)
      }
      return runActivity(frame, scope, what as ActivityDefinition, input, options)
    },
    step(name: string, code: (ctx: ActivityContext) => unknown, options?: ActivityOptions) {
      checkName('ctx.step', name)
      if (typeof code !== 'function') {
        throw new TypeError(`ctx.step "${name}": needs a function, got ${describe(code)}`)
      }
      checkStepOptions(name, options)
      const work: ActivityWork = {
        name,
        options: mergeActivityOptions(`ctx.step "${name}"`, undefined, options),
        input: undefined,
        definition: undefined,
        step: host.registry.stepReplacement?.(name, code) ?? code,
        givenAt: run.at,
        limit: null,
      }
      return frame.give(scope, { type: 'step', command: 0, name }, work)
    },
    start: (workflow: unknown, ...[input, options]: [input?: unknown, options?: StartOptions]) =>
      startInstance(frame, scope, workflow, input, options),
    get: (id: string) => remote(frame, scope, id),
    sleep(duration: Duration) {
      const fireAt = run.at + durationMs(duration, 'ctx.sleep: duration')
      if (fireAt > MAX_DATE_MS) {
        throw new RangeError(
          `ctx.sleep: the end exceeds the latest possible date, got ${describe(duration)}`,
        )
      }
      return timer(fireAt)
    },
    sleepUntil(when: Date) {
      const ms = when instanceof Date ? when.getTime() : NaN
      if (Number.isNaN(ms)) {
        throw new TypeError(`ctx.sleepUntil: needs a valid Date, got ${describe(when)}`)
      }
      return timer(Math.ceil(ms))
    },
    receive: (from: unknown, options?: { timeout: Duration }) =>
      receive(frame, scope, from, options),
    all: (branches: never) => structure().all(branches),
    race: (branches: never) => structure().race(branches),
    map: (...args: Parameters<Structure['map']>) => structure().map(...args),
    scope: (...args: Parameters<Structure['scope']>) => structure().scope(...args),
    uncancellable: (code: never) => structure().uncancellable(code),
    saga: (code: never) => structure().saga(code),
    continueAsNew(...[input, options]: [input?: unknown, options?: { version?: string }]) {
      const { version } = resolveOptions('ctx.continueAsNew', options, {
        version: option(checkVersion, undefined),
      })
      const text = frame.encode(input, 'ctx.continueAsNew: input', 'inputBytes')
      return run.continueAsNew(text, version, frame.innermost(scope))
    },
    progress(value: unknown) {
      const text = frame.encode(value, 'ctx.progress: the value', 'progressBytes')
      run.note({ type: 'progress', value: text })
    },
    now: () => new Date(run.at),
    random: () => frame.random.number(),
    uuid: () => randomUuid(frame.random),
    patched(change: string) {
      checkName('ctx.patched: change', change)
      return run.patched(change)
    },
  }
  return context as unknown as WorkflowContext
}

/** Throws for options that have no effect, because a step runs where its workflow runs. */
function checkStepOptions(name: string, options: ActivityOptions | undefined): void {
  const route = (['tag', 'session'] as const).find((one) => options?.[one] !== undefined)
  if (route === undefined) return
  throw new TypeError(
    `ctx.step "${name}": ${route} is not an option of a step, which always runs in the process of ` +
      `its workflow; use an activity to run code elsewhere: ctx.run(activity, input, { ${route} })`,
  )
}

function runActivity(
  frame: Frame,
  scope: Scope,
  activity: ActivityDefinition,
  input: unknown,
  options: ActivityOptions | undefined,
): CommandPromise {
  const { host } = frame
  const { name } = activity
  const text = frame.encode(input, `ctx.run: input of activity "${name}"`, 'inputBytes')
  const definition =
    host.registry.replacement?.(activity) ??
    (activity.run === undefined ? host.registry.activity(name) : activity)
  if (definition === activity) host.registry.learn(activity)
  // A contract has no options: those of its registered implementation apply.
  const { options: defined } = definition ?? activity
  const resolved = mergeActivityOptions(`ctx.run: activity "${name}"`, defined, options)
  const limit = limitOf(definition ?? activity, input)
  const work: ActivityWork = {
    name,
    options: resolved,
    input: text,
    definition,
    step: undefined,
    givenAt: frame.instance.run.at,
    limit,
    ...(definition === undefined && { unset: unsetOptions(options) }),
  }
  const { tag, session } = resolved
  const runsHere = definition !== undefined && limit === null && session === '' && host.serves(tag)
  const where = runsHere ? 'local' : 'task'
  return frame.give(
    scope,
    { type: 'activity', command: 0, name, input: text, where, tag, session },
    work,
  )
}

/** Creates `ctx.log`: it buffers lines until their turn is committed, and drops them during replay. */
function turnLog(instance: LiveInstance, log: Logger): Logger {
  const about = instanceKeys(instance)
  const line =
    (level: keyof Logger): Log =>
    (data, message) => {
      if (instance.run.replaying) return
      const written = { ...about, ...copyOf(data) }
      instance.afterCommit(() => log[level](written, message))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

// Copies the data now, because the line is written later. It must not throw: during replay nothing is
// logged, and the code has to behave the same.
function copyOf(data: object): object {
  try {
    return { ...data }
  } catch (error) {
    return { err: error }
  }
}
