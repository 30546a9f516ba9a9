import { MICROS_PER_MS } from '../../store/constants.ts'
import type { TaskLimit } from '../../store/tasks.ts'
import type { Transaction } from '../database.ts'
import type { Value } from '../driver.ts'

// How many tasks are held is counted; how many were started lately is one time for each limit, until
// which its rate is spent (the generic cell rate algorithm): each start adds its share to it, and one
// may start as long as that leaves it within `perMs` from now. So `count` may start at once, and then
// one for each share of time that has passed.

/** The limit of a task, as it stands in its row. */
export interface LimitColumns {
  readonly limitKey: string
  readonly concurrency: number | null
  readonly rateCount: number | null
  readonly rateMs: number | null
}

const NO_LIMIT: readonly Value[] = ['', null, null, null]

/** What goes into these columns. */
export function limitColumns(limit: TaskLimit | null): readonly Value[] {
  if (limit === null) return NO_LIMIT
  const { key, concurrency, rate } = limit
  return [`=${key}`, concurrency, rate?.count ?? null, rate?.perMs ?? null]
}

const HELD = `
select count(*) as count from tasks
where limit_key = ? and limit_key <> '' and held_by is not null`

const SPEND = `
insert into limits (limit_key, spent_until) values (?, ?)
on conflict do update set spent_until = excluded.spent_until`

/** The limits during one claim. */
export class Limits {
  readonly #tx: Transaction
  readonly #held = new Map<string, number>()
  readonly #spentUntil = new Map<string, number>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /**
   * When a task may start, as far as its limit goes: now or earlier, later by time alone, or
   * `Infinity` when another one has to end first. One that is held already has its place.
   */
  opensAt(task: LimitColumns, isHeld: boolean): number {
    if (task.limitKey === '') return 0
    const { concurrency, rateCount, rateMs } = task
    if (concurrency !== null && !isHeld && this.#countHeld(task.limitKey) >= concurrency) {
      return Infinity
    }
    if (rateCount === null || rateMs === null) return 0
    const earliest = this.#spent(task.limitKey) + share(task) - rateMs * MICROS_PER_MS
    return Math.ceil(earliest / MICROS_PER_MS)
  }

  /** Notes that a task starts now, which may be held already. */
  start(task: LimitColumns, isHeld: boolean): void {
    const held = this.#held.get(task.limitKey)
    if (held !== undefined && !isHeld) this.#held.set(task.limitKey, held + 1)
    if (task.rateCount === null) return
    const from = Math.max(this.#spent(task.limitKey), this.#tx.now * MICROS_PER_MS)
    const until = from + share(task)
    this.#spentUntil.set(task.limitKey, until)
    this.#tx.sql(SPEND).run(task.limitKey, until)
  }

  #countHeld(limitKey: string): number {
    let held = this.#held.get(limitKey)
    if (held === undefined) {
      held = (this.#tx.sql(HELD).get(limitKey) as { count: number }).count
      this.#held.set(limitKey, held)
    }
    return held
  }

  #spent(limitKey: string): number {
    let spent = this.#spentUntil.get(limitKey)
    if (spent === undefined) {
      const sql = 'select spent_until as until from limits where limit_key = ?'
      spent = (this.#tx.sql(sql).get(limitKey) as { until: number } | undefined)?.until ?? 0
      this.#spentUntil.set(limitKey, spent)
    }
    return spent
  }
}

/** What one start takes of its limit, in microseconds. Rounded down, or the last of `count` would wait. */
function share({ rateCount, rateMs }: LimitColumns): number {
  return Math.floor(((rateMs ?? 0) * MICROS_PER_MS) / (rateCount ?? 1))
}

/** So that no tick takes long, whatever has piled up. */
const MOST_AT_ONCE = 500

const REMOVE_UNUSED = `
delete from limits
where limit_key in (
  select limit_key from limits where spent_until < ? order by spent_until limit ?
)`

/** Removes limits whose rate has recovered: as good as never used. */
export function removeUnusedLimits(tx: Transaction): void {
  tx.sql(REMOVE_UNUSED).run(tx.now * MICROS_PER_MS, MOST_AT_ONCE)
}
