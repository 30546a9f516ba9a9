// One execution of a workflow as a running async function: inputs go in, commands come out.
//
//   - The same inputs in the same order give the same commands, as long as the code is
//     deterministic. Nothing here reads a clock, a random number or a database.
//   - Inputs are applied one at a time; between two of them the code runs until it waits.
//   - The code issues commands, and returns, only in its own turn. Anything outside a turn could not
//     be replayed: it throws, and breaks the execution.
//   - A dropped execution does nothing any more: its commands never settle.
//   - A command that the code no longer waits for is closed and recorded as `dropped`; later results
//     for it are ignored.

import { CancelledError } from '../../base/errors.ts'
import type { CancelledEvent, CommandEvent, InputEvent, NoteEvent } from '../../store/history.ts'
import { cancellable, CommandPromise, forever, never, seen } from './command-promise.ts'
import { describeCall, describeCommand, describeNote, type NewCommand } from './describe-command.ts'
import { type Forgotten, forgottenError, isForgotten } from './forgotten.ts'
import { NondeterminismError } from './nondeterminism.ts'
import { outlastsCode } from './outlasts-code.ts'
import { Scope } from './scope.ts'
import { sourceLine } from '../../base/source-line.ts'
import { inStep, inTurn, type InTurn } from './current-turn.ts'

export type { CommandEvent, InputEvent, NoteEvent } from '../../store/history.ts'
export type { NewCommand } from './describe-command.ts'

/** A command that the code issued; `work` is what the runtime needs to carry it out. */
export interface IssuedCommand {
  readonly event: CommandEvent
  readonly work: unknown
  /** Where in the code it was issued; only while tracing the place of a mismatch. */
  readonly stack: string | undefined
}

/** What the code did since the last `take`, in order. */
export interface IssuedSince {
  readonly given: readonly IssuedCommand[]
  /** Commands and notes, as history records them. */
  readonly events: readonly (CommandEvent | NoteEvent)[]
}

/** How the code ended. */
export type Outcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** `version` is `undefined` for the latest one. */
  | { readonly kind: 'continued'; readonly input: string; readonly version: string | undefined }

/** Decodes stored values and errors. */
export interface Decoder {
  value(text: string): unknown
  error(text: string): Error
  /** Whether two texts are the same value. A codec may write one value in several ways. */
  isSame(a: string, b: string): boolean
}

/** A message as the code receives it. */
export interface ReceivedMessage {
  readonly value: unknown
  readonly replyTo: string
}

/** A command that has no result yet, with the promise that the code got. */
interface Waiting extends IssuedCommand {
  readonly scope: Scope
  readonly promise: CommandPromise
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

// Stops code that catches its cancellation and continues forever.
const MAX_REFUSED = 10_000

const NONE: readonly Forgotten[] = []
const NOTHING: IssuedSince = { given: [], events: [] }
const NO_REJECTIONS: ReadonlyMap<Promise<unknown>, unknown> = new Map()
const NO_IDS: ReadonlyMap<number, string> = new Map()
const NO_REFUSALS: ReadonlyMap<number, string> = new Map()
const NO_CHANGES: ReadonlySet<string> = new Set()

/** A workflow's code while it runs. */
export class Execution implements InTurn {
  readonly label: string
  /** The outermost scope. */
  readonly root = new Scope(undefined)
  /** Whether a forgotten `await` fails the workflow, if the call never began. */
  readonly failsForgotten: boolean
  /** Number of the last command of an earlier turn. */
  lastBegun = 0
  /** The time of the turn, which the code sees. */
  at = 0
  /** True while inputs come from history. */
  replaying = true
  /** Whether the code has received an input. */
  hasWaited = false
  /** By command: the ids of instances that were started according to history. */
  recordedIds: ReadonlyMap<number, string> = NO_IDS
  /** The changes that are recorded as patched in history. Set before replay. */
  recordedChanges: ReadonlySet<string> = NO_CHANGES
  /** By number: values that were over a limit according to history, with the message that the code got. */
  recordedRefusals: ReadonlyMap<number, string> = NO_REFUSALS
  readonly #decode: Decoder
  readonly #open = new Map<number, Waiting>()
  /** Open receives by channel, in the order they were given. */
  #receives: Map<string, Set<number>> | undefined
  #changes: Map<string, boolean> | undefined
  /** Cancellations created here: code need not handle them. */
  #ownErrors: WeakSet<CancelledError> | undefined
  /** Children that have not ended, whether or not the code waits for them. */
  #children: Set<number> | undefined
  #given: IssuedCommand[] = []
  #events: (CommandEvent | NoteEvent)[] = []
  #lastCommand = 0
  #valuesOut = 0
  #lastTaken = 0
  #outcome: Outcome | undefined
  #cancelled: { readonly reason: string; readonly at: number } | undefined
  #broken: Error | undefined
  #onBreak: (() => void) | undefined
  #dropped = false
  #traced = false
  #lastTraced: IssuedCommand | undefined
  #noteStacks: WeakMap<NoteEvent, string> | undefined
  #comparesValues = true
  #refused = 0
  #forgotten: Forgotten[] | undefined
  #unhandled: Map<Promise<unknown>, unknown> | undefined

