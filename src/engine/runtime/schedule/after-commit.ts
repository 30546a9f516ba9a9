// What follows once the store has answered: nothing a turn decides takes effect before that.

import type { Next, TurnRow, Verdict } from '../../../store/commits.ts'
import type { Ending, Iid } from '../../../store/instances.ts'
import { type Endings, Listeners } from '../../core/endings.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { TurnOutput } from '../../instance/turn-output.ts'
import { NOT_STARTED, TAKEN_OVER } from '../core/reasons.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { CommandRunner } from './command-runner.ts'
import type { CommitWriter, Decision } from './commit-writer.ts'
import type { Eviction } from './eviction.ts'
import type { ForgottenCalls } from './forgotten-calls.ts'
import type { LiveInstances } from './live-instances.ts'
import { logEnd, logSuspended } from './log-end.ts'
import type { ActivityServices, Finder } from './ports.ts'
import type { Suspension } from './suspension.ts'
import type { TurnLoop } from './turn-loop.ts'

/** The services it works with. */
export interface FollowUpServices {
  readonly instances: LiveInstances
  readonly endings: Endings
  readonly writer: CommitWriter
  readonly commands: CommandRunner
  readonly eviction: Eviction
  readonly suspension: Suspension
  readonly forgotten: ForgottenCalls
  readonly finder: Finder
  readonly turns: TurnLoop
}

/** What instances do next. Implemented by the scheduler. */
export interface NextSteps {
  /** An instance may have nothing to do here for a while. */
  releaseIfIdle(instance: LiveInstance): void
  /** An instance continues as the execution that begins with this row. */
  continueAs(instance: LiveInstance, first: TurnRow): void
}

/** Follows up on commits: carries out commands, wakes waiters, ends and releases instances. */
export class AfterCommit {
  /** Callers in this process that wait for the reply to a request. */
  readonly replied = new Listeners<string, void>()
  readonly #core: RuntimeCore
  readonly #services: FollowUpServices
  readonly #steps: NextSteps
  #activities!: ActivityServices

  constructor(core: RuntimeCore, services: FollowUpServices, steps: NextSteps) {
    this.#core = core
    this.#services = services
    this.#steps = steps
  }

  /** Call it before anything is committed. */
  connect(activities: ActivityServices): void {
    this.#activities = activities
  }

  /** The store answered. */
  settled(instance: LiveInstance, decision: Decision, verdict: Verdict | Error): void {
    const { eviction, instances, commands } = this.#services
    const { row, next, output } = decision
    const isNew = !instance.isStarted
    instance.start?.settle(verdict)
    if (verdict === 'refused') return eviction.supersede(instance, TAKEN_OVER, output)
    if (instance.isGone) return
    if (verdict instanceof Error) return this.#notStored(instance, next, verdict)
    if (verdict !== 'done') return eviction.evict(instance, NOT_STARTED)
    instance.committed(row, output.taken)
    if (row !== null) {
      eviction.leaveQuarantine(instance)
      instances.grew(row.events.length)
      commands.forgetLimits(instance)
    }
    if (output.effects !== null || output.dropped.length > 0) this.#tellOthers(instance, output)
    switch (next.kind) {
      case 'end':
        return this.#ended(instance, next.end)
      case 'continue':
        return this.#continued(instance, next)
      case 'suspend':
        return this.#suspended(instance, next.report)
      case 'release':
        return this.#released(instance, next.wakeAt)
      case 'keep':
        return this.#kept(instance, output, isNew)
    }
  }

