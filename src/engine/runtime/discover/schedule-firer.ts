// Starts the instances of schedules when they are due.
//
//   - Every runtime looks at schedules when one is due, whether or not it has the code of the workflow.
//     The store lets one of them fire each due time; the start is like that of a client.
//   - The tick, and hints about changes, say when the next one is due. Without a schedule nothing is
//     asked, and no timer runs.
//   - A schedule that a runtime cannot fire stays due: another runtime may be able to. This one tries it
//     again after a minute.
//   - A schedule that waits for an instance to end is watched by the runtime that found it waiting. If
//     that runtime is gone, the store makes the schedule due again after a minute.

import { notify } from '../../../base/sync/notify.ts'
import { SCHEDULE_STEP_BACK_MS } from '../../../store/constants.ts'
import type { Iid } from '../../../store/instances.ts'
import type {
  DueSchedules,
  Firing,
  FiringVerdict,
  Overlap,
  ScheduleRow,
} from '../../../store/schedules.ts'
import { isRejected } from '../../../store/store-error.ts'
import { type Directive, idle, proceed, sleep } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import { type DuePlan, following, planDueTimes } from '../../core/due-plan.ts'
import type { IidPool } from '../../core/iid-pool.ts'
import { momentAfter } from '../../core/moments.ts'
import {
  idForDueTime,
  scheduledInstance,
  templateOf,
  timingOf,
} from '../../core/schedule-template.ts'
import { startItem } from '../../core/start-item.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from './registration.ts'
import type { WorkFinder } from './work-finder.ts'

const MAX_AT_ONCE = 100
// Another process is firing the same schedules at this moment.
const BUSY_MS = 25
// How much later those look that did not fire the last time, so that processes do not all ask at once.
const FOLLOWER_MS = { min: 10, max: 60 }
// How long a schedule that this runtime cannot fire is left to others.
const FAILED_MS = 60_000

/** A schedule, and what to do about it. */
interface Prepared {
  readonly row: ScheduleRow
  readonly firing: Firing
}

/** Fires schedules for one runtime. */
export class ScheduleFirer {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #finder: WorkFinder
  readonly #iids: IidPool
  readonly #wake = notify()
  readonly #alarm = { ring: () => this.wake() }
  /** Schedules that wait for an instance, which may have ended. */
  readonly #unblocked = new Set<string>()
  /** Of schedules that wait, the instance that is watched. */
  readonly #watches = new Map<string, { readonly iid: Iid; readonly end: () => void }>()
  /** Of schedules that this runtime could not fire, when it tries them again. */
  readonly #failing = new Map<string, { readonly revision: string; readonly until: number }>()
  #firedLast = true

  constructor(core: RuntimeCore, registration: Registration, finder: WorkFinder, iids: IidPool) {
    this.#core = core
    this.#registration = registration
    this.#finder = finder
    this.#iids = iids
  }