  constructor(label: string, decode: Decoder, failsForgotten = false) {
    this.label = label
    this.#decode = decode
    this.failsForgotten = failsForgotten
  }

  /** Commands that have no result yet, by number. */
  get open(): ReadonlyMap<number, IssuedCommand> {
    return this.#open
  }

  /** How the code ended; `undefined` while it runs. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** The request to cancel, and when it arrived. */
  get cancelled(): { readonly reason: string; readonly at: number } | undefined {
    return this.#cancelled
  }

  /** Why this execution cannot continue; the instance has to be suspended. */
  get broken(): Error | undefined {
    return this.#broken
  }

  /** Calls that the code did not await before it returned, so that they were cancelled. */
  get forgotten(): readonly Forgotten[] {
    return this.#forgotten ?? NONE
  }

  /** Rejections that the code has not handled, by promise. */
  get unhandledRejections(): ReadonlyMap<Promise<unknown>, unknown> {
    return this.#unhandled ?? NO_REJECTIONS
  }

  /** Number of the last command. */
  get lastCommand(): number {
    return this.#lastCommand
  }

  /** Whether replay compares inputs, messages, ids and state, beside kinds and names. */
  get comparesValues(): boolean {
    return this.#comparesValues
  }

  /** The values in its history were replaced: replay compares only kinds and names. */
  ignoreValues(): void {
    this.#comparesValues = false
  }

  /** Records from now on where in the code each command is issued. Slow: only for a report. */
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
    // A function that is not async may throw at once.
    new Promise((resolve) => resolve(run())).then(
      (value) => finish({ kind: 'returned', value }),
      (error: unknown) => finish({ kind: 'threw', error }),
    )
  }

