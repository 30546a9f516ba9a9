// Runs a random program as workflow code, and writes down all that it sees on the way.

import {
  activity,
  type Asked,
  CancelledError,
  channel,
  type DurablePromise,
  failure,
  message,
  request,
  stateKey,
  workflow,
  type WorkflowContext,
} from '../../src/index.ts'
import {
  type Answer,
  type CommandPart,
  type ContextPart,
  isCommandPart,
  type NativePart,
  type NotePart,
  type Part,
} from '../support/programs.ts'

/** What a program may throw of its own. */
export const Refused = failure<{ by: string }>('RefusedInProgram')

/** The reason of every cancellation from outside. */
export const STOP = 'stop'

/** How many executions a program has at most. */
const MAX_EXECUTIONS = 3

const CHANNELS = { red: channel<unknown>('red'), blue: channel<unknown>('blue') }
const QUESTION = request<unknown, unknown>('question')
const TOTAL = stateKey<unknown>('total')
const kid = workflow('kid', async (input: unknown) => input)

/** Observes a program. */
export interface Scene {
  readonly seen: string[]
  /** Messages and questions that the code was handed, in that order. */
  readonly received: unknown[]
  /** What failed in shielded code because the instance was cancelled. */
  readonly unshielded: string[]
  /** Whether the code has the changes that it asks for by `patched`. */
  readonly changed: boolean
  /** Called before commands are given, with whether a cancellation is to reach them. */
  expectCommands(reachable: boolean): void
}

/** The position of a part in the code. */
interface Place {
  readonly ctx: WorkflowContext
  /** Whether it is inside `ctx.uncancellable`. */
  readonly shielded: boolean
}

/** Runs a program. */
export function interpret(program: Part, ctx: WorkflowContext, scene: Scene): Promise<unknown> {
  return new Interpreter(scene).run(program, { ctx, shielded: false }, ctx.info.execution)
}

class Interpreter {
  readonly #scene: Scene

  constructor(scene: Scene) {
    this.#scene = scene
  }

  async run(part: Part, place: Place, input: unknown): Promise<unknown> {
    if (isCommandPart(part)) return plain(await this.#give(part, place, input))
    try {
      const value = await this.#perform(part, place, input)
      this.#saw(part.op, value, place)
      return value
    } catch (error) {
      this.#threw(part.op, error)
      throw error
    }
  }

  #perform(part: Exclude<Part, CommandPart>, place: Place, input: unknown): Promise<unknown> {
    if (isNote(part)) return this.#note(part, place, input)
    return isNative(part) ? this.#native(part, place, input) : this.#structure(part, place, input)
  }