  /** A schedule was changed, or is due. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** A schedule is due at this moment of store time. */
  lookAt(at: number): void {
    const { closing, alarms, random } = this.#core
    if (closing.aborted) return
    const { min, max } = FOLLOWER_MS
    const laterMs = this.#firedLast ? 0 : Math.round(min + random() * (max - min))
    alarms.set(this.#alarm, at + laterMs)
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 100, max: 5_000 }
    const options = { wakeOn: [this.#wake], clock, log, pacing, backoff }
    return worker('schedules', options, () => this.#pass())
  }

  /** Watches nothing any more. */
  close(): void {
    for (const { end } of this.#watches.values()) end()
    this.#watches.clear()
  }

  async #pass(): Promise<Directive> {
    if (this.#core.closing.aborted) return idle()
    const unblocked = [...this.#unblocked]
    // Before the look: an instance that ends during it asks for another one.
    this.#unblocked.clear()
    try {
      return await this.#look(unblocked)
    } catch (error) {
      for (const name of unblocked) this.#unblocked.add(name)
      throw error
    }
  }

  async #look(unblocked: readonly string[]): Promise<Directive> {
    const { store, clock, time } = this.#core
    const askedMs = clock.now()
    const due = await store.schedules.due(MAX_AT_ONCE + this.#failing.size, unblocked)
    time.saw(due.clock, askedMs)
    for (const name of unblocked) {
      if (!due.schedules.some((row) => row.name === name)) this.#unwatch(name)
    }
    let isChanged = false
    const prepared: Prepared[] = []
    for (const row of due.schedules) {
      if (this.#isFailing(row, due.clock)) continue
      const next = await this.#prepare(row, due.clock)
      if (next === 'changed') isChanged = true
      else if (next !== 'waits') prepared.push(next)
    }
    const verdicts = await this.#fireAll(prepared)
    const isFired = verdicts.some((verdict) => verdict !== 'refused')
    if (prepared.length > 0) this.#firedLast = isFired
    this.#lookAgain(due)
    if (isChanged || isFired) return proceed()
    return prepared.length > 0 ? sleep(BUSY_MS) : idle()
  }

  #isFailing({ name, revision }: ScheduleRow, now: number): boolean {
    const failed = this.#failing.get(name)
    return failed !== undefined && failed.revision === revision && now < failed.until
  }

  #lookAgain({ clock, next }: DueSchedules): void {
    let at = next ?? Infinity
    for (const [name, { until }] of this.#failing) {
      if (until <= clock) this.#failing.delete(name)
      else at = Math.min(at, until)
    }
    if (at !== Infinity) this.lookAt(at)
  }

  /** What to do about a schedule: fire it, or nothing more because that is done or it still waits. */
  async #prepare(row: ScheduleRow, now: number): Promise<Prepared | 'changed' | 'waits'> {
    const { name, revision, nextAt: due } = row
    let decided: Decided
    try {
      decided = decide(row, now)
    } catch (error) {
      await this.#fail(row, error)
      return 'changed'
    }
    const { overlap, plan, earlier } = decided
    if (earlier !== undefined) {
      await this.#rewind(row, earlier, now)
      return 'changed'
    }
    if (overlap === 'queue' && row.running.length > 0 && row.wakeAt! > now) {
      this.#watch(row)
      return 'waits'
    }
    const start = plan.at === null ? null : await this.#startFor(row, plan.at, now)
    return { row, firing: { name, revision, due, setAt: now, overlap, start, ...plan } }
  }

  async #rewind(row: ScheduleRow, nextAt: number, setAt: number): Promise<void> {
    const { store, log } = this.#core
    const { name, revision, nextAt: due } = row
    const isMoved = await store.schedules.move({
      name,
      revision,
      due,
      nextAt,
      setAt,
      paused: false,
    })
    if (!isMoved) return
    log.warn(
      { schedule: name, next: new Date(nextAt) },
      'schedule set to an earlier due time: the clock of the store was turned back',
    )
  }

  async #startFor(row: ScheduleRow, due: number, now: number): Promise<Firing['start']> {
    const instance = scheduledInstance(row, idForDueTime(row.name, due))
    const { workflow } = row
    const iid = await this.#iids.take()
    return startItem(instance, {
      iid,
      workflow,
      at: now,
      wakeAt: momentAfter(now, instance.delayMs),
    })
  }

  async #fail({ name, revision, nextAt: due }: ScheduleRow, error: unknown): Promise<void> {
    const { store, log, time } = this.#core
    this.#failing.set(name, { revision, until: time.now() + FAILED_MS })
    log.error({ schedule: name, err: error }, 'schedule cannot be fired; retrying in a minute')
    this.#core.meter?.schedule(name, 'failed', 1)
    const message = error instanceof Error ? error.message : String(error)
    await store.schedules.fail({ name, revision, due }, message)
  }

