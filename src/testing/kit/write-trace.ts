// What the processes of a test write to the store, in words.

import type { CommitBatch } from '../../store/commits.ts'
import { type Event, readEvents } from '../../store/history.ts'
import type { Iid } from '../../store/instances.ts'
import { describeCommand } from '../../engine/replay/describe-command.ts'
import type { IssuedCommand } from '../../engine/replay/execution.ts'
import { sourceLine } from '../../base/source-line.ts'

// What a runtime writes so that it survives the process.
const RECORDED: ReadonlySet<string> = new Set([
  'start',
  'commit',
  'finishTasks',
  'beat',
  'transact',
  'send',
  'post',
  'fire',
])

/** Whether a call of the store is one after which a process may end with a difference. */
export function isRecorded(name: string): boolean {
  return RECORDED.has(name)
}

/** Describes writes by the commands that workflows issued, with their lines. */
export class WriteTrace {
  readonly #commands = new Map<string, string>()

  /** A turn issued these commands. */
  readonly onTurn = (iid: Iid, issued: readonly IssuedCommand[]): void => {
    for (const { event, stack } of issued) {
      const line = stack === undefined ? '' : sourceLine(stack)
      const text = describeCommand(event)
      this.#commands.set(`${iid} ${event.command}`, line === '' ? text : `${text} ${line}`)
    }
  }

  /** The call that an attempt belongs to, by the idempotency key of all its attempts. */
  callOf(idempotencyKey: string): string | undefined {
    const [iid, , command] = idempotencyKey.split('-')
    return this.#commands.get(`${iid} ${command}`)
  }

  /** What a call writes. */
  describe(name: string, args: readonly unknown[]): string {
    if (name !== 'commit') return NAMES[name] ?? name
    const { starts, turns } = args[0] as CommitBatch
    const parts = [
      ...starts.map(({ iid, turn }) => this.#events(iid, turn.events)),
      ...turns.map(({ iid, turn }) =>
        turn === null ? ['a release'] : this.#events(iid, turn.events),
      ),
    ]
    return parts.flat().join(', ')
  }

  #events(iid: Iid, text: string): readonly string[] {
    return readEvents(text).flatMap((event) => this.#event(iid, event) ?? [])
  }

  #event(iid: Iid, event: Event): string | undefined {
    if (event.type === 'started') return `the start of workflow "${event.workflow}"`
    if (event.type === 'ended') return 'the end of the workflow'
    if (!('command' in event) || event.type === 'dropped') return undefined
    return `${ABOUT[event.type] ?? 'the call of'} ${this.#command(iid, event.command)}`
  }

  #command(iid: Iid, command: number): string {
    return this.#commands.get(`${iid} ${command}`) ?? `command ${command}`
  }
}

/** What an event says about its command; others are the command itself. */
const ABOUT: Readonly<Record<string, string>> = {
  completed: 'the result of',
  failed: 'the failure of',
  fired: 'the time of',
  received: 'a message for',
  attempt: 'a failed attempt at',
}

const NAMES: Readonly<Record<string, string>> = {
  start: 'the start of an instance',
  finishTasks: 'the result of a task',
  beat: 'a heartbeat',
  transact: 'a transaction',
  send: 'a result for another instance',
  post: 'a message to another instance',
  fire: 'a start by a schedule',
}
