// One execution of a workflow as a running async function: inputs go in, commands come out.
//
//   X1. The same inputs in the same order give the same commands, as long as the code is
//       deterministic. Nothing here reads a clock, a random number or a database.
//   X2. Inputs are applied one at a time; between two of them the code runs until it waits.
//   X3. Commands are given, and the workflow returns, only in its own turn. What happens outside
//       is refused and breaks the execution: it cannot be repeated.
//   X4. A dropped execution does nothing any more: its commands never settle.

import { NondeterminismError } from './nondeterminism.ts'
import type { Event } from '../../store/history.ts'
import { inTurn, type InTurn } from './turn.ts'

/** An event that the code gave: something it asked for. */
export type CommandEvent = Extract<Event, { type: 'activity' | 'step' | 'timer' }>
/** An event that settles a command. */
export type InputEvent = Extract<Event, { type: 'completed' | 'failed' | 'fired' }>
/** A command before it has its number. */
export type NewCommand = Unnumbered<CommandEvent>

type Unnumbered<E> = E extends unknown ? Omit<E, 'command'> & { command: number } : never

/** A command with what is needed to carry it out; `work` is the runtime's business. */
export interface Given {
  readonly event: CommandEvent
  readonly work: unknown
  /** Where in the code it was given; only while looking for the place of a mismatch. */
  readonly stack: string | undefined
}

/** How the code ended. */
export type Outcome =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** Turns stored text back into what it was. */
export interface Decoder {
  value(text: string): unknown
  error(text: string): Error
}

/** A command that has no result yet, and the promise that the code holds. */
interface Waiting extends Given {
  readonly promise: Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A workflow's code while it runs. */
export class Execution implements InTurn {
  readonly label: string
  /** Rejections that nobody has handled, by the promise that rejected. */
  readonly strays = new Map<Promise<unknown>, unknown>()
  /** Called when the code did something outside its turn: it has to be set aside. */
  onBreak: (() => void) | undefined
  /** The time of the turn, for the code. */
  at = 0
  /** True while inputs come from history. */
  replaying = true
  readonly #decode: Decoder
  readonly #open = new Map<number, Waiting>()
  #given: Given[] = []
  #lastCommand = 0
  #outcome: Outcome | undefined
  #broken: Error | undefined
  #dropped = false
  #traced = false

  constructor(label: string, decode: Decoder) {
    this.label = label
    this.#decode = decode
  }

  /** Commands that have no result yet, by number. */
  get open(): ReadonlyMap<number, Given> {
    return this.#open
  }

  /** How the code ended; `undefined` while it runs. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** Why this execution cannot go on; it has to be set aside. */
  get broken(): Error | undefined {
    return this.#broken
  }

  /** Notes from now on where in the code each command is given. Slow: only for a report. */
  trace(): void {
    this.#traced = true
  }

  /** Calls the code; it runs until its first wait within the turn. */
  begin(run: () => Promise<unknown>): void {
    const finish = (outcome: Outcome): void => {
      if (this.#dropped) return
      if (inTurn() === this) this.#outcome = outcome
      else this.break(outsideTurn(this, 'returned'))
    }
    // Also a function that is not async may throw at once.
    new Promise((resolve) => resolve(run())).then(
      (value) => finish({ ok: true, value }),
      (error: unknown) => finish({ ok: false, error }),
    )
  }

  /** The code asks for something. Fills in the command's number. */
  give(command: NewCommand, work: unknown): Promise<unknown> {
    if (this.#dropped) return new Promise(() => {})
    if (inTurn() !== this) {
      const error = outsideTurn(this, `called ${describeCommand(command)}`)
      this.break(error)
      throw error
    }
    command.command = ++this.#lastCommand
    const stack = this.#traced ? new Error('here').stack : undefined
    let resolve!: Waiting['resolve']
    let reject!: Waiting['reject']
    const promise = new Promise((onValue, onError) => {
      resolve = onValue
      reject = onError
    })
    const waiting: Waiting = { event: command, work, stack, promise, resolve, reject }
    this.#open.set(command.command, waiting)
    this.#given.push(waiting)
    return promise
  }

  /** Commands given since the last call, in order. */
  take(): readonly Given[] {
    if (this.#given.length === 0) return NONE
    const given = this.#given
    this.#given = []
    return given
  }

  /** Settles a command. The code goes on in the microtasks that follow. */
  apply(input: InputEvent): void {
    const waiting = this.#open.get(input.command)
    if (waiting === undefined) {
      throw new NondeterminismError(
        `${input.type} for command ${input.command}, which is not open`,
        input.command,
        `an open command ${input.command}`,
        'none',
      )
    }
    this.#open.delete(input.command)
    switch (input.type) {
      case 'completed':
        return waiting.resolve(this.#decode.value(input.value))
      case 'failed':
        // The code may never look at it, or look at it later.
        waiting.promise.catch(() => {})
        return waiting.reject(this.#decode.error(input.error))
      case 'fired':
        return waiting.resolve(undefined)
    }
  }

  /** A promise of the code rejected and nobody looked: reported if the code ends without doing so. */
  stray(promise: Promise<unknown>, reason: unknown): void {
    if (!this.#dropped) this.strays.set(promise, reason)
  }

  /** This execution cannot go on. The first reason stays. */
  break(error: Error): void {
    if (this.#broken !== undefined) return
    this.#broken = error
    this.onBreak?.()
  }

  /** Forgets everything; whatever the code still does has no effect. */
  drop(): void {
    this.#dropped = true
    this.#open.clear()
    this.#given = []
  }
}

const NONE: readonly Given[] = []

/** A command as messages name it. */
export function describeCommand(command: NewCommand): string {
  return command.type === 'timer' ? 'a timer' : `${command.type} "${command.name}"`
}

function outsideTurn(execution: Execution, did: string): Error {
  const other = inTurn()
  const during = other === undefined ? 'outside any turn' : `in the turn of ${other.label}`
  return new Error(
    `${execution.label} ${did} ${during}: it waited for something that is not durable ` +
      '(a timer, I/O, or a promise shared between instances); use ctx.step, ctx.run or ctx.sleep for it',
  )
}
