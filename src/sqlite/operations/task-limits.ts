import { MICROS_PER_MS } from '../../store/constants.ts'
import { type Rate, rateOpensAt, spend } from '../../store/rates.ts'
import type { TaskLimit } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import type { Value } from '../connect/driver.ts'

// How many tasks of a limit are owned is counted; its rate is one time, see `rates.ts`.

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

const OWNED = `
select count(*) as count from tasks
where limit_key = ? and limit_key <> '' and held_by is not null`

const SPEND = `
insert into limits (limit_key, spent_until) values (?, ?)
on conflict do update set spent_until = excluded.spent_until`

/** The limits during one claim. */
export class Limits {
  readonly #tx: Transaction
  readonly #owned = new Map<string, number>()
  readonly #spentUntil = new Map<string, number>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /**
   * When a task may start, as far as its limit goes: now or earlier, later by time alone, or
   * `Infinity` when another one has to end first. One that is owned already has its place.
   */
  opensAt(task: LimitColumns, isOwned: boolean): number {
    if (task.limitKey === '') return 0
    const { concurrency } = task
    if (concurrency !== null && !isOwned && this.#countOwned(task.limitKey) >= concurrency) {
      return Infinity
    }
    const rate = rateOf(task)
    return rate === undefined ? 0 : rateOpensAt(rate, this.#spent(task.limitKey))
  }

  /** Notes that a task starts now, which may be owned already. */
  start(task: LimitColumns, isOwned: boolean): void {
    const owned = this.#owned.get(task.limitKey)
    if (owned !== undefined && !isOwned) this.#owned.set(task.limitKey, owned + 1)
    const rate = rateOf(task)
    if (rate === undefined) return
    const until = spend(rate, this.#spent(task.limitKey), this.#tx.now)
    this.#spentUntil.set(task.limitKey, until)
    this.#tx.sql(SPEND).run(task.limitKey, until)
  }

  #countOwned(limitKey: string): number {
    let owned = this.#owned.get(limitKey)
    if (owned === undefined) {
      owned = (this.#tx.sql(OWNED).get(limitKey) as { count: number }).count
      this.#owned.set(limitKey, owned)
    }
    return owned
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

function rateOf({ rateCount, rateMs }: LimitColumns): Rate | undefined {
  return rateCount === null || rateMs === null ? undefined : { count: rateCount, perMs: rateMs }
}

/** So that no tick takes long, whatever has piled up. */
const MAX_AT_ONCE = 500

const REMOVE_UNUSED = `
delete from limits
where limit_key in (
  select limit_key from limits where spent_until < ? order by spent_until limit ?
)`

/** Removes limits whose rate has recovered: as good as never used. */
export function removeUnusedLimits(tx: Transaction): void {
  tx.sql(REMOVE_UNUSED).run(tx.now * MICROS_PER_MS, MAX_AT_ONCE)
}
