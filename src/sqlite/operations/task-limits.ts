import { MICROS_PER_MS } from '../../store/constants.ts'
import { type Rate, rateOpensAt, spend } from '../../store/rates.ts'
import type { TaskLimit } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import type { Value } from '../connect/driver.ts'

// How many tasks of a limit are owned is counted; its rate is one time, see `rates.ts`. The rates of
// workflows are in the same table: see `admissions.ts`.

/** The limit of a task, from its row. */
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

/** The limits during one claim, of tasks or of instances. */
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
    return this.rateOpensAt(task.limitKey, rateOf(task))
  }

  /** When the next one may start under a rate; may be in the past. */
  rateOpensAt(limitKey: string, rate: Rate | undefined): number {
    return rate === undefined ? 0 : rateOpensAt(rate, this.#spent(limitKey), this.#tx.now)
  }

  /** Records that a task starts now, which may be owned already. */
  start(task: LimitColumns, isOwned: boolean): void {
    const owned = this.#owned.get(task.limitKey)
    if (owned !== undefined && !isOwned) this.#owned.set(task.limitKey, owned + 1)
    this.spend(task.limitKey, rateOf(task))
  }

  /** Records a start under a rate. */
  spend(limitKey: string, rate: Rate | undefined): void {
    if (rate === undefined) return
    const until = spend(rate, this.#spent(limitKey), this.#tx.now)
    this.#spentUntil.set(limitKey, until)
    this.#tx.sql(SPEND).run(limitKey, until)
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

/** The rate of a limit, from its columns. */
export function rateOf({
  rateCount,
  rateMs,
}: Pick<LimitColumns, 'rateCount' | 'rateMs'>): Rate | undefined {
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
