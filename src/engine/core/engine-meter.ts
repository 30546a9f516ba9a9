// What the engine measures, for a metrics sink: see docs/reference/metrics.md.
//
//   - Without a sink there is no meter, and nothing is measured.
//   - What a turn did is counted once its commit is done, and never on replay.
//   - Labels are names from code, never ids.

import type { Logger } from '../../base/log.ts'
import { harmless, type Metrics } from '../../base/metrics.ts'
import type { Verdict } from '../../store/commits.ts'

/** How an attempt at an activity or a step ended. */
export type AttemptOutcome = 'completed' | 'retried' | 'failed' | 'aborted'

/** How full a runtime is. */
export interface RuntimeLoad {
  readonly instances: number
  readonly turnsWaiting: number
  readonly commitsWaiting: number
  readonly activitiesRunning: number
  readonly activitiesWaiting: number
  /** Whether notifications of other processes arrive; `undefined` for a store without them. */
  readonly isListening: boolean | undefined
  readonly interruptions: number
}

/** Counts and times what clients and runtimes do. */
export class EngineMeter {
  readonly #metrics: Metrics
  #interruptions = 0

  constructor(metrics: Metrics, log: Logger) {
    this.#metrics = harmless(metrics, log)
  }

  /** The start of an instance is committed. */
  started(workflow: string): void {
    this.#metrics.count('holdfast_instances_started', 1, { workflow })
  }

  /** The end of an instance is committed; `ms` after its last execution began. */
  ended(workflow: string, status: string, ms: number): void {
    this.#metrics.count('holdfast_instances_ended', 1, { workflow, status })
    this.#metrics.record('holdfast_instance_ms', ms, { workflow, status })
  }

  /** A client has ended an instance. */
  terminated(workflow: string): void {
    this.#metrics.count('holdfast_instances_ended', 1, { workflow, status: 'terminated' })
  }

  /** An instance continues as its next execution. */
  continued(workflow: string): void {
    this.#metrics.count('holdfast_instances_continued', 1, { workflow })
  }

  /** An instance cannot continue. */
  suspended(workflow: string): void {
    this.#metrics.count('holdfast_instances_suspended', 1, { workflow })
  }

  /** A turn has run; `sinceStartMs` only for the first turn of an execution. */
  turn(workflow: string, ms: number, sinceStartMs: number | undefined): void {
    this.#metrics.record('holdfast_turn_ms', ms, { workflow })
    if (sinceStartMs !== undefined) {
      this.#metrics.record('holdfast_first_turn_delay_ms', sinceStartMs, { workflow })
    }
  }

  /** An instance was claimed, and its past was in memory, or has to be replayed. */
  claimed(workflow: string, wasInMemory: boolean, deaths: number): void {
    const from = wasInMemory ? 'memory' : 'history'
    this.#metrics.count('holdfast_instances_claimed', 1, { workflow, from })
    if (deaths > 0) this.#metrics.count('holdfast_takeovers', 1, { workflow })
  }

  /** The store answered a batch. */
  committed(ms: number, items: number): void {
    this.#metrics.record('holdfast_commit_ms', ms, NONE)
    this.#metrics.record('holdfast_commit_items', items, NONE)
  }

  /** The store did not take an item. */
  notTaken(result: Exclude<Verdict, 'done'> | Error): void {
    const verdict = result instanceof Error ? 'error' : result
    this.#metrics.count('holdfast_commit_items_rejected', 1, { verdict })
  }

  /** An attempt at an activity or a step has ended. */
  attempt(activity: string, outcome: AttemptOutcome, ms: number): void {
    this.#metrics.record('holdfast_activity_ms', ms, { activity, outcome })
  }

  /** A hint was sent to other processes, or received from one. */
  hint(direction: 'sent' | 'received', kind: string): void {
    this.#metrics.count('holdfast_hints', 1, { direction, kind })
  }

  /** Messages were removed because no instance will receive them. */
  undelivered(late: number, early: number): void {
    if (late > 0) this.#metrics.count('holdfast_messages_undelivered', late, { why: 'ended' })
    if (early > 0) this.#metrics.count('holdfast_messages_undelivered', early, { why: 'unstarted' })
  }

  /** What became of due times of a schedule. */
  schedule(
    schedule: string,
    outcome: 'started' | 'skipped' | 'missed' | 'failed',
    by: number,
  ): void {
    if (by > 0) this.#metrics.count('holdfast_schedule_due_times', by, { schedule, outcome })
  }

  /** An instance of a schedule was started this long after its due time. */
  scheduleDelay(schedule: string, ms: number): void {
    this.#metrics.record('holdfast_schedule_delay_ms', ms, { schedule })
  }

  /** Other runtimes declared this one dead, or its server was replaced. */
  lost(why: 'declared dead' | 'failover' | 'server restart'): void {
    this.#metrics.count('holdfast_runtime_losses', 1, { why })
  }

  /** How full the runtime is at present. Called with each tick. */
  load(load: RuntimeLoad): void {
    const { interruptions, isListening } = load
    if (interruptions > this.#interruptions) {
      this.#metrics.count('holdfast_notifier_reconnects', interruptions - this.#interruptions, NONE)
    }
    this.#interruptions = interruptions
    if (isListening !== undefined) this.#gauge('holdfast_notifier_up', isListening ? 1 : 0)
    this.#gauge('holdfast_runtime_instances', load.instances)
    this.#gauge('holdfast_runtime_turns_waiting', load.turnsWaiting)
    this.#gauge('holdfast_runtime_commits_waiting', load.commitsWaiting)
    this.#gauge('holdfast_runtime_activities_running', load.activitiesRunning)
    this.#gauge('holdfast_runtime_activities_waiting', load.activitiesWaiting)
  }

  #gauge(name: string, value: number): void {
    this.#metrics.gauge?.(name, value, NONE)
  }
}

const NONE = {}
