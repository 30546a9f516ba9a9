import { QUARANTINE_DEATHS } from '../../store/constants.ts'
import { Heap } from '../../base/heap.ts'
import type { ClaimedTask, TaskAnswer, TaskRequest } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import { ownsQuarantined } from './quarantine.ts'
import { isAlive } from './runtimes.ts'
import {
  QUARANTINED,
  type Lane,
  NEVER,
  outlookOf,
  READY,
  servedLanes,
  type Waiting,
} from './task-lanes.ts'
import { Limits } from './task-limits.ts'
import {
  busySessions,
  FREE_SESSION,
  freeIdleSessions,
  NO_SESSION,
  nextFreeSession,
  takeSession,
} from './task-sessions.ts'
import {
  type Candidate,
  type Pool,
  poolsOf,
  poolSource,
  sessionSource,
  silentSource,
  type Source,
} from './task-sources.ts'

/** Hands out tasks to a runtime, oldest first. */
export function claimTasks(tx: Transaction, request: TaskRequest): TaskAnswer {
  if (!isAlive(tx, request.runtime)) {
    return { state: 'dead', clock: tx.now, tasks: [], nextDue: null }
  }
  freeIdleSessions(tx, request.sessionIdleMs)
  const claim = new TaskClaim(tx, request)
  for (const lane of servedLanes(tx, request)) claim.look(lane)
  return { state: 'ok', clock: tx.now, tasks: claim.take(), nextDue: claim.nextDue() }
}

const SHOW = 'update tasks set visible_at = null where activity = ? and tag = ? and visible_at <= ?'

const NEXT_SILENT = `
select min(beat_until) as at from tasks where activity = ? and tag = ? and beat_until > ?`

// A task whose owner has been silent for too long does not count. Without `indexed by`, SQLite
// would read all tasks that the runtime owns.
const QUARANTINED_UNTIL = `
select max(coalesce(beat_until, ${NEVER})) as at
from tasks indexed by tasks_careful
where held_by = ? and visible_at is null and deaths >= ${QUARANTINE_DEATHS}`

const HIDE = 'update tasks set visible_at = ? where number = ?'

const TAKE = `
update tasks
set held_by = ?, held_since = ?, attempts = attempts + 1, visible_at = null, beat_until = null
where number = ?
returning iid, execution, command, activity, input, tag, session, options, attempts as attempt,
  deaths, beat, token`

const INSTANCE = `
select id, name as workflow
from instances join workflows on workflows.workflow = instances.workflow
where iid = ?`

/** One claim: where tasks may come from, and what is taken. */
class TaskClaim {
  readonly #tx: Transaction
  readonly #request: TaskRequest
  readonly #limits: Limits
  /** Sessions in which the runtime owns tasks. */
  readonly #busy: Set<string>
  /** By the number of the first task of each. */
  readonly #sources = new Heap<Source>()
  readonly #first = new Map<Source, Candidate>()
  readonly #taken = new Map<number, ClaimedTask>()
  /** Until when the runtime owns a task with two deaths: it gets no second one. */
  #quarantinedUntil: number
  #waitsElsewhere = false
  #nextDue = Infinity

  constructor(tx: Transaction, request: TaskRequest) {
    this.#tx = tx
    this.#request = request
    this.#limits = new Limits(tx)
    this.#busy = busySessions(tx, request.runtime)
    const task = tx.sql(QUARANTINED_UNTIL).get(request.runtime) as { at: number | null }
    // A quarantined instance that it owns is run alone, too.
    this.#quarantinedUntil = ownsQuarantined(tx, request.runtime) ? NEVER : (task.at ?? 0)
  }

