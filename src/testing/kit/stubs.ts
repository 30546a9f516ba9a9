// What runs instead of activities and steps, and a record of every call.

import { describe } from '../../base/describe.ts'
import { flag, resolveOptions } from '../../base/options.ts'
import { type Duration, durationMs } from '../../base/time/duration.ts'
import type { ActivityContext } from '../../engine/define/activity-context.ts'
import type {
  Activity,
  ActivityDefinition,
  ParsingActivity,
} from '../../engine/define/definitions.ts'
import type { Registry } from '../../engine/define/registry.ts'
import { copyValue } from './copy-value.ts'

/** Code that runs instead of an activity or a step. */
export interface Stub {
  /** The activity or step that it replaces. */
  readonly name: string
  /** Which of the two that is. */
  readonly replaces: 'activity' | 'step'
}

/** What a stub can do besides being an activity. */
export interface StubTools {
  /**
   * Waits for a time of the test clock, such as an answer that takes an hour. Nothing else does: real time
   * that code takes does not move the clock. Rejects when the attempt is aborted, for example by its
   * `timeout`.
   */
  readonly sleep: (duration: Duration) => Promise<void>
}

/** Options of a stub. */
export interface StubOptions {
  /** Whether the test passes although nothing has called it. @default false */
  optional?: boolean
}

/** The code of a stub. */
export type StubCode<I, O> = (input: I, ctx: ActivityContext, test: StubTools) => O | Promise<O>

type Kind = Stub['replaces']

interface StubDefinition extends Stub {
  readonly run: StubCode<unknown, unknown>
  readonly isOptional: boolean
}

