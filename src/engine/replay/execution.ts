// One execution of a workflow as a running async function: inputs go in, commands come out.
//
//   X1. The same inputs in the same order give the same commands, as long as the code is
//       deterministic. Nothing here reads a clock, a random number or a database.
//   X2. Inputs are applied one at a time; between two of them the code runs until it waits.
//   X3. Commands are given, and the workflow returns, only in its own turn. What happens outside
//       is refused and breaks the execution: it cannot be repeated.
//   X4. A dropped execution does nothing any more: its commands never settle.
//   X5. A command that the code no longer waits for is closed, and noted as `dropped`: whatever
//       comes for it later is ignored.

import { CancelledError } from '../../base/errors.ts'
import type { CancelledEvent, CommandEvent, InputEvent, NoteEvent } from '../../store/history.ts'
import { cancellable, CommandPromise, forever, never, seen } from './command-promise.ts'
import { describeCall, describeCommand, describeNote, type NewCommand } from './describe-command.ts'
import { type Forgotten, forgottenError, isForgotten } from './forgotten.ts'
import { NondeterminismError } from './nondeterminism.ts'
import { outlastsCode } from './outlasts-code.ts'
import { Scope } from './scope.ts'
import { inStep, inTurn, type InTurn } from './turn.ts'

export type { CommandEvent, InputEvent, NoteEvent } from '../../store/history.ts'
export type { NewCommand } from './describe-command.ts'

/** A command with what is needed to carry it out; `work` is the runtime's business. */
export interface IssuedCommand {
  readonly event: CommandEvent
  readonly work: unknown
  /** Where in the code it was given; only while looking for the place of a mismatch. */
  readonly stack: string | undefined
}

/** What the code did since it was last asked, in order. */
export interface Taken {
  readonly given: readonly IssuedCommand[]
  /** Commands and notes as they stand in history. */
  readonly events: readonly (CommandEvent | NoteEvent)[]
}

/** How the code ended. */
export type Outcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** `version` is `undefined` for the latest one. */
  | { readonly kind: 'continued'; readonly input: string; readonly version: string | undefined }

/** Turns stored text back into what it was. */
export interface Decoder {
  value(text: string): unknown
  error(text: string): Error
}

/** A message as the code receives it. */
export interface ReceivedMessage {
  readonly value: unknown
  readonly replyTo: string
}

/** A command that has no result yet, and the promise that the code holds. */
interface Waiting extends IssuedCommand {
  readonly scope: Scope
  readonly promise: CommandPromise
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

// Code that catches its cancellation and goes on as before would never come to an end.
const MOST_REFUSED = 10_000

const NONE: readonly Forgotten[] = []
const NOTHING: Taken = { given: [], events: [] }
const NO_IDS: ReadonlyMap<number, string> = new Map()
const NO_CHANGES: ReadonlySet<string> = new Set()

/** A workflow's code while it runs. */
export class Execution implements InTurn {
  readonly label: string
  /** The scope that all others lie within. */
  readonly root = new Scope(undefined)
  /** Rejections that nobody has handled, by the promise that rejected. */
  readonly strays = new Map<Promise<unknown>, unknown>()
  /** Whether a forgotten `await` fails the workflow, if what was called never began. */
  failsForgotten = false
  /** Number of the last command that was given in an earlier turn. */
  lastBegun = 0
  /** Called when the code did something outside its turn: it has to be set aside. */
  onBreak: (() => void) | undefined
  /** The time of the turn, for the code. */
  at = 0
  /** True while inputs come from history. */
  replaying = true
  /** Whether the code has ever been given something to go on with. */
  hasWaited = false
  /** Ids that history says instances were started under, by command, if they were answered. */
  recordedIds: ReadonlyMap<number, string> = NO_IDS
  /** Changes that history says the code knew of. Set before the past is repeated. */
  recordedChanges: ReadonlySet<string> = NO_CHANGES
  readonly #decode: Decoder
  readonly #open = new Map<number, Waiting>()
  /** Open receives by channel, in the order they were given. */
  #receives: Map<string, Set<number>> | undefined
  #changes: Map<string, boolean> | undefined
  /** Errors that were made here: code that does not look at them has nothing to hide. */
  #ownErrors: WeakSet<CancelledError> | undefined
  /** Children that have not ended, whether the code waits for them or not. */
  #children: Set<number> | undefined
  #given: IssuedCommand[] = []
  #events: (CommandEvent | NoteEvent)[] = []
  #lastCommand = 0
  #lastTaken = 0
  #outcome: Outcome | undefined
  #cancelled: { readonly reason: string; readonly at: number } | undefined
  #broken: Error | undefined
  #dropped = false
  #traced = false
  #refused = 0
  #forgotten: Forgotten[] | undefined

