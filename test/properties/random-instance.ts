// The life of an instance that runs a random program: everything that comes to it from outside is
// decided by dice, and every turn is written down.

import { CancelledError } from '../../src/base/errors.ts'
import { ActivityError, WorkflowError } from '../../src/engine/core/errors.ts'
import type { IssuedCommand } from '../../src/engine/replay/execution.ts'
import type { Arrival } from '../../src/engine/instance/arrival.ts'
import type { TurnOutput } from '../../src/engine/instance/turn-output.ts'
import { startedEvent } from '../../src/engine/instance/turn-record.ts'
import { type Event, writeEvents } from '../../src/store/history.ts'
import type { InboxRow } from '../../src/store/inbox.ts'
import { values } from '../support/executions.ts'
import type { Dice, Part } from '../support/programs.ts'
import { Refused, STOP } from './interpret.ts'
import { type Birth, type Input, Player, type Turn } from './player.ts'

export const MAX_TURNS = 60
/** Where messages and questions go. */
export const CHANNELS = ['red', 'blue', 'question']

/** One execution, as it went. */
export interface LivedExecution {
  readonly birth: Birth
  readonly player: Player
  readonly turns: Turn[]
}

/** A whole life. */
export interface RandomInstance {
  readonly executions: readonly LivedExecution[]
  /** Everything that was ever put into the inbox. */
  readonly posted: readonly InboxRow[]
  /** What is in the inbox at the end. */
  readonly waiting: readonly InboxRow[]
}

/** All events of an execution, in order. */
export function eventsOf({ turns }: LivedExecution): Event[] {
  return turns.flatMap(({ events }) => events)
}

/** Runs a program from its start; `changed: false` is its code before it was changed. */
export async function live(
  program: Part,
  dice: Dice,
  options: { readonly changed?: boolean } = {},
): Promise<RandomInstance> {
  const world = new World(dice)
  const executions: LivedExecution[] = []
  let at = 1_000
  let taken = 0
  let next: Birth | undefined = { execution: 1, state: '', inbox: [] }
  while (next !== undefined && taken < MAX_TURNS) {
    const { player, turns } = begin(program, next, at, options)
    executions.push({ birth: next, player, turns })
    for (; taken < MAX_TURNS && !player.over; taken++) {
      const input = turns.length === 0 ? { at, inbox: [], arrivals: [] } : world.input(player, at)
      const { events, ...decision } = await player.turn(input)
      world.record(decision)
      turns.push({ ...input, events, decision, inboxAfter: world.waiting })
      at += dice.below(50)
    }
    next = player.continues
      ? { execution: next.execution + 1, state: player.instance.writeState(), inbox: world.waiting }
      : undefined
  }
  return { executions, posted: world.posted, waiting: world.waiting }
}

/** The first execution begins with its first turn; a later one is begun by the one before. */
function begin(
  program: Part,
  birth: Birth,
  at: number,
  options: { readonly changed?: boolean },
): Pick<LivedExecution, 'player' | 'turns'> {
  const fresh = new Player(program, birth, options)
  if (birth.execution === 1) return { player: fresh, turns: [] }
  const first = firstTurn(fresh, birth, at)
  const player = new Player(program, birth, { ...options, past: [{ at, events: first.events }] })
  return { player: player.readInbox(birth.inbox), turns: [first] }
}

function firstTurn({ instance }: Player, { inbox }: Birth, at: number): Turn {
  const events = [startedEvent(instance)]
  const nothing = { taken: [], dropped: [], effects: null, open: [], outcome: 'running' }
  const decision = { ...nothing, text: writeEvents(events) }
  return { at, inbox: [], arrivals: [], events, decision, inboxAfter: inbox }
}

/** The outside: what answers commands, sends messages, and cancels. */
class World {
  readonly posted: InboxRow[] = []
  readonly #dice: Dice
  /** As the store keeps it. */
  readonly #inbox = new Map<number, InboxRow>()
  readonly #cancelling: boolean

  constructor(dice: Dice) {
    this.#dice = dice
    this.#cancelling = dice.oneIn(2)
  }