/** One attempt at an activity or a step. */
export interface Call {
  /** The name of the activity or the step. */
  readonly activity: string
  /** What it was called with, parsed by its schema; `undefined` for a step. */
  readonly input: unknown
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

/** One attempt at an activity, with its types, its instance and its end. */
export interface CallOf<I, O> extends Call {
  readonly input: I
  readonly instanceId: string
  readonly idempotencyKey: string
  /** What it returned; `undefined` while it runs, and when it threw. */
  readonly output: O | undefined
  /** What it threw. */
  readonly error: unknown
}

interface MutableCall extends CallOf<unknown, unknown> {
  output: unknown
  error: unknown
}

interface Recorded {
  readonly kind: Kind
  readonly call: MutableCall
}

/**
 * Replaces an activity in a test, whichever kind it is: one with code, a contract, or a transaction. Also
 * one that a workflow calls directly. Given the activity, the types are checked against it. Given its name,
 * for example because its module does not export it, the types are those that you write.
 *
 * @example
 * stub(charge, (order) => ({ id: 'receipt-1', amount: order.total }))
 * stub('charge', (order: Order) => ({ id: 'receipt-1', amount: order.total }))
 */
export function stub<I, O, P = I>(
  activity: ParsingActivity<I, O, P>,
  run: StubCode<NoInfer<P>, O>,
  options?: StubOptions,
): Stub
export function stub<I = unknown, O = unknown>(
  name: string,
  run: StubCode<I, O>,
  options?: StubOptions,
): Stub
export function stub(
  activity: Activity<never, unknown> | string,
  run: StubCode<never, unknown>,
  options?: StubOptions,
): Stub {
  const name = nameOf(activity, 'stub', '; use stubStep for a step of a workflow')
  return define('stub', 'activity', name, run as StubCode<unknown, unknown>, options)
}

/** The name of an activity, which may be given by it. */
export function nameOf(
  activity: Activity<never, unknown> | string,
  owner: string,
  hint = '',
): string {
  if (typeof activity === 'string') return activity
  if ((activity as { kind?: unknown } | undefined)?.kind === 'activity') return activity.name
  throw new TypeError(
    `${owner}: needs an activity or the name of one, got ${describeOther(activity)}${hint}`,
  )
}

/** Replaces a step in a test, by its name, in every workflow that has one. */
export function stubStep(
  name: string,
  run: (ctx: ActivityContext, test: StubTools) => unknown,
  options?: StubOptions,
): Stub {
  if (typeof name !== 'string') {
    throw new TypeError(`stubStep: needs the name of a step, got ${describe(name)}`)
  }
  return define('stubStep', 'step', name, (_, ctx, test) => run(ctx, test), options)
}

/** What was given instead: most likely another definition. */
function describeOther(given: unknown): string {
  const { kind, name } = (given ?? {}) as { readonly kind?: unknown; readonly name?: unknown }
  return kind === 'activity' || kind === 'workflow' ? `${kind} "${String(name)}"` : describe(given)
}

function define(
  owner: string,
  replaces: Kind,
  name: string,
  run: StubCode<unknown, unknown>,
  options: StubOptions | undefined,
): StubDefinition {
  if (typeof run !== 'function') {
    throw new TypeError(`${owner} ${describe(name)}: needs a function, got ${describe(run)}`)
  }
  const { optional } = resolveOptions(`${owner} ${describe(name)}`, options, {
    optional: flag(false),
  })
  return { replaces, name, run, isOptional: optional }
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** Calls code of an activity or a step, by `run`, at once, or later, or never. */
export type AroundCode = (ctx: ActivityContext, run: () => unknown) => unknown

/** The stubs of a test, and the calls of everything they did or did not replace. */
export class Calls {
  readonly #sleep: Sleep
  readonly #around: AroundCode
  readonly #stubs = new Map<string, StubDefinition>()
  readonly #used = new Set<StubDefinition>()
  readonly #all: Recorded[] = []
  readonly #running = new Map<Recorded, AbortSignal>()
  readonly #wrapped = new WeakMap<ActivityDefinition, ActivityDefinition>()
  readonly #names = new Set<string>()
  readonly #missing = new Set<string>()

  constructor(stubs: readonly Stub[], sleep: Sleep, around: AroundCode = (_, run) => run()) {
    this.#sleep = sleep
    this.#around = around
    for (const one of stubs as readonly StubDefinition[]) {
      if (one?.replaces === undefined) {
        throw new TypeError(
          `openTest: stubs must be made by stub() or stubStep(), got ${describeOther(one)}`,
        )
      }
      const key = `${one.replaces} ${one.name}`
      if (this.#stubs.has(key))
        throw new TypeError(`openTest: two stubs of ${one.replaces} "${one.name}"`)
      this.#stubs.set(key, one)
    }
  }

  /** All attempts, in the order they began. */
  get all(): readonly Call[] {
    return this.#all.map(({ call: { activity, input, attempt } }) => ({ activity, input, attempt }))
  }

  /** The attempts at one activity. */
  of(name: string): readonly CallOf<unknown, unknown>[] {
    return this.#all
      .filter(({ kind, call }) => kind === 'activity' && call.activity === name)
      .map(({ call }) => call)
  }

  /** What runs and was not aborted, such as `activity "charge"`, in the order it began. */
  get running(): readonly string[] {
    const running = [...this.#running].filter(([, { aborted }]) => !aborted)
    return running.map(([{ kind, call }]) => `${kind} "${call.activity}"`)
  }

  /** Activities that were called and have no code. */
  get missing(): readonly string[] {
    return [...this.#missing]
  }

  /** Stubs that nothing has called, with what was called instead. */
  get unused(): readonly string[] {
    const called = [...new Set(this.#all.map(({ kind, call }) => `${kind} "${call.activity}"`))]
    const instead =
      called.length === 0 ? 'nothing was called' : `what was called: ${called.join(', ')}`
    return [...this.#stubs.values()]
      .filter((one) => !one.isOptional && !this.#used.has(one))
      .map(({ replaces, name }) => {
        const [other, right] = replaces === 'activity' ? ['step', 'stubStep'] : ['activity', 'stub']
        const isOther = called.includes(`${other} "${name}"`)
        const hint = isOther
          ? `; "${name}" is ${other === 'activity' ? 'an' : 'a'} ${other}: use ${right}`
          : ''
        return `${replaces} "${name}" was stubbed, and never called (${instead}${hint})`
      })
  }

  /** A registry whose activities are replaced and recorded. */
  over(registry: Registry): Registry {
    const wrap = (one: ActivityDefinition): ActivityDefinition => this.#wrap(one)
    const replaced = (name: string): ActivityDefinition | undefined => {
      const known = registry.activity(name)
      return known && wrap(known)
    }
    const names = this.#names
    return {
      ...registry,
      activity: replaced,
      get activityNames() {
        return [...new Set([...registry.activityNames, ...names])]
      },
      replacement: (activity) => {
        const { name } = activity
        const code = activity.run === undefined ? registry.activity(name) : activity
        if (code === activity) registry.learn(activity)
        if (code !== undefined) return wrap(code)
        if (!this.#stubs.has(`activity ${name}`)) {
          this.#missing.add(name)
          return undefined
        }
        registry.learn(activity)
        names.add(name)
        return wrap(activity)
      },
      stepReplacement: (name, code) => {
        const stubbed = this.#stubs.get(`step ${name}`)
        if (stubbed === undefined)
          return (ctx) => this.#record('step', name, undefined, ctx, () => code(ctx))
        this.#used.add(stubbed)
        return (ctx) =>
          this.#record('step', name, undefined, ctx, () =>
            stubbed.run(undefined, ctx, this.#tools(ctx)),
          )
      },
    }
  }

  #wrap(definition: ActivityDefinition): ActivityDefinition {
    let wrapped = this.#wrapped.get(definition)
    if (wrapped === undefined) {
      wrapped = this.#replace(definition)
      this.#wrapped.set(definition, wrapped)
      this.#wrapped.set(wrapped, wrapped)
    }
    return wrapped
  }

  #replace(definition: ActivityDefinition): ActivityDefinition {
    const { name, run, transaction } = definition
    const stubbed = this.#stubs.get(`activity ${name}`)
    if (stubbed === undefined) {
      return {
        ...definition,
        run: (input, ctx) =>
          this.#record(
            'activity',
            name,
            input,
            ctx,
            () => run!(input, ctx),
            transaction === undefined,
          ),
      }
    }
    const { transaction: _, ...plain } = definition
    return {
      ...plain,
      run: (input, ctx) => {
        this.#used.add(stubbed)
        return this.#record('activity', name, input, ctx, () =>
          stubbed.run(input, ctx, this.#tools(ctx)),
        )
      },
    }
  }

  #tools({ signal }: ActivityContext): StubTools {
    return {
      sleep: (duration) => this.#sleep(durationMs(duration, 'stub: sleep'), signal),
    }
  }

  #record(
    kind: Kind,
    activity: string,
    input: unknown,
    ctx: ActivityContext,
    run: () => unknown,
    mayWait = true,
  ): unknown {
    const { attempt, idempotencyKey, info } = ctx
    const { instanceId } = info
    const call: MutableCall = {
      activity,
      input: copyValue(input),
      attempt,
      instanceId,
      idempotencyKey,
      output: undefined,
      error: undefined,
    }
    const recorded = { kind, call }
    this.#all.push(recorded)
    this.#running.set(recorded, ctx.signal)
    const end = (output: unknown): unknown => {
      this.#running.delete(recorded)
      call.output = copyValue(output)
      return output
    }
    const fail = (error: unknown): never => {
      this.#running.delete(recorded)
      call.error = error
      throw error
    }
    try {
      const output = mayWait ? this.#around(ctx, run) : run()
      return output instanceof Promise ? output.then(end, fail) : end(output)
    } catch (error) {
      return fail(error)
    }
  }
}
