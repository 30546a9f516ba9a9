import type { TaskLimit, TaskRequest } from '../../src/store/tasks.ts'

// Which runtime gets which task, computed the slow way: every task is examined, one after the
// other.

/** A task, with all that decides which runtime gets it. */
export interface ModelTask {
  readonly command: number
  readonly activity: string
  readonly tag: string
  readonly session: string
  startBy: number | null
  readonly limit: TaskLimit | null
  attempts: number
  deaths: number
  visibleAt: number
  owner: number | null
  beatUntil: number | null
}

/** All tasks, oldest first, and the rest of the state. */
export class TaskModel {
  now: number
  tasks: ModelTask[] = []
  sessions = new Map<string, { runtime: number; touchedAt: number }>()
  /** When the starts so far are paid for, in microseconds. */
  paidAt = new Map<string, number>()

  constructor(now: number) {
    this.now = now
  }

  claim(request: TaskRequest): ModelTask[] {
    const taken: ModelTask[] = []
    for (const task of this.tasks) {
      if (taken.length === request.limit) break
      if (!this.#mayTake(task, request)) continue
      this.#take(task, request.runtime)
      taken.push(task)
    }
    return taken
  }

  /** When a claim would bring something, if nothing but time passed; `undefined` for never. */
  nextClaim(request: TaskRequest): number | undefined {
    const times = new Set<number>([this.now])
    for (const { visibleAt, beatUntil, limit } of this.tasks) {
      times.add(visibleAt).add(beatUntil ?? 0)
      if (limit?.rate) times.add(this.#opensAt(limit.key, limit.rate))
    }
    for (const { touchedAt } of this.sessions.values()) {
      times.add(touchedAt + request.sessionIdleMs)
    }
    const { now } = this
    const found = [...times]
      .filter((time) => time >= now)
      .toSorted((a, b) => a - b)
      .find((time) => {
        this.now = time
        return this.tasks.some((task) => this.#mayTake(task, request))
      })
    this.now = now
    return found
  }

  finish(task: ModelTask, kind: 'completed' | 'retry' | 'release', delayMs: number): void {
    this.#touch(task)
    if (kind === 'completed') {
      this.tasks = this.tasks.filter((other) => other !== task)
      return
    }
    if (kind === 'release') {
      task.attempts--
      task.startBy = null
    }
    Object.assign(task, { owner: null, beatUntil: null, visibleAt: this.now + delayMs })
  }

  beat(task: ModelTask, silentMs: number | null): void {
    this.#touch(task)
    task.beatUntil = silentMs === null ? null : this.now + silentMs
  }

  free(runtime: number, died: boolean): void {
    for (const task of this.tasks.filter(({ owner }) => owner === runtime)) {
      Object.assign(task, { owner: null, beatUntil: null, visibleAt: this.now })
      if (died) task.deaths++
      else Object.assign(task, { attempts: task.attempts - 1, startBy: null })
    }
    for (const [session, owner] of this.sessions) {
      if (owner.runtime === runtime) this.sessions.delete(session)
    }
  }

  #mayTake(task: ModelTask, request: TaskRequest): boolean {
    const { runtime, activities, served, maxSessions, sessionIdleMs } = request
    const { activity, tag, session, startBy, attempts, deaths } = task
    if (!activities.includes(activity)) return false
    if (tag === '' ? !served.untagged : served.tags !== 'any' && !served.tags.includes(tag)) {
      return false
    }
    if (task.owner === null ? task.visibleAt > this.now : !this.#isSilent(task)) return false
    if (startBy !== null && startBy <= this.now && attempts === 0) return false
    if (deaths >= 2 && this.#ownsQuarantined(runtime)) return false
    if (session !== '') {
      if (this.#isTaken(session, runtime, sessionIdleMs)) return false
      const busy = this.#busySessions(runtime)
      if (!busy.has(session) && busy.size >= maxSessions) return false
    }
    return this.#isWithinLimit(task)
  }

  #take(task: ModelTask, runtime: number): void {
    const { session, limit } = task
    Object.assign(task, { owner: runtime, beatUntil: null, attempts: task.attempts + 1 })
    if (session !== '') this.sessions.set(session, { runtime, touchedAt: this.now })
    if (!limit?.rate) return
    const paidAt = Math.max(this.paidAt.get(limit.key) ?? 0, this.now * 1_000)
    this.paidAt.set(limit.key, paidAt + price(limit.rate))
  }

  #ownsQuarantined(runtime: number): boolean {
    return this.tasks.some(
      (task) => task.owner === runtime && task.deaths >= 2 && !this.#isSilent(task),
    )
  }

  #busySessions(runtime: number): Set<string> {
    const owned = this.tasks.filter((task) => task.owner === runtime && task.session !== '')
    return new Set(owned.map(({ session }) => session))
  }

  #isSilent({ beatUntil }: ModelTask): boolean {
    return beatUntil !== null && beatUntil <= this.now
  }

  #isTaken(session: string, runtime: number, idleMs: number): boolean {
    const owner = this.sessions.get(session)
    if (owner === undefined || owner.runtime === runtime) return false
    const isBusy = this.tasks.some(
      (task) => task.session === session && task.owner === owner.runtime && !this.#isSilent(task),
    )
    return isBusy || owner.touchedAt + idleMs > this.now
  }

  #isWithinLimit(task: ModelTask): boolean {
    const { limit } = task
    if (limit === null) return true
    const others = this.tasks.filter(
      (other) => other !== task && other.owner !== null && other.limit?.key === limit.key,
    )
    if (limit.concurrency !== null && others.length >= limit.concurrency) return false
    return limit.rate === null || this.#opensAt(limit.key, limit.rate) <= this.now
  }

  #opensAt(key: string, rate: NonNullable<TaskLimit['rate']>): number {
    const paidAt = this.paidAt.get(key) ?? 0
    return Math.ceil((paidAt + price(rate) - rate.perMs * 1_000) / 1_000)
  }

  #touch({ session, owner }: ModelTask): void {
    if (session === '' || owner === null) return
    const sessionOwner = this.sessions.get(session)?.runtime ?? owner
    if (sessionOwner === owner) this.sessions.set(session, { runtime: owner, touchedAt: this.now })
  }
}

function price({ count, perMs }: NonNullable<TaskLimit['rate']>): number {
  return Math.floor((perMs * 1_000) / count)
}
