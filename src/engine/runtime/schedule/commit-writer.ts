import type { Next, StartItem, TurnRow, Verdict } from '../../../store/commits.ts'
import type { Alarms } from '../../core/alarms.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { ActivityWork } from '../../instance/activity-work.ts'
import { NO_EFFECTS } from '../../instance/effects.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { NO_OUTPUT, type TurnOutput } from '../../instance/turn-output.ts'
import { taskFor } from '../../instance/task-for.ts'
import { startedEvent, turnRow } from '../../instance/turn-record.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Committer } from './committer.ts'
import { unsettledStarts } from './remote-commands.ts'

/** What is to be committed for an instance. */
export interface Decision {
  /** The row of history; `null` when nothing happened that history has to know. */
  readonly row: TurnRow | null
  /** What becomes of the instance. */
  readonly next: Next
  readonly output: TurnOutput
}

/** Learns what became of a decision: the store's verdict, or the error that it met alone. */
export interface DecisionSink {
  settled(instance: LiveInstance, decision: Decision, verdict: Verdict | Error): void
}

/** Writes decisions as items for the committer: one at a time for each instance. */
export class CommitWriter {
  readonly #committer: Committer
  readonly #numbers: WorkflowNumbers
  #sink!: DecisionSink
  readonly #alarms: Alarms

  constructor({ alarms }: RuntimeCore, committer: Committer, numbers: WorkflowNumbers) {
    this.#alarms = alarms
    this.#committer = committer
    this.#numbers = numbers
  }

  /** Call it before anything is committed. */
  reportTo(sink: DecisionSink): void {
    this.#sink = sink
  }

  /** The start of an instance whose first turn goes on: unowned, and never due. */
  startOf(instance: LiveInstance): StartItem {
    const row = turnRow(instance, [startedEvent(instance)])!
    const next: Next = { kind: 'release', wakeAt: null }
    return this.#startItem(instance, { row, next, output: NO_OUTPUT })
  }

  /** Commits a turn, and what becomes of the instance then. */
  turn(instance: LiveInstance, decision: Decision): void {
    const { row, next, output } = decision
    instance.beginCommit()
    const starting = unsettledStarts(instance, next, output)
    if (starting.length > 0) {
      // A child that is being started can be closed only once it is there.
      const again = (): void => {
        if (instance.phase.is === 'committing') this.turn(instance, decision)
        this.#committer.flush()
      }
      void Promise.all(starting).then(again)
      return
    }
    if (!instance.isStarted) return this.start(instance, decision)
    // Nothing of it may begin here while it is being given back.
    if (next.kind === 'release') instance.timers.cancelAll(this.#alarms)
    if (isNothing(row, next, output)) return this.#sink.settled(instance, decision, 'done')
    this.#add(instance, decision)
  }

  /** Commits the start of an instance. Once that is done, calls `onDone` if there is more to commit. */
  start(instance: LiveInstance, decision: Decision, onDone?: () => void): void {
    instance.beginCommit()
    this.#committer.add({
      start: this.#startItem(instance, decision),
      settle: (verdict) => {
        instance.startSettled(verdict)
        if (verdict === 'done' && onDone !== undefined) onDone()
        else this.#sink.settled(instance, decision, verdict)
      },
    })
  }

  /** Commits what becomes of an instance that has had no turn. */
  next(instance: LiveInstance, next: Next): void {
    instance.beginCommit()
    this.#add(instance, { row: null, next, output: NO_OUTPUT })
    this.#committer.flush()
  }

  /** Makes tasks of activities that were left to others; whether there are any. */
  tasks(instance: LiveInstance): boolean {
    const tasks = instance.calls.takeLeftToOthers().flatMap((command) => {
      const issued = instance.run.open.get(command)
      return issued === undefined ? [] : [taskFor(instance, command, issued.work as ActivityWork)]
    })
    if (tasks.length === 0) return false
    instance.beginCommit()
    for (const { command, attempts } of tasks) {
      instance.calls.becameTask({ command, attempts, isOwned: false })
    }
    const output = { ...NO_OUTPUT, effects: { ...NO_EFFECTS, tasks } }
    this.#add(instance, { row: null, next: { kind: 'keep' }, output })
    this.#committer.flush()
    return true
  }

  #startItem(instance: LiveInstance, { row, next, output }: Decision): StartItem {
    const { iid, id, definition, parent } = instance
    const { labels, messages } = instance.start!
    return {
      iid,
      id,
      workflow: this.#numbers.of(definition)!,
      // One that only sleeps is unowned from the beginning.
      owned: next.kind !== 'release',
      wakeAt: next.kind === 'release' ? next.wakeAt : null,
      turn: row!,
      end: next.kind === 'end' ? next.end : null,
      parent,
      labels,
      messages,
      effects: output.effects,
    }
  }

  #add(instance: LiveInstance, decision: Decision): void {
    const { iid, epoch } = instance
    const { row, next, output } = decision
    const { taken, effects } = output
    this.#committer.add({
      turn: { iid, epoch, turn: row, taken, effects, next },
      settle: (verdict) => this.#sink.settled(instance, decision, verdict),
    })
  }
}

/** An instance that was read again and has nothing new: what was open goes on. */
function isNothing(row: TurnRow | null, next: Next, { taken, effects }: TurnOutput): boolean {
  return row === null && taken.length === 0 && effects === null && next.kind === 'keep'
}