  /** One that the store rejects must not keep back the others. */
  async #fireAll(prepared: readonly Prepared[]): Promise<readonly FiringVerdict[]> {
    if (prepared.length === 0) return []
    try {
      const verdicts = await this.#core.store.schedules.fire(prepared.map(({ firing }) => firing))
      for (const [i, one] of prepared.entries()) await this.#follow(one, verdicts[i]!)
      return verdicts
    } catch (error) {
      if (!isRejected(error)) throw error
      if (prepared.length === 1) {
        await this.#fail(prepared[0]!.row, error)
        return ['missed']
      }
    }
    const verdicts: FiringVerdict[] = []
    for (const one of prepared) verdicts.push(...(await this.#fireAll([one])))
    return verdicts
  }

  async #follow(fired: Prepared, verdict: FiringVerdict): Promise<void> {
    const { row, firing } = fired
    const { name, start, missed } = firing
    if (verdict === 'waiting') this.#watch(row)
    else this.#unwatch(name)
    switch (verdict) {
      case 'started':
        this.#announceStart(row, start!.iid, start!.wakeAt!)
        break
      case 'unstarted': {
        const [known] = await this.#core.store.find([start!.id])
        if (known?.status !== 'unstarted') break
        const again = { row, firing: { ...firing, start: { ...start!, iid: known.iid } } }
        await this.#fireAll([again])
        return
      }
      case 'renumber':
        this.#iids.forget(start!.iid)
        break
      case 'exists':
      case 'skipped':
      case 'waiting':
      case 'missed':
      case 'refused':
      case 'locked':
    }
    this.#log(fired, verdict)
    const isRecorded = ['started', 'exists', 'skipped', 'waiting', 'missed'].includes(verdict)
    if (isRecorded) this.#measure(fired, verdict)
    if (isRecorded && missed > 0) {
      this.#core.log.warn(
        { schedule: name, missed },
        'schedule missed due times: they are older than its catchUp',
      )
    }
  }

  /** What became of the due times of a firing that is recorded. */
  #measure({ row, firing }: Prepared, verdict: FiringVerdict): void {
    const { meter, time } = this.#core
    const { name, at, passed, missed } = firing
    if (meter === undefined) return
    meter.schedule(name, 'missed', missed)
    if (verdict === 'skipped') meter.schedule(name, 'skipped', passed)
    if (verdict === 'exists') meter.schedule(name, 'skipped', 1)
    if (verdict !== 'started') return
    meter.schedule(name, 'started', 1)
    meter.started(row.workflowName.name)
    if (at !== null) meter.scheduleDelay(name, Math.max(0, time.now() - at))
  }

  #log({ row, firing }: Prepared, verdict: FiringVerdict): void {
    const { log } = this.#core
    const { name, at, start, passed } = firing
    const about = { schedule: name, due: new Date(at ?? firing.nextAt) }
    const running = row.running.map(({ id }) => id)
    switch (verdict) {
      case 'started':
        return log.debug({ ...about, instanceId: start!.id }, 'schedule started an instance')
      case 'exists':
        return log.warn(
          { ...about, instanceId: start!.id },
          'schedule started nothing: an instance with the id of this due time exists',
        )
      case 'skipped':
        return log.info(
          { ...about, skipped: passed, running },
          'schedule skipped: an instance that it started has not ended',
        )
      case 'waiting':
        return log.debug({ ...about, running }, 'schedule waits for an instance that it started')
      case 'missed':
      case 'refused':
      case 'unstarted':
      case 'renumber':
      case 'locked':
    }
  }

  /** The new instance has no owner: it is claimed here, or by a runtime that has its code and room. */
  #announceStart({ workflow }: ScheduleRow, iid: Iid, wakeAt: number): void {
    const { claimer, capacity, hints } = this.#finder
    const isKnown = this.#registration.workflows.includes(workflow)
    if (isKnown) claimer.claimAt(wakeAt)
    if (!isKnown || capacity.free <= 0) hints.announce({ kind: 'due', iids: [iid] })
  }

  /** Looks again when the first of its instances changes, and once now: it may have ended already. */
  #watch({ name, running: [first] }: ScheduleRow): void {
    if (first !== undefined && this.#watches.get(name)?.iid === first.iid) return
    this.#unwatch(name)
    if (first !== undefined) {
      const end = this.#finder.hints.changes.subscribe(first.iid, () => this.#unblock(name))
      this.#watches.set(name, { iid: first.iid, end })
    }
    this.#unblock(name)
  }

  #unwatch(name: string): void {
    this.#watches.get(name)?.end()
    this.#watches.delete(name)
  }

  #unblock(name: string): void {
    this.#unblocked.add(name)
    this.wake()
  }
}

/** What the due times of a schedule ask for. */
interface Decided {
  readonly overlap: Overlap
  readonly plan: DuePlan
  /** Its next due time, if the clock of the store was turned back by a lot. */
  readonly earlier: number | undefined
}

/** Throws if this version cannot compute the due times of the schedule. */
function decide(row: ScheduleRow, now: number): Decided {
  const { table } = timingOf(row)
  const { overlap, catchUpMs } = templateOf(row)
  const isTurnedBack = row.setAt > now + SCHEDULE_STEP_BACK_MS
  const earlier = isTurnedBack ? following(table, now) : undefined
  // If one was triggered meanwhile, only this due time is skipped now, and the others are counted then.
  const countPassed = overlap === 'skip' && row.running.length > 0
  const plan = planDueTimes(table, row.nextAt, now, { catchUpMs, countPassed })
  return { overlap, plan, earlier }
}