  constructor(label: string, decode: Decoder) {
    this.label = label
    this.#decode = decode
  }

  /** Commands that have no result yet, by number. */
  get open(): ReadonlyMap<number, IssuedCommand> {
    return this.#open
  }

  /** How the code ended; `undefined` while it runs. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** That somebody asked for the end, and when. */
  get cancelled(): { readonly reason: string; readonly at: number } | undefined {
    return this.#cancelled
  }

  /** Why this execution cannot go on; it has to be set aside. */
  get broken(): Error | undefined {
    return this.#broken
  }

  /** Calls that code did not wait for before it returned, so that they were called off. */
  get forgotten(): readonly Forgotten[] {
    return this.#forgotten ?? NONE
  }

  /** Number of the last command that was given. */
  get lastCommand(): number {
    return this.#lastCommand
  }

  /** Notes from now on where in the code each command is given. Slow: only for a report. */
  trace(): void {
    this.#traced = true
  }

  /** Calls the code; it runs until its first wait within the turn. */
  begin(run: () => Promise<unknown>): void {
    const finish = (outcome: Outcome): void => {
      if (this.#dropped) return
      if (inTurn() === this) this.#end(outcome)
      else this.break(outsideTurn(this, 'returned'))
    }
    // Also a function that is not async may throw at once.
    new Promise((resolve) => resolve(run())).then(
      (value) => finish({ kind: 'returned', value }),
      (error: unknown) => finish({ kind: 'threw', error }),
    )
  }

  /** The code asks for something. Fills in the command's number. */
  give(command: NewCommand, work: unknown, scope: Scope = this.root): CommandPromise {
    if (this.#dropped) return never()
    this.#mustBeInTurn(() => `called ${describeCall(command)}`)
    // What is broken is set aside, and its code stops here.
    if (this.#outcome !== undefined || this.#broken !== undefined) return never()
    if (scope.error !== undefined) return this.#refuse(scope.error)
    command.command = ++this.#lastCommand
    const { command: number } = command
    const stack = this.#traced ? new Error('here').stack : undefined
    let resolve!: Waiting['resolve']
    let reject!: Waiting['reject']
    const promise = new CommandPromise(
      (onValue, onError) => {
        resolve = onValue
        reject = onError
      },
      (reason) => this.close([number], new CancelledError(reason)),
    )
    const waiting: Waiting = { event: command, work, stack, scope, promise, resolve, reject }
    this.#open.set(number, waiting)
    if (scope !== this.root) scope.commands.add(number)
    if (command.type === 'receive') this.#receivesOf(command.name).add(number)
    else if (command.type === 'child') (this.#children ??= new Set()).add(number)
    this.#given.push(waiting)
    this.#events.push(command)
    return promise
  }

  /** The code did something that nothing answers. */
  note(note: NoteEvent): void {
    if (this.#dropped) return
    this.#mustBeInTurn(() => `called ${describeNote(note)}`)
    if (this.#outcome === undefined) this.#events.push(note)
  }

  /** What the code did since the last call. */
  take(): Taken {
    if (this.#events.length === 0) return NOTHING
    const taken = { given: this.#given, events: this.#events }
    this.#given = []
    this.#events = []
    this.#refused = 0
    this.#lastTaken = this.#lastCommand
    return taken
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
    if (!settles(input, waiting.event)) {
      const command = describeCommand(waiting.event)
      throw new NondeterminismError(
        `${input.type} for command ${input.command}, which is ${command}`,
        input.command,
        `a command that is settled by "${input.type}"`,
        command,
      )
    }
    this.#forget(waiting)
    this.#children?.delete(input.command)
    this.hasWaited = true
    switch (input.type) {
      case 'completed':
        return waiting.resolve(this.#decode.value(input.value))
      case 'failed':
        return this.#reject(waiting, this.#decode.error(input.error))
      case 'fired':
        return waiting.resolve(undefined)
      case 'received': {
        const { replyTo } = input
        const message: ReceivedMessage = { value: this.#decode.value(input.value), replyTo }
        return waiting.resolve(message)
      }
    }
  }

  /** The number of the `receive` that the next message of a channel is for. */
  receiver(channel: string): number | undefined {
    const [first] = this.#receives?.get(channel) ?? []
    return first
  }

  /** Whether a command started a child that has not ended, as far as is known here. */
  isChild(command: number): boolean {
    return this.#children?.has(command) === true
  }

  /** Somebody asked for the end: what the code waits for is called off. */
  cancel({ reason }: CancelledEvent): void {
    if (this.#cancelled !== undefined) return
    const said = JSON.parse(reason) as string
    this.#cancelled = { reason: said, at: this.at }
    this.cancelScope(this.root, new CancelledError(said))
  }

  /** Cancels a scope: its open commands are closed with the error. */
  cancelScope(scope: Scope, error: CancelledError): void {
    if (scope !== this.root) return this.close(scope.cancel(error), error)
    const closed = new Set(scope.cancel(error))
    for (const [number, waiting] of this.#open) {
      if (waiting.scope === this.root) closed.add(number)
    }
    this.close(
      [...closed].toSorted((a, b) => a - b),
      error,
    )
  }

  /** The code of a scope has returned, and is about to be left with what is open in it. */
  returned(scope: Scope): void {
    if (scope.error !== undefined || this.#outcome !== undefined) return
    for (const command of scope.openCommands()) this.#noteForgotten(this.#open.get(command), scope)
  }

  #noteForgotten(waiting: Waiting | undefined, scope: Scope): void {
    if (waiting === undefined) return
    const { command } = waiting.event
    const age = { began: command <= this.lastBegun, isLast: command > this.#lastTaken }
    if (!isForgotten(waiting, scope, age)) return
    ;(this.#forgotten ??= []).push({ given: waiting, began: age.began })
  }

  /** The code no longer waits for these commands; those that are settled are left alone. */
  close(commands: readonly number[], error: CancelledError): void {
    // What is left by then is carried out all the same.
    if (this.#outcome !== undefined) return
    ;(this.#ownErrors ??= new WeakSet()).add(error)
    for (const command of commands) {
      const waiting = this.#open.get(command)
      if (waiting === undefined) continue
      this.note({ type: 'dropped', command })
      this.#forget(waiting)
      this.#reject(waiting, error)
    }
  }

  /** A child that outlasts the code is known to run. Whoever calls it notes that it was dropped. */
  leave(command: number): void {
    const waiting = this.#outcome === undefined ? undefined : this.#open.get(command)
    if (waiting?.event.type === 'child') this.#forget(waiting)
  }

  /** Whether the code knows of a change: false only in executions that ran past it without it. */
  patched(change: string): boolean {
    const known = this.#changes?.get(change)
    if (known !== undefined) return known
    if (this.#outcome !== undefined) return true
    const knows = !this.replaying || this.recordedChanges.has(change)
    ;(this.#changes ??= new Map()).set(change, knows)
    if (knows) this.note({ type: 'patched', change })
    return knows
  }

  /** The code asks for its next execution. Nothing it does afterwards counts. */
  continueAsNew(input: string, version: string | undefined, scope: Scope): Promise<never> {
    if (this.#dropped) return forever()
    this.#mustBeInTurn(() => 'called continueAsNew')
    if (scope.error !== undefined)
      return this.#refuse(scope.error) as Promise<unknown> as Promise<never>
    this.#end({ kind: 'continued', input, version })
    return forever()
  }

  /** The workflow fails with this error, whatever its code does. */
  fail(error: unknown): void {
    this.#end({ kind: 'threw', error })
  }

  /** A promise of the code rejected and nobody looked: reported if the code ends without doing so. */
  stray(promise: Promise<unknown>, reason: unknown): void {
    const isOwn = reason instanceof CancelledError && this.#ownErrors?.has(reason) === true
    if (!this.#dropped && !isOwn) this.strays.set(promise, reason)
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
    this.#receives = undefined
    this.#given = []
    this.#events = []
  }

  /** The first outcome counts. What the code left behind is called off. */
  #end(outcome: Outcome): void {
    if (this.#outcome !== undefined) return
    if (this.#open.size > 0) {
      // Code that threw had no chance to wait, and one that is cancelled need not.
      if (outcome.kind !== 'threw' && this.#cancelled === undefined) {
        for (const waiting of this.#open.values()) this.#noteForgotten(waiting, this.root)
      }
      const left = [...this.#open.values()].filter(({ event }) => !outlastsCode(event))
      this.close(
        left.map(({ event }) => event.command),
        new CancelledError('the workflow has ended'),
      )
    }
    const lost = this.forgotten.filter(({ began }) => !began)
    this.#outcome =
      this.failsForgotten && outcome.kind !== 'threw' && lost.length > 0
        ? { kind: 'threw', error: forgottenError(this.label, lost) }
        : outcome
  }

  #mustBeInTurn(did: () => string): void {
    if (inTurn() === this) return
    const error = outsideTurn(this, did())
    this.break(error)
    throw error
  }

  #refuse(reason: CancelledError): CommandPromise {
    if (++this.#refused > MOST_REFUSED) {
      const spins = new Error(
        `${this.label} goes on and on after it was cancelled; let CancelledError end the loop, or ` +
          'do what has to be done inside ctx.uncancellable',
      )
      this.#end({ kind: 'threw', error: spins })
      return never()
    }
    return cancellable(seen(Promise.reject(reason)), () => {})
  }

  #reject(waiting: Waiting, error: unknown): void {
    void seen(waiting.promise)
    waiting.reject(error)
  }

  #forget({ event, scope }: Waiting): void {
    this.#open.delete(event.command)
    if (scope !== this.root) scope.commands.delete(event.command)
    if (event.type === 'receive') this.#receives?.get(event.name)?.delete(event.command)
  }

  #receivesOf(channel: string): Set<number> {
    const receives = (this.#receives ??= new Map<string, Set<number>>())
    let open = receives.get(channel)
    if (open === undefined) receives.set(channel, (open = new Set()))
    return open
  }
}

/** Whether an input is of a kind that the command can be settled by. */
function settles({ type }: InputEvent, command: CommandEvent): boolean {
  if (command.type === 'timer') return type === 'fired'
  if (command.type === 'receive') {
    return type === 'received' || (type === 'fired' && command.until > 0)
  }
  return type === 'completed' || type === 'failed'
}

function outsideTurn(execution: Execution, did: string): Error {
  const called = inStep()
  const steps = [...execution.open.values()].flatMap(({ event }) =>
    event.type === 'step' ? [event.name] : [],
  )
  if (called !== undefined && steps.includes(called)) {
    return new Error(
      `${execution.label} ${did} inside step "${called}": a step cannot use the ctx of its workflow; ` +
        'call it before or after the step, in the code of the workflow',
    )
  }
  const other = inTurn()
  const during = other === undefined ? 'outside any turn' : `in the turn of ${other.label}`
  return new Error(
    `${execution.label} ${did} ${during}: it waited for something that is not durable ` +
      '(a timer, I/O, or a promise shared between instances); use ctx.step, ctx.run or ctx.sleep for it' +
      insideSteps(steps),
  )
}

/** It may as well have been the code of a step, after something that it awaited. */
function insideSteps(names: readonly string[]): string {
  if (names.length === 0) return ''
  const steps = names.map((name) => `step "${name}"`).join(', ')
  return `; or, if this was called inside ${steps}: a step cannot use the ctx of its workflow`
}
