import type { TurnRow } from '../../src/store/commits.ts'
import { type Event, readEvents } from '../../src/store/history.ts'
import type { InstanceRow } from '../../src/store/instances.ts'
import { insist } from './attend.ts'
import type { Scene } from './scene.ts'

/** An instance with all its executions, as the store has it. */
export interface RecordedInstance {
  readonly row: InstanceRow
  /** Of all executions, in order. */
  readonly turns: readonly TurnRow[]
}

/** Reads all there is. */
export function readInstances(scene: Scene): Promise<RecordedInstance[]> {
  return scene.read(async (store) => {
    const ids = await scene.query('select id from instances order by iid')
    const rows = await store.find(ids.map(({ id }) => String(id)))
    return Promise.all(
      rows.map(async (row): Promise<RecordedInstance> => {
        const { iid, execution } = row!
        // Of many at once, some may have to wait for a connection for longer than one call does.
        const executions = Array.from({ length: execution }, (_, i) =>
          insist(() => store.history(iid, i + 1)),
        )
        return { row: row!, turns: (await Promise.all(executions)).flat() }
      }),
    )
  })
}

const COMMANDS = ['activity', 'step', 'timer', 'child', 'start', 'receive', 'send', 'read'] as const
const SETTLEMENTS = ['completed', 'failed', 'fired', 'received', 'dropped'] as const

export type Command = Extract<Event, { readonly type: (typeof COMMANDS)[number] }>
type Settlement = Extract<Event, { readonly type: (typeof SETTLEMENTS)[number] }>

/** A command of some execution, and its outcome. */
export interface RecordedCommand {
  /** Execution and command. */
  readonly place: string
  readonly execution: number
  readonly command: Command
  /** Positions of the turns, counted over all executions. */
  readonly givenIn: number
  settled?: { readonly by: Settlement; readonly in: number }
}

/** All commands of an instance, by their place. */
export function commandsOf({
  turns,
}: Pick<RecordedInstance, 'turns'>): Map<string, RecordedCommand> {
  const commands = new Map<string, RecordedCommand>()
  for (const [position, { execution, events }] of turns.entries()) {
    for (const event of readEvents(events)) {
      if (isCommand(event)) {
        const place = `${execution}.${event.command}`
        commands.set(place, { place, execution, command: event, givenIn: position })
      } else if (isSettlement(event)) {
        const life = commands.get(`${execution}.${event.command}`)
        if (life !== undefined) life.settled ??= { by: event, in: position }
      }
    }
  }
  return commands
}

/** Whether an event is something the code asked for. */
export function isCommand(event: Event): event is Command {
  return (COMMANDS as readonly string[]).includes(event.type)
}

/** Whether an event says what became of a command. */
export function isSettlement(event: Event): event is Settlement {
  return (SETTLEMENTS as readonly string[]).includes(event.type)
}
