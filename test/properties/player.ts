// One execution of a random program: inputs go in, decisions come out.

import { callCode } from '../../src/engine/context/make-context.ts'
import type { PastTurn } from '../../src/engine/replay/replay.ts'
import type { Arrival } from '../../src/engine/instance/arrival.ts'
import type { LiveInstance } from '../../src/engine/instance/live-instance.ts'
import type { TurnOutput } from '../../src/engine/instance/turn-output.ts'
import { endOf, turnRow } from '../../src/engine/instance/turn-record.ts'
import { type Event, readEvents, writeEvents } from '../../src/store/history.ts'
import type { InboxRow } from '../../src/store/inbox.ts'
import { host, SEED, takeTurn, testInstance, values } from '../support/executions.ts'
import type { Part } from '../support/programs.ts'
import { describeError, interpret } from './interpret.ts'

/** How an execution begins. */
export interface Birth {
  readonly execution: number
  /** The state that it begins with, as text. */
  readonly state: string
  readonly inbox: readonly InboxRow[]
}

/** What comes to a turn. */
export interface Input {
  readonly at: number
  readonly inbox: readonly InboxRow[]
  readonly arrivals: readonly Arrival[]
}

/** What a turn led to, as far as it is decided: in which order messages are parked is not. */
export interface Decision extends Pick<TurnOutput, 'taken' | 'dropped' | 'effects'> {
  /** As history has them. */
  readonly text: string
  /** All that is open afterwards. */
  readonly open: readonly string[]
  /** The code's end, if it has come to one. */
  readonly outcome: string
}

/** A turn that was taken. */
export interface Turn extends Input {
  readonly events: readonly Event[]
  readonly decision: Decision
  /** What waits in the store when it is recorded. */
  readonly inboxAfter: readonly InboxRow[]
}

// More than one call of a program gives at once: the time limit of a child, the child, a message.
const AT_ONCE = 3

/** An execution of a program while it runs. */
export class Player {
  readonly seen: string[] = []
  readonly received: unknown[] = []
  readonly unshielded: string[] = []
  /** By command: whether a cancellation of the instance is to reach it. */
  readonly reachable = new Map<number, boolean>()
  /** Commands that the last turn carries out once it is recorded. */
  issued: readonly number[] = []
  readonly instance: LiveInstance
  readonly #program: Part
  readonly #changed: boolean

  /** `changed: false` is the code before the changes that it asks for by `patched`. */
  constructor(
    program: Part,
    birth: Birth,
    { past, changed = true }: { past?: readonly PastTurn[]; changed?: boolean } = {},
  ) {
    const { execution, state } = birth
    this.#program = program
    this.#changed = changed
    const started = { seed: SEED.slice(0, -1) + execution, parentId: '', state }
    this.instance = testInstance('p', past, { execution, started })
  }

  /** What waited in the store when the instance was read. */
  readInbox(rows: readonly InboxRow[]): this {
    this.instance.inbox.receive(rows)
    return this
  }

  async turn({ at, inbox, arrivals }: Input): Promise<Decision & { events: readonly Event[] }> {
    const { instance } = this
    instance.inbox.receive(inbox)
    instance.inbox.arrive(...arrivals)
    const { events, issued, taken, dropped, effects } = await takeTurn(instance, at, () => () => {
      return callCode(instance, host, (ctx) =>
        interpret(this.#program, ctx, {
          seen: this.seen,
          received: this.received,
          unshielded: this.unshielded,
          changed: this.#changed,
          expectCommands: (reachable) => {
            for (let i = 1; i <= AT_ONCE; i++) {
              this.reachable.set(instance.run.lastCommand + i, reachable)
            }
          },
        }),
      )
    })
    instance.committed(turnRow(instance, events), taken)
    this.issued = issued.map(({ event }) => event.command)
    const open = [...instance.run.open.values()].map(({ event }) => writeEvents([event]))
    return {
      events,
      text: writeEvents(events),
      taken,
      dropped,
      effects: effects && { ...effects, parked: effects.parked.toSorted((a, b) => a - b) },
      open,
      outcome: this.outcome,
    }
  }

  /** Its outcome, in words. */
  get outcome(): string {
    const { run } = this.instance
    if (run.outcome === undefined) return 'running'
    if (run.open.size > 0) return `${run.outcome.kind}, with work left`
    const end = endOf(this.instance, values)
    if (end === undefined) return this.#next
    if (end.status === 'completed') return `completed with ${end.output}`
    return `${end.status} by ${describeError(values.error(end.output))}`
  }

  get #next(): string {
    const { outcome } = this.instance.run
    if (outcome?.kind !== 'continued') throw new Error('it has neither ended nor been continued')
    return `continued with ${outcome.input} and ${this.instance.writeState()}`
  }

  /** Whether this execution is over: the instance has ended, or its next one begins. */
  get over(): boolean {
    const { run } = this.instance
    return run.outcome !== undefined && run.open.size === 0
  }

  /** Whether the next execution begins. */
  get continues(): boolean {
    return this.over && endOf(this.instance, values) === undefined
  }
}

/** Turns as they are read from a store, which keeps none in which nothing happened. */
export function pastOf(turns: readonly Pick<Turn, 'at' | 'events'>[]): PastTurn[] {
  return turns
    .filter(({ events }) => events.length > 0)
    .map(({ at, events }) => ({ at, events: readEvents(writeEvents(events)) }))
}