  /** The code issues a command. Fills in the command's number. */
  give(command: NewCommand, work: unknown, scope: Scope = this.root): CommandPromise {
    if (this.#dropped) return never()
    this.#mustBeInTurn(() => `called ${describeCall(command)}`)
    // The instance is being suspended, and its code stops here.
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
    if (this.#traced) this.#lastTraced = waiting
    this.#open.set(number, waiting)
    if (scope !== this.root) scope.commands.add(number)
    if (command.type === 'receive') this.#receivesOf(command.name).add(number)
    else if (command.type === 'child') (this.#children ??= new Set()).add(number)
    this.#given.push(waiting)
    this.#events.push(command)
    return promise
  }

  /** The code did something that has no result. */
  note(note: NoteEvent): void {
    if (this.#dropped) return
    this.#mustBeInTurn(() => `called ${describeNote(note)}`)
    if (this.#outcome !== undefined) return
    if (this.#traced) {
      ;(this.#noteStacks ??= new WeakMap()).set(note, new Error('here').stack ?? '')
    }
    this.#events.push(note)
  }

  /** Where in the code it did this; only while tracing. */
  stackOf(note: NoteEvent): string | undefined {
    return this.#noteStacks?.get(note)
  }

  /** The last call of the code and its line, for a report; only while tracing. */
  get lastCall(): { readonly text: string; readonly line: string } | undefined {
    const last = this.#lastTraced
    if (last === undefined) return undefined
    const line = sourceLine(last.stack ?? '')
    return { text: `, after ${describeCommand(last.event)} ${line}`.trimEnd(), line }
  }

  /**
   * The code passes out a value that has a limit. `excess` says what is wrong with it, if anything.
   *
   * The first time, that decides, and a refusal is recorded. A replay follows the record, because the
   * limit may have changed since, and the code has to behave the same.
   */
  passOut(excess: () => string | undefined): void {
    const value = ++this.#valuesOut
    const message = this.replaying ? this.recordedRefusals.get(value) : excess()
    if (message === undefined) return
    this.note({ type: 'refused', value, error: JSON.stringify(message) })
    throw new RangeError(message)
  }

  /** Whether two encoded values are the same. */
  isSameValue(a: string, b: string): boolean {
    return a === b || !this.#comparesValues || this.#decode.isSame(a, b)
  }

  /** Returns what the code did since the last call. */
  take(): IssuedSince {
    if (this.#events.length === 0) return NOTHING
    const taken = { given: this.#given, events: this.#events }
    this.#given = []
    this.#events = []
    this.#refused = 0
    this.#lastTaken = this.#lastCommand
    return taken
  }

  /** Settles a command. The code continues in the microtasks that follow. */
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

  /** The number of the `receive` that gets the next message of a channel. */
  receiver(channel: string): number | undefined {
    const [first] = this.#receives?.get(channel) ?? []
    return first
  }

  /** Whether a command started a child that is not known to have ended. */
  isChild(command: number): boolean {
    return this.#children?.has(command) === true
  }

  /** Cancels the workflow, and whatever its code waits for. */
  cancel({ reason }: CancelledEvent): void {
    if (this.#cancelled !== undefined) return
    const said = JSON.parse(reason) as string
    this.#cancelled = { reason: said, at: this.at }
    this.cancelScope(this.root, new CancelledError(said))
  }

  /** Cancels a scope: closes its open commands with the error. */
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

  /** The code of a scope has returned; what is still open in it may be a forgotten `await`. */
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

  /** The code no longer waits for these commands. Has no effect on those that are settled. */
  close(commands: readonly number[], error: CancelledError): void {
    // What outlasts the code is carried out nevertheless.
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

  /** Forgets a child that outlasts the code and is known to run. The caller records it as dropped. */
  leave(command: number): void {
    const waiting = this.#outcome === undefined ? undefined : this.#open.get(command)
    if (waiting?.event.type === 'child') this.#forget(waiting)
  }

  /** Whether a change applies: false only in executions that passed it with the old code. */
  patched(change: string): boolean {
    const known = this.#changes?.get(change)
    if (known !== undefined) return known
    if (this.#outcome !== undefined) return true
    const knows = !this.replaying || this.recordedChanges.has(change)
    ;(this.#changes ??= new Map()).set(change, knows)
    if (knows) this.note({ type: 'patched', change })
    return knows
  }

  /** The code ends this execution and requests the next. Nothing it does afterwards has an effect. */
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

  /** Records an unhandled rejection, to be reported if the code never handles it. */
  recordUnhandled(promise: Promise<unknown>, reason: unknown): void {
    const isOwn = reason instanceof CancelledError && this.#ownErrors?.has(reason) === true
    if (!this.#dropped && !isOwn) (this.#unhandled ??= new Map()).set(promise, reason)
  }

  /** The code has handled a rejection after all. */
  recordHandled(promise: Promise<unknown>): void {
    this.#unhandled?.delete(promise)
  }

  /** This execution cannot continue. The first reason counts. */
  break(error: Error): void {
    if (this.#broken !== undefined) return
    this.#broken = error
    this.#onBreak?.()
  }

  /** Calls `listener` when the code does something outside its turn: then it has to be suspended. */
  onBreak(listener: () => void): void {
    this.#onBreak = listener
  }

  /** Drops all state. Anything the code still does has no effect. */
  drop(): void {
    this.#dropped = true
    this.#open.clear()
    this.#receives = undefined
    this.#given = []
    this.#events = []
  }

  /** The first outcome counts. Cancels what the code left open. */
  #end(outcome: Outcome): void {
    if (this.#outcome !== undefined) return
    if (this.#open.size > 0) {
      // Code that threw could not await its calls, and code that is cancelled need not.
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
    if (++this.#refused > MAX_REFUSED) {
      const spins = new Error(
        `${this.label} keeps running after it was cancelled; let CancelledError end the loop, or ` +
          'run the clean-up inside ctx.uncancellable',
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

/** Whether an input of this kind can settle the command. */
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
        'call it before or after the step, in the workflow code',
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

/** The call may also come from the code of a step, after an `await`. */
function insideSteps(names: readonly string[]): string {
  if (names.length === 0) return ''
  const steps = names.map((name) => `step "${name}"`).join(', ')
  return `; or, if this was called inside ${steps}: a step cannot use the ctx of its workflow`
}