  /** It stays here. Carries out its commands. */
  #kept(instance: LiveInstance, { issued }: TurnOutput, isNew: boolean): void {
    const { commands, writer, finder, turns } = this.#services
    const { inbox } = instance
    // Something was sent with its start, or may have arrived meanwhile.
    if (isNew && (inbox.hasEarlyMail || instance.parent !== null)) inbox.expectMail()
    for (const command of issued) commands.carryOut(instance, command)
    commands.watchCleanUp(instance)
    if ((isNew && inbox.isUnread) || inbox.awaitsUnread()) finder.look([instance.iid])
    if (writer.tasks(instance)) return
    if (instance.hasNews()) turns.enqueue(instance)
    else this.#steps.releaseIfIdle(instance)
  }

  #ended(instance: LiveInstance, end: Ending): void {
    const { eviction, endings, forgotten, finder } = this.#services
    const { iid, parent } = instance
    logEnd(this.#core, instance, end)
    this.#observeEnd(instance, end)
    forgotten.report(instance)
    eviction.leave(instance, 'ended', 'the workflow has ended')
    endings.notify(iid, end)
    finder.hints.ended(iid)
    if (parent !== null && parent.onClose !== 'independent') finder.look([parent.iid])
  }

  /** The end of an instance is committed: measures it, and reports its span. */
  #observeEnd(instance: LiveInstance, { status, output }: Ending): void {
    const { meter, tracer, values } = this.#core
    meter?.ended(instance.definition.name, status, this.#sinceStart(instance))
    if (tracer === undefined) return
    const error = status === 'failed' ? values.error(output) : undefined
    tracer.ended(instance, status, this.#startTime(instance), error)
  }

  #sinceStart({ startedAt }: LiveInstance): number {
    return Math.max(0, this.#core.time.now() - startedAt)
  }

  /** When its execution began, by the clock of this process. */
  #startTime(instance: LiveInstance): number {
    return this.#core.clock.date().getTime() - this.#sinceStart(instance)
  }

  /** It continues as its next execution, here or where its version is registered. */
  #continued(instance: LiveInstance, { started, keep }: Extract<Next, { kind: 'continue' }>): void {
    const { eviction, endings, forgotten, finder } = this.#services
    forgotten.report(instance)
    this.#core.meter?.continued(instance.definition.name)
    this.#core.tracer?.ended(instance, 'continued', this.#startTime(instance))
    eviction.leave(instance, 'continued', 'its next execution has begun')
    if (keep) this.#steps.continueAs(instance, started)
    else endings.notify(instance.iid, undefined)
    // A runtime that has its version claims it; here, there may be mail for the new execution.
    finder.look([instance.iid])
    finder.hints.changed(instance.iid)
  }

  #suspended(instance: LiveInstance, report: string): void {
    const { log, values, meter, tracer } = this.#core
    const error = values.error(report)
    logSuspended(log, instanceKeys(instance), error)
    meter?.suspended(instance.definition.name)
    tracer?.suspended(instance, error)
    // Keeps what finished here, so that it does not run again when the instance is resumed.
    const { eviction, finder } = this.#services
    eviction.suspended(instance)
    finder.hints.changed(instance.iid)
  }

  #released(instance: LiveInstance, wakeAt: number | null): void {
    const { eviction, finder } = this.#services
    eviction.release(instance)
    if (this.#core.closing.aborted) return
    // Its next owner finds what arrived while it was being released.
    if (instance.hasNews()) finder.look([instance.iid])
    if (wakeAt !== null) finder.claimer.claimAt(wakeAt)
  }

  /** The effects of a committed turn on others: attempts, children, tasks, callers. */
  #tellOthers(instance: LiveInstance, { dropped, effects }: TurnOutput): void {
    const { commands, finder } = this.#services
    const { iid, execution, calls } = instance
    const children: Iid[] = []
    for (const command of dropped) {
      commands.drop(instance, command)
      const child = calls.child(command)
      if (child !== undefined) children.push(child)
    }
    if (effects === null) return
    if (effects.closes === 'all') children.push(...calls.children)
    if (children.length > 0) finder.look(children)
    if (effects.tasks.length > 0) {
      this.#activities.claimer.wake()
      finder.hints.announceTasks(effects.tasks)
    }
    if (effects.dropsTasks.length > 0) {
      const tasks = effects.dropsTasks.map((command) => ({ iid, execution, command }))
      this.#activities.tasks.owned.abort(tasks)
      finder.hints.announce({ kind: 'dropped', tasks })
    }
    for (const { to } of effects.replies) this.replied.notify(to)
    if (effects.replies.length > 0 || effects.progress !== null) finder.hints.changed(iid)
  }

  /** The store cannot store this decision, and only this one. */
  #notStored(instance: LiveInstance, next: Next, error: Error): void {
    const { eviction, suspension } = this.#services
    if (!instance.isStarted) return eviction.evict(instance, 'its start could not be stored')
    // The tick finds that it is owned here and not in memory, and has it read again.
    if (next.kind === 'suspend') {
      const keys = { ...instanceKeys(instance), err: error }
      this.#core.log.warn(keys, 'instance could not be suspended; retrying')
      return eviction.evict(instance, 'it could not be suspended')
    }
    void suspension.suspend(instance, error)
  }
}