  #saw(op: string, value: unknown, { ctx }: Place): void {
    this.#scene.seen.push(`${op} ${JSON.stringify(value) ?? 'nothing'} at ${ctx.now().getTime()}`)
  }

  #threw(op: string, error: unknown): void {
    this.#scene.seen.push(`${op} threw ${describeError(error)}`)
  }

  /** Issues a command. Its outcome is recorded even if the program does not wait for it. */
  #give(part: CommandPart, place: Place, input: unknown): DurablePromise<unknown> {
    this.#scene.expectCommands(!place.shielded)
    const promise = this.#command(part, place, plain(input))
    promise.then(
      (value) => this.#got(part, value, place),
      (error: unknown) => {
        this.#threw(part.op, error)
        const stopped = error instanceof CancelledError && error.reason === STOP
        if (place.shielded && stopped) this.#scene.unshielded.push(part.op)
      },
    )
    return promise
  }

  #got(part: CommandPart, value: unknown, place: Place): void {
    this.#saw(part.op, value, place)
    if (value === undefined) return
    if (part.op === 'receive') this.#scene.received.push(value)
    if (part.op === 'ask') this.#answer(part.answer, value as Asked<unknown, unknown>)
  }

  #command(part: CommandPart, { ctx }: Place, input: unknown): DurablePromise<unknown> {
    const limit = 'days' in part && part.days > 0 ? { timeout: days(part.days) } : undefined
    switch (part.op) {
      case 'activity':
        return ctx.run(activity(part.name, notRun), input)
      case 'step':
        return ctx.step(part.name, () => 0)
      case 'timer':
        return ctx.sleep(days(part.days))
      case 'receive': {
        const from = CHANNELS[part.channel]
        return limit === undefined ? ctx.receive(from) : ctx.receive(from, limit)
      }
      case 'ask':
        return limit === undefined ? ctx.receive(QUESTION) : ctx.receive(QUESTION, limit)
      case 'child': {
        const child = ctx.run(kid, input, { onParentClose: part.close, ...limit })
        if (part.talk) child.send(CHANNELS.red, 'hello').catch(() => {})
        return child
      }
      case 'start':
        return part.name === 'one'
          ? ctx.start(kid, input, { id: 'friend', send: message(CHANNELS.blue, 'welcome') })
          : ctx.start(kid, input)
      case 'send':
        return ctx.get(part.name).send(CHANNELS.red, input)
      case 'read':
        return ctx.get(part.name).readState(TOTAL)
    }
  }

  #answer(answer: Answer, asked: Asked<unknown, unknown>): void {
    this.#scene.received.push(asked.input)
    if (answer === 'none') return
    if (answer === 'reject') {
      // Its stack differs from one run to the next, and is part of the answer.
      return asked.reject(
        Object.assign(new Refused('no', { by: 'program' }), { stack: 'somewhere' }),
      )
    }
    asked.reply({ answerTo: asked.input })
    if (answer === 'reply') return
    try {
      asked.reply('again')
    } catch (error) {
      this.#threw('reply', error)
    }
  }

  async #note(part: NotePart, { ctx }: Place, input: unknown): Promise<unknown> {
    const short = JSON.stringify(input ?? null).slice(0, 40)
    switch (part.op) {
      case 'value':
        return part.value
      case 'throw':
        throw part.what === 'failure' ? new Refused('no', { by: 'program' }) : new Error('broken')
      case 'set':
        return ctx.state.set(stateKey<string>(part.key), short)
      case 'delete':
        return ctx.state.delete(stateKey(part.key))
      case 'get':
        return [ctx.state.get(TOTAL), ctx.state.keys()]
      case 'clear':
        return ctx.state.clear()
      case 'prune':
        return ctx.state.prune(20)
      case 'progress':
        return ctx.progress(short)
      case 'random':
        return ctx.random()
      case 'uuid':
        return ctx.uuid()
      case 'signal':
        ctx.signal.addEventListener('abort', () => this.#threw('signal', ctx.signal.reason))
        return ctx.signal.aborted
      case 'continue': {
        if (ctx.info.execution >= MAX_EXECUTIONS) return 'the last execution'
        return (ctx as unknown as WorkflowContext<string>).continueAsNew(short)
      }
    }
  }

  async #native(part: NativePart, place: Place, input: unknown): Promise<unknown> {
    const run = (one: Part, given = input): Promise<unknown> => this.run(one, place, given)
    const each = (parts: readonly Part[]): Promise<unknown>[] => parts.map((one) => run(one))
    switch (part.op) {
      case 'sequence': {
        let last = input
        for (const one of part.parts) last = await run(one, last)
        return last
      }
      case 'generator': {
        const values: unknown[] = []
        const yielding = async function* (): AsyncGenerator {
          for (const one of part.parts) yield await run(one)
        }
        for await (const value of yielding()) values.push(value)
        return values
      }
      case 'all':
        return Promise.all(each(part.parts))
      case 'race':
        return Promise.race(each(part.parts))
      case 'any':
        return Promise.any(each(part.parts))
      case 'allSettled':
        return (await Promise.allSettled(each(part.parts))).map((one) =>
          one.status === 'fulfilled' ? one.value : describeError(one.reason),
        )
      case 'then':
        return run(part.first).then((value) => run(part.next, value))
      case 'catch':
        return run(part.first).catch((error: unknown) => run(part.next, describeError(error)))
      case 'finally':
        // oxlint-disable-next-line typescript/no-misused-promises -- it is waited for
        return run(part.first).finally(async () => {
          await run(part.next)
        })
      case 'helper':
        for (let hop = 0; hop < part.hops; hop++) await Promise.resolve()
        return run(part.part)
      case 'loop': {
        let last = input
        for (let i = 0; i < part.times; i++) last = await run(part.part, last)
        return last
      }
      case 'branch': {
        const text = JSON.stringify((await run(part.on)) ?? null)
        return run(text.length % 2 === 0 ? part.even : part.odd)
      }
      case 'late': {
        const early = handled(run(part.early))
        await run(part.between)
        return early
      }
      case 'forget':
        void handled(run(part.part))
        return 'forgotten'
    }
  }

  async #structure(part: ContextPart, place: Place, input: unknown): Promise<unknown> {
    const { ctx, shielded } = place
    // Code may also use the context around it: it still belongs to the innermost scope.
    const own = (inner: WorkflowContext): WorkflowContext =>
      'own' in part && part.own ? inner : ctx
    const within = (one: Part) => (inner: WorkflowContext) =>
      this.run(one, { ctx: own(inner), shielded }, input)
    switch (part.op) {
      case 'ctx.all':
      case 'ctx.race': {
        const branches = part.parts.map((one) =>
          part.direct && isCommandPart(one) ? this.#give(one, place, input) : within(one),
        )
        return plain(
          part.op === 'ctx.all'
            ? await ctx.all(branches)
            : await ctx.race(Object.fromEntries(branches.entries())),
        )
      }
      case 'ctx.map': {
        const items = Array.from({ length: part.items }, (_, i) => i)
        const { concurrency } = part
        return ctx.map(items, (_, inner) => within(part.part)(inner), { concurrency })
      }
      case 'ctx.scope':
        if (part.days === 0) return ctx.scope(within(part.part))
        // The time limit is a command of the place around the scope.
        this.#scene.expectCommands(!shielded)
        return ctx.scope(within(part.part), { timeout: days(part.days) })
      case 'ctx.uncancellable':
        return ctx.uncancellable((inner) =>
          this.run(part.part, { ctx: own(inner), shielded: true }, input),
        )
      case 'ctx.saga':
        return ctx.saga(async (undo) => {
          let last = input
          for (const { act, undo: back } of part.steps) {
            const done = (last = await this.run(act, place, last))
            undo(() => this.run(back, { ctx, shielded: true }, done))
          }
          return last
        })
      case 'cancel': {
        const promise = isCommandPart(part.part)
          ? this.#give(part.part, place, input)
          : ctx.scope((inner) => this.run(part.part, { ctx: inner, shielded }, input))
        void handled(promise)
        await this.run(part.after, place, input)
        promise.cancel('on second thoughts')
        return plain(await promise)
      }
      case 'patched': {
        const patched = this.#scene.changed && ctx.patched(part.change)
        return patched ? this.run(part.part, place, input) : 'as it was before'
      }
    }
  }
}

const NOTES = 'value throw set delete get clear prune progress random uuid signal continue'.split(
  ' ',
)

function isNote(part: Part): part is NotePart {
  return NOTES.includes(part.op)
}

function isNative(part: NativePart | ContextPart): part is NativePart {
  return !part.op.startsWith('ctx.') && part.op !== 'cancel' && part.op !== 'patched'
}

const days = (count: number): `${number}d` => `${count}d`

/** The code of activities is not called here: what they bring is made up. */
function notRun(_input: unknown): unknown {
  throw new Error('activities are not run')
}

/** Without what cannot be handed to an activity: handles and ways to answer. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}

/** Code that awaits a promise late, or never, has to say that it is not forgotten. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** An error, reduced to what code can distinguish. */
export function describeError(error: unknown): string {
  const { name, message: text, cause } = error as Error
  const own = error instanceof Refused ? ` by ${error.details.by}` : ''
  const all = error instanceof AggregateError ? ` [${error.errors.map(describeError).join()}]` : ''
  const because = cause === undefined ? '' : ` (${describeError(cause)})`
  return `${(error as object).constructor.name} ${name}: ${text}${own}${all}${because}`
}
