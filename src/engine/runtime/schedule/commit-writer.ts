import type { Next, StartItem, TurnRow, Verdict } from '../../../store/commits.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import { taskFor } from '../activities/local-activities.ts'
import type { ActivityWork } from '../../instance/activity-work.ts'
import { NO_EFFECTS } from '../../instance/effects.ts'
import type { Committer } from './committer.ts'
import type { LiveInstance, TurnOutput } from '../../instance/live-instance.ts'
import { unsettledStarts } from './remote-commands.ts'
import type { NewInstance } from '../../core/start-item.ts'
import { startedEvent, turnRow } from '../../instance/turn-record.ts'

/** A turn that led to nothing. */
export const NOTHING: TurnOutput = { events: [], given: [], taken: [], dropped: [], effects: null }

/** What the scribe works with. */
export interface CommitWriterHost {
  readonly committer: Committer
  workflowNumber(definition: WorkflowDefinition): number | undefined
  /** Nothing rings for this copy any more. */
  silence(instance: LiveInstance): void
  /** What became of an item. */
  recorded(
    instance: LiveInstance,
    turn: TurnRow | null,
    next: Next,
    result: TurnOutput,
    verdict: Verdict | Error,
  ): void
}

/** Writes what became of copies as items, and hands them to the committer: one at a time for each copy. */
export class CommitWriter {
  readonly #host: CommitWriterHost
  /** Of instances that are not recorded yet: what they were started with. */
  readonly #starts = new WeakMap<LiveInstance, NewInstance>()

  constructor(host: CommitWriterHost) {
    this.#host = host
  }

  /** A copy of an instance that is recorded with its first turn. */
  begins(instance: LiveInstance, start: NewInstance): void {
    this.#starts.set(instance, start)
  }

  /** Whether something was sent along with the start of a copy. */
  wasSentMail(instance: LiveInstance): boolean {
    return (this.#starts.get(instance)?.messages.length ?? 0) > 0
  }

  /** The start of an instance whose first turn has not ended. Nobody's, and due at no time. */
  startOf(instance: LiveInstance): StartItem {
    const { iid, id, definition, parent } = instance
    const { labels, messages } = this.#starts.get(instance)!
    const workflow = this.#host.workflowNumber(definition)!
    const turn = turnRow(instance, [startedEvent(instance)])!
    const rest = { owned: false, wakeAt: null, end: null, effects: null }
    return { iid, id, workflow, turn, parent, labels, messages, ...rest }
  }

  /** Writes a turn, and what becomes of the instance then. */
  turn(instance: LiveInstance, row: TurnRow | null, next: Next, result: TurnOutput): void {
    const { committer } = this.#host
    const starting = unsettledStarts(instance, next, result)
    if (starting.length > 0) {
      // A child that is being started can be closed only once it is there.
      const again = (): void => {
        if (instance.state === 'committing') this.turn(instance, row, next, result)
        committer.flush()
      }
      void Promise.all(starting).then(again)
      return
    }
    if (instance.turn === 0) {
      return this.start(instance, row!, next, result, (verdict) =>
        this.#host.recorded(instance, row, next, result, verdict),
      )
    }
    // Nothing of it may begin here while it is being given away.
    if (next.kind === 'release') this.#host.silence(instance)
    const { taken, effects } = result
    if (row === null && taken.length === 0 && effects === null && next.kind === 'keep') {
      // A copy that was read again and has nothing new: what was open goes on.
      return this.#host.recorded(instance, row, next, result, 'done')
    }
    this.#add(instance, row, next, result)
  }

  /** Writes the start of an instance, with its first turn. */
  start(
    instance: LiveInstance,
    turn: TurnRow,
    next: Next,
    { effects }: TurnOutput,
    settle: (verdict: Verdict | Error) => void,
  ): void {
    const { iid, id, definition, parent } = instance
    const { labels, messages } = this.#starts.get(instance)!
    const workflow = this.#host.workflowNumber(definition)!
    // One that only sleeps is nobody's from the beginning.
    const wakeAt = next.kind === 'release' ? next.wakeAt : null
    const end = next.kind === 'end' ? next.end : null
    const owned = next.kind !== 'release'
    this.#host.committer.add({
      start: { iid, id, workflow, owned, wakeAt, turn, end, parent, labels, messages, effects },
      settle: (verdict) => {
        instance.onStarted?.(verdict)
        settle(verdict)
      },
    })
  }

  /** Writes what becomes of an instance that has had no turn. */
  next(instance: LiveInstance, next: Next): void {
    instance.state = 'committing'
    this.#add(instance, null, next, NOTHING)
    this.#host.committer.flush()
  }

  /** Makes tasks of what is to become one; false when there is nothing of the kind. */
  tasks(instance: LiveInstance): boolean {
    const commands = [...(instance.newTasks ?? [])]
    instance.newTasks = undefined
    const tasks = commands.flatMap((command) => {
      const given = instance.run.open.get(command)
      return given === undefined ? [] : [taskFor(instance, command, given.work as ActivityWork)]
    })
    if (tasks.length === 0) return false
    instance.state = 'committing'
    for (const { command, attempts } of tasks) {
      ;(instance.tasks ??= new Map()).set(command, { command, attempts, held: false })
    }
    this.#add(instance, null, { kind: 'keep' }, { ...NOTHING, effects: { ...NO_EFFECTS, tasks } })
    this.#host.committer.flush()
    return true
  }

  #add(instance: LiveInstance, turn: TurnRow | null, next: Next, result: TurnOutput): void {
    const { iid, epoch } = instance
    const { taken, effects } = result
    this.#host.committer.add({
      turn: { iid, epoch, turn, taken, effects, next },
      settle: (verdict) => this.#host.recorded(instance, turn, next, result, verdict),
    })
  }
}
