import { describe } from '../../base/describe.ts'
import { type Duration, durationMs } from '../../base/duration.ts'
import type { Log, Logger } from '../../base/log.ts'
import {
  type ActivityDefinition,
  type ActivityOptions,
  checkName,
  mergeActivityOptions,
} from '../definitions.ts'
import type { ActivityWork } from '../runtime/activities.ts'
import type { Copy } from '../runtime/copy.ts'
import type { Values } from '../values.ts'
import type { ActivityContext } from './activity-context.ts'
import type { WorkflowContext } from './workflow-context.ts'

/** What workflow code reaches through its context. */
export interface ContextHost {
  readonly values: Values
  readonly log: Logger
  /** The code registered under an activity's name. */
  activity(name: string): ActivityDefinition | undefined
}

// The last moment that a `Date` can hold.
const LATEST_MS = 8.64e15

/** The `ctx` of one instance: every call becomes a command of its execution. */
export function makeContext(copy: Copy, host: ContextHost): WorkflowContext {
  const { run, definition } = copy
  const timer = (fireAt: number): Promise<void> =>
    run.give({ type: 'timer', command: 0, fireAt }, undefined) as Promise<void>
  return {
    info: {
      id: copy.id,
      execution: copy.generation,
      workflow: definition.name,
      version: definition.version,
      get replaying() {
        return run.replaying
      },
    },
    log: turnLog(copy, host.log),
    run(activity, ...[input, options]: [input?: unknown, options?: ActivityOptions]) {
      const known = activity as unknown as ActivityDefinition
      if ((known as { kind?: unknown } | undefined)?.kind !== 'activity') {
        throw new TypeError(`ctx.run: needs an activity, got ${whatIs(activity)}`)
      }
      const { name } = known
      const label = `ctx.run: input of activity "${name}"`
      const text = host.values.encode(input, label)
      const own = known.run === undefined ? host.activity(name) : known
      const work: ActivityWork = {
        name,
        options: mergeActivityOptions(`ctx.run: activity "${name}"`, known.options, options),
        input: text,
        definition: own,
        step: undefined,
      }
      return run.give(
        { type: 'activity', command: 0, name, input: text, where: 'local' },
        work,
      ) as never
    },
    step(name: string, code: (ctx: ActivityContext) => unknown, options?: ActivityOptions) {
      checkName('ctx.step', name)
      if (typeof code !== 'function') {
        throw new TypeError(`ctx.step "${name}": needs a function, got ${describe(code)}`)
      }
      const work: ActivityWork = {
        name,
        options: mergeActivityOptions(`ctx.step "${name}"`, undefined, options),
        input: undefined,
        definition: undefined,
        step: code,
      }
      return run.give({ type: 'step', command: 0, name }, work) as never
    },
    sleep(duration: Duration) {
      const fireAt = run.at + Math.ceil(durationMs(duration, 'ctx.sleep: duration'))
      if (fireAt > LATEST_MS) {
        throw new RangeError(`ctx.sleep: no calendar reaches that far, got ${describe(duration)}`)
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
    now: () => new Date(run.at),
  }
}

/** Lines are kept until their turn is recorded, and dropped while the past is repeated. */
function turnLog(copy: Copy, log: Logger): Logger {
  const about = { workflow: copy.definition.name, id: copy.id }
  const line =
    (level: keyof Logger): Log =>
    (data, message) => {
      if (copy.run.replaying) return
      const written = { ...about, ...asItIs(data) }
      copy.lines.push(() => log[level](written, message))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

// The line is written later, so the data is copied now. It must not throw: when the past is repeated
// nothing is logged, and the code has to do the same.
function asItIs(data: object): object {
  try {
    return { ...data }
  } catch (error) {
    return { err: error }
  }
}

function whatIs(value: unknown): string {
  const { kind, name } = (value ?? {}) as { kind?: unknown; name?: unknown }
  return kind === 'workflow' ? `workflow "${String(name)}"` : describe(value)
}