  get waiting(): readonly InboxRow[] {
    return [...this.#inbox.values()]
  }

  /** A turn is recorded: what it took is gone, what no code waits for is parked. */
  record({ taken, effects }: Pick<TurnOutput, 'taken' | 'effects'>): void {
    for (const id of taken) this.#inbox.delete(id)
    for (const id of effects?.parked ?? []) {
      this.#inbox.set(id, { ...this.#inbox.get(id)!, parked: true })
    }
  }

  input(player: Player, at: number): Input {
    const dice = this.#dice
    const open = dice.shuffle([...player.instance.run.open.values()])
    const some = open.slice(0, 1 + dice.below(Math.min(open.length, 4)))
    const before = this.posted.length
    if (this.#cancelling && dice.oneIn(6)) this.#post('cancel', { payload: JSON.stringify(STOP) })
    const arrivals = some.flatMap((given) => this.#answer(player, given))
    for (let count = dice.below(3); count > 0; count--) this.#send(dice.pick(CHANNELS))
    return { at, inbox: this.posted.slice(before), arrivals: [...arrivals, ...this.#late(player)] }
  }

  #answer({ instance }: Player, { event }: IssuedCommand): Arrival[] {
    const dice = this.#dice
    const { command } = event
    switch (event.type) {
      case 'timer':
        return [{ event: { type: 'fired', command } }]
      case 'receive':
        if (event.until > 0 && dice.oneIn(3)) return [{ event: { type: 'fired', command } }]
        this.#send(event.name)
        return []
      case 'child': {
        const { kind, payload } = this.#result(command, event.workflow)
        this.#post(kind, { payload, command, execution: instance.execution })
        return []
      }
      case 'activity':
      case 'step':
      case 'start':
      case 'send':
      case 'read': {
        const { kind, payload } = this.#result(command, 'name' in event ? event.name : event.type)
        if (kind === 'completed') return [{ event: { type: kind, command, value: payload } }]
        const failed: Arrival = { event: { type: kind, command, error: payload } }
        const attempt = {
          type: 'attempt',
          command,
          attempt: 1,
          retryAt: 1,
          error: payload,
        } as const
        return dice.oneIn(2) ? [failed] : [{ event: attempt }, failed]
      }
    }
  }

  /** A result that comes a second time, or for a command that was dropped. */
  #late({ instance }: Player): Arrival[] {
    const command = 1 + this.#dice.below(8)
    if (command > instance.run.lastCommand || instance.run.open.has(command)) return []
    return [{ event: { type: 'completed', command, value: values.encode('late', 'value') } }]
  }

  #result(
    command: number,
    name: string,
  ): { readonly kind: 'completed' | 'failed'; readonly payload: string } {
    const dice = this.#dice
    if (!dice.oneIn(5)) {
      const value = { of: command, n: dice.below(1_000) }
      return { kind: 'completed', payload: values.encode(value, 'value') }
    }
    const cause = new TypeError('bad')
    const error = dice.pick([
      new Refused(`${command} refused`, { by: name }),
      new ActivityError(
        'it failed',
        { activity: name, attempts: 3, originalName: 'TypeError' },
        { cause },
      ),
      new WorkflowError(
        'it failed',
        { instanceId: 'kid', workflow: name, originalName: 'TypeError' },
        { cause },
      ),
      new CancelledError('by another process'),
    ])
    return { kind: 'failed', payload: values.encodeError(error) }
  }

  #send(name: string): void {
    const id = this.posted.length + 1
    const replyTo = name === 'question' && !this.#dice.oneIn(4) ? `r${id}` : ''
    this.#post('message', { name, replyTo, payload: values.encode({ name, id }, 'message') })
  }

  #post(kind: InboxRow['kind'], fields: Partial<InboxRow>): void {
    const id = this.posted.length + 1
    const nothing = { execution: 0, command: 0, name: '', replyTo: '', payload: '', parked: false }
    const row: InboxRow = { ...nothing, ...fields, id, kind }
    this.posted.push(row)
    this.#inbox.set(id, row)
  }
}