  /** Reads what there is in a lane, now and by time alone. */
  look(lane: Lane): void {
    const { activity, tag } = lane
    const { now } = this.#tx
    let outlook = outlookOf(this.#tx, lane)
    if (outlook.visibleAt !== null && outlook.visibleAt <= now) {
      this.#tx.sql(SHOW).run(activity, tag, now)
      outlook = outlookOf(this.#tx, lane)
    }
    this.#comesAt(outlook.visibleAt)
    if (outlook.silentAt !== null && outlook.silentAt <= now) {
      this.#add(silentSource(this.#tx, lane))
      const next = this.#tx.sql(NEXT_SILENT).get(activity, tag, now) as { at: number | null }
      this.#comesAt(next.at)
    } else {
      this.#comesAt(outlook.silentAt)
    }
    if (outlook.hasReady) this.#addPools(lane, READY)
    if (outlook.hasQuarantined && this.#mayTakeQuarantined()) this.#addPools(lane, QUARANTINED)
  }

  #addPools(lane: Lane, waiting: Waiting): void {
    for (const pool of poolsOf(this.#tx, lane, waiting)) {
      if (this.#isOpen(pool)) this.#add(poolSource(this.#tx, lane, pool, waiting))
    }
  }

  /** Whether tasks with this pin may be taken. Of a session that is busy here, see below. */
  #isOpen({ pin }: Pool): boolean {
    if (pin === NO_SESSION) return true
    if (pin === FREE_SESSION || pin === this.#request.runtime) return !this.#isFullOfSessions()
    this.#waitsElsewhere = true
    return false
  }

  #mayTakeQuarantined(): boolean {
    if (this.#quarantinedUntil <= this.#tx.now) return true
    this.#comesAt(this.#quarantinedUntil)
    return false
  }

  #isFullOfSessions(): boolean {
    return this.#busy.size >= this.#request.maxSessions
  }

  // With no room for another session, there may still be tasks for those that are busy here; they
  // are found without looking at what waits in all the others.
  #lookIntoBusySessions(): void {
    for (const session of this.#busy) this.#lookInto(session)
  }

  #lookInto(session: string): void {
    this.#add(sessionSource(this.#tx, session, this.#request))
  }

  #add(source: Source, after = 0): void {
    const first = source.next(after)
    if (first === undefined) return
    this.#first.set(source, first)
    this.#sources.set(source, first.number)
  }

  /** Takes what may be taken, and returns it in order. */
  take(): readonly ClaimedTask[] {
    // Not before all lanes were read: that shows what has become visible.
    if (this.#isFullOfSessions()) this.#lookIntoBusySessions()
    for (let next = this.#sources.pop(); next !== undefined; next = this.#sources.pop()) {
      const task = this.#first.get(next.key)!
      const mayFollow = this.#tryToTake(task) || !next.key.isPool
      if (mayFollow) this.#add(next.key, task.number)
    }
    return [...this.#taken].toSorted(([a], [b]) => a - b).map(([, task]) => task)
  }

  /** False when the task cannot be taken now, for a reason that it has in common with its pool. */
  #tryToTake(task: Candidate): boolean {
    // Tasks of sessions may come from two sources.
    if (this.#taken.has(task.number)) return true
    if (this.#isTooLate(task)) return true
    if (!this.#mayOwn(task) || !this.#isWithinLimit(task)) return false
    if (this.#taken.size >= this.#request.limit) return false
    this.#take(task)
    return true
  }

  /** What was not started in time is no longer handed out, nor read again. */
  #isTooLate({ number, startBy, attempts, owner }: Candidate): boolean {
    if (startBy === null || startBy > this.#tx.now || attempts > 0) return false
    if (owner === null) this.#tx.sql(HIDE).run(NEVER, number)
    return true
  }

  #mayOwn({ deaths, session, pin }: Candidate): boolean {
    if (deaths >= QUARANTINE_DEATHS && !this.#mayTakeQuarantined()) return false
    if (session === '') return true
    if (pin !== FREE_SESSION && pin !== this.#request.runtime) {
      this.#waitsElsewhere = true
      return false
    }
    return this.#busy.has(session) || !this.#isFullOfSessions()
  }

  #isWithinLimit(task: Candidate): boolean {
    const opensAt = this.#limits.opensAt(task, task.owner !== null)
    if (opensAt <= this.#tx.now) return true
    this.#comesAt(opensAt)
    return false
  }

  #take(task: Candidate): void {
    const { runtime } = this.#request
    const claimed = this.#tx.sql(TAKE).get(runtime, this.#tx.now, task.number) as Omit<
      ClaimedTask,
      'id' | 'workflow'
    >
    const instance = this.#tx.sql(INSTANCE).get(claimed.iid) as Pick<ClaimedTask, 'id' | 'workflow'>
    this.#taken.set(task.number, { ...claimed, ...instance })
    this.#limits.start(task, task.owner !== null)
    if (task.deaths >= QUARANTINE_DEATHS) this.#quarantinedUntil = NEVER
    if (task.session === '') return
    takeSession(this.#tx, task.session, runtime, task.pin)
    // Its other tasks have just left the pool that this one came from.
    if (task.pin === FREE_SESSION) this.#lookInto(task.session)
    if (this.#busy.has(task.session)) return
    this.#busy.add(task.session)
    if (this.#isFullOfSessions()) this.#lookIntoBusySessions()
  }

  #comesAt(time: number | null): void {
    if (time !== null) this.#nextDue = Math.min(this.#nextDue, time)
  }

  /** When time alone makes another one available, or `null`. */
  nextDue(): number | null {
    if (this.#waitsElsewhere) {
      this.#comesAt(nextFreeSession(this.#tx, this.#request.sessionIdleMs))
    }
    return this.#nextDue < NEVER ? this.#nextDue : null
  }
}
