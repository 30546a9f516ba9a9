import type { Next, StartItem, TurnRow, Verdict } from '../../store/commits.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { taskFor } from './activities.ts'
import type { ActivityWork } from './activity-work.ts'
import { NO_EFFECTS } from './collect-effects.ts'
import type { Committer } from './committer.ts'
import type { Copy, TurnResult } from './copy.ts'
import { unsettledStarts } from './outgoing.ts'
import type { NewInstance } from './start-item.ts'
import { startedEvent, turnRow } from './turn-row.ts'

/** A turn that led to nothing. */
export const NOTHING: TurnResult = { events: [], given: [], taken: [], dropped: [], effects: null }

/** What the scribe works with. */
export interface ScribeHost {
  readonly committer: Committer
  workflowNumber(definition: WorkflowDefinition): number | undefined
  /** Nothing rings for this copy any more. */
  silence(copy: Copy): void
  /** What became of an item. */
  recorded(
    copy: Copy,
    turn: TurnRow | null,
    next: Next,
    result: TurnResult,
    verdict: Verdict | Error,
  ): void
}

/** Writes what became of copies as items, and hands them to the committer: one at a time for each copy. */
export class Scribe {
  readonly #host: ScribeHost
  /** Of instances that are not recorded yet: what they were started with. */
  readonly #starts = new WeakMap<Copy, NewInstance>()

  constructor(host: ScribeHost) {
    this.#host = host
  }

  /** A copy of an instance that is recorded with its first turn. */
  begins(copy: Copy, start: NewInstance): void {
    this.#starts.set(copy, start)
  }

  /** Whether something was sent along with the start of a copy. */
  wasSentMail(copy: Copy): boolean {
    return (this.#starts.get(copy)?.messages.length ?? 0) > 0
  }

  /** The start of an instance whose first turn has not ended. Nobody's, and due at no time. */
  startOf(copy: Copy): StartItem {
    const { iid, id, definition, parent } = copy
    const { labels, messages } = this.#starts.get(copy)!
    const workflow = this.#host.workflowNumber(definition)!
    const turn = turnRow(copy, [startedEvent(copy)])!
    const rest = { owned: false, wakeAt: null, end: null, effects: null }
    return { iid, id, workflow, turn, parent, labels, messages, ...rest }
  }

  /** Writes a turn, and what becomes of the instance then. */
  turn(copy: Copy, row: TurnRow | null, next: Next, result: TurnResult): void {
    const { committer } = this.#host
    const starting = unsettledStarts(copy, next, result)
    if (starting.length > 0) {
      // A child that is being started can be closed only once it is there.
      const again = (): void => {
        if (copy.state === 'committing') this.turn(copy, row, next, result)
        committer.flush()
      }
      void Promise.all(starting).then(again)
      return
    }
    if (copy.turn === 0) {
      return this.start(copy, row!, next, result, (verdict) =>
        this.#host.recorded(copy, row, next, result, verdict),
      )
    }
    // Nothing of it may begin here while it is being given away.
    if (next.kind === 'release') this.#host.silence(copy)
    const { taken, effects } = result
    if (row === null && taken.length === 0 && effects === null && next.kind === 'keep') {
      // A copy that was read again and has nothing new: what was open goes on.
      return this.#host.recorded(copy, row, next, result, 'done')
    }
    this.#add(copy, row, next, result)
  }

  /** Writes the start of an instance, with its first turn. */
  start(
    copy: Copy,
    turn: TurnRow,
    next: Next,
    { effects }: TurnResult,
    settle: (verdict: Verdict | Error) => void,
  ): void {
    const { iid, id, definition, parent } = copy
    const { labels, messages } = this.#starts.get(copy)!
    const workflow = this.#host.workflowNumber(definition)!
    // One that only sleeps is nobody's from the beginning.
    const wakeAt = next.kind === 'release' ? next.wakeAt : null
    const end = next.kind === 'end' ? next.end : null
    const owned = next.kind !== 'release'
    this.#host.committer.add({
      start: { iid, id, workflow, owned, wakeAt, turn, end, parent, labels, messages, effects },
      settle: (verdict) => {
        copy.onStarted?.(verdict)
        settle(verdict)
      },
    })
  }

  /** Writes what becomes of an instance that has had no turn. */
  next(copy: Copy, next: Next): void {
    copy.state = 'committing'
    this.#add(copy, null, next, NOTHING)
    this.#host.committer.flush()
  }

  /** Makes tasks of what is to become one; false when there is nothing of the kind. */
  tasks(copy: Copy): boolean {
    const commands = [...(copy.newTasks ?? [])]
    copy.newTasks = undefined
    const tasks = commands.flatMap((command) => {
      const given = copy.run.open.get(command)
      return given === undefined ? [] : [taskFor(copy, command, given.work as ActivityWork)]
    })
    if (tasks.length === 0) return false
    copy.state = 'committing'
    for (const { command, attempts } of tasks) {
      ;(copy.tasks ??= new Map()).set(command, { command, attempts, held: false })
    }
    this.#add(copy, null, { kind: 'keep' }, { ...NOTHING, effects: { ...NO_EFFECTS, tasks } })
    this.#host.committer.flush()
    return true
  }

  #add(copy: Copy, turn: TurnRow | null, next: Next, result: TurnResult): void {
    const { iid, epoch } = copy
    const { taken, effects } = result
    this.#host.committer.add({
      turn: { iid, epoch, turn, taken, effects, next },
      settle: (verdict) => this.#host.recorded(copy, turn, next, result, verdict),
    })
  }
}
