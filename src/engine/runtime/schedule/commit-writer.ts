import type { Next, StartItem, TurnRow, Verdict } from '../../../store/commits.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { WrappedStore } from '../../../store/wrapped-store.ts'
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
  /** The row of history; `null` when there is nothing to record. */
  readonly row: TurnRow | null
  /** What becomes of the instance. */
  readonly next: Next
  readonly output: TurnOutput
}

/** Receives the outcome of a decision: the store's verdict, or the error that it caused alone. */
export interface DecisionSink {
  settled(instance: LiveInstance, decision: Decision, verdict: Verdict | Error): void
}

/** Writes decisions as items for the committer: one at a time for each instance. */
export class CommitWriter {
  readonly #committer: Committer
  readonly #numbers: WorkflowNumbers
  #sink!: DecisionSink
  readonly #alarms: Alarms
  readonly #store: WorkflowStore

  constructor({ alarms, store }: RuntimeCore, committer: Committer, numbers: WorkflowNumbers) {
    this.#alarms = alarms
    this.#store = store
    this.#committer = committer
    this.#numbers = numbers
  }

  /** Call it before anything is committed. */
  reportTo(sink: DecisionSink): void {
    this.#sink = sink
  }

  /** The start of an instance whose first turn is in progress: unowned, and never due. */
  startOf(instance: LiveInstance): StartItem {
    const row = turnRow(instance, [startedEvent(instance)])!
    const next: Next = { kind: 'release', wakeAt: null }
    const item = this.#startItem(instance, { row, next, output: NO_OUTPUT })
    // It is written by a thread, which does not have the codec.
    return this.#store instanceof WrappedStore ? this.#store.storedStart(item) : item
  }

  /** Commits what was decided for an instance, and its start if that is not committed yet. */
  commit(instance: LiveInstance, decision: Decision): void {
    const { row, next, output } = decision
    instance.beginCommit()
    const starting = unsettledStarts(instance, next, output)
    if (starting.length > 0) {
      // A child that is being started can be closed only once its start is committed.
      const again = (): void => {
        if (instance.phase.is === 'committing') this.commit(instance, decision)
        this.#committer.flush()
      }
      void Promise.all(starting).then(again)
      return
    }
    // Nothing of it may begin here while it is being released.
    if (next.kind === 'release') instance.timers.cancelAll(this.#alarms)
    const settle = (verdict: Verdict | Error): void =>
      this.#sink.settled(instance, decision, verdict)
    if (!instance.isStarted) {
      this.#committer.add({ start: this.#startItem(instance, decision), settle })
    } else if (isNothing(row, next, output)) settle('done')
    else {
      const { iid, epoch } = instance
      const { taken, effects } = output
      this.#committer.add({ turn: { iid, epoch, turn: row, taken, effects, next }, settle })
    }
  }

  /** Commits the start of an instance by itself; then calls `onDone`, which commits the rest. */
  startAlone(instance: LiveInstance, onDone: () => void): void {
    const row = turnRow(instance, [startedEvent(instance)])!
    const decision: Decision = { row, next: { kind: 'keep' }, output: NO_OUTPUT }
    instance.beginCommit()
    this.#committer.add({
      start: this.#startItem(instance, decision),
      settle: (verdict) => {
        if (verdict !== 'done') return this.#sink.settled(instance, decision, verdict)
        instance.start!.settle(verdict)
        instance.recorded(row)
        onDone()
      },
    })
  }

  /** Commits what becomes of an instance that has had no turn. */
  next(instance: LiveInstance, next: Next): void {
    this.commit(instance, { row: null, next, output: NO_OUTPUT })
    this.#committer.flush()
  }

  /** Makes tasks of activities that were left to others. Returns whether there are any. */
  tasks(instance: LiveInstance): boolean {
    const tasks = instance.calls.takeLeftToOthers().flatMap((command) => {
      const issued = instance.run.open.get(command)
      return issued === undefined ? [] : [taskFor(instance, command, issued.work as ActivityWork)]
    })
    if (tasks.length === 0) return false
    for (const { command, attempts } of tasks) {
      instance.calls.becameTask({ command, attempts, isOwned: false })
    }
    const output = { ...NO_OUTPUT, effects: { ...NO_EFFECTS, tasks } }
    this.commit(instance, { row: null, next: { kind: 'keep' }, output })
    this.#committer.flush()
    return true
  }

  #startItem(instance: LiveInstance, { row, next, output }: Decision): StartItem {
    const { iid, id, definition, parent } = instance
    const { labels, messages, priority } = instance.start!
    return {
      iid,
      id,
      workflow: this.#numbers.of(definition)!,
      // An instance that only sleeps is unowned from the beginning.
      owned: next.kind !== 'release',
      wakeAt: next.kind === 'release' ? next.wakeAt : null,
      turn: row!,
      end: next.kind === 'end' ? next.end : null,
      parent,
      labels,
      messages,
      ...(priority !== undefined && { priority }),
      effects: output.effects,
    }
  }
}

/** Whether there is nothing to commit: the instance was read again, and nothing is new. */
function isNothing(row: TurnRow | null, next: Next, { taken, effects }: TurnOutput): boolean {
  return row === null && taken.length === 0 && effects === null && next.kind === 'keep'
}
