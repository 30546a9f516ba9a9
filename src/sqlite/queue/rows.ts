import type { Payload } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import type { Value } from '../connect/driver.ts'
import { checksumOf } from './checksum.ts'
import { LARGE } from './messages.ts'

/** What the messages of a group have in common. */
export interface Common {
  readonly queue: number
  readonly state: number
  readonly priority: number
  readonly dueAt: number | null
  readonly expiresAt: number | null
  readonly key: string | null
}

// Node 22 takes a view of no memory at all for null.
const NO_BYTES = Buffer.alloc(1).subarray(0, 0)

/** Writes one row. */
export function insertRow(tx: Transaction, common: Common, id: number, payload: Payload): void {
  const { queue, state, priority, dueAt, expiresAt, key } = common
  const { data, format } = payload
  const isLarge = data.length > LARGE
  tx.sql(
    `insert into messages (id, queue, state, priority, due_at, attempt, receipt, pushed_at,
       expires_at, key, format, checksum, large, data)
     values (?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    queue,
    state,
    priority,
    dueAt,
    tx.now,
    expiresAt,
    key,
    format,
    checksumOf(id, payload),
    isLarge ? data.length : null,
    isLarge ? null : boundData(data),
  )
  if (isLarge) tx.sql('insert into large_data (id, data) values (?, ?)').run(id, data)
}

/** One statement writes this many rows, in two thirds of the time that one statement each takes. */
const AT_ONCE = 32

const INSERT_MANY = `insert into messages (id, queue, state, priority, due_at, attempt, receipt,
    pushed_at, expires_at, format, checksum, data)
  select each.column1, common.queue, common.state, common.priority, common.due_at, 0, 0,
    common.pushed_at, common.expires_at, each.column2, each.column3, each.column4
  from (select ? as queue, ? as state, ? as priority, ? as due_at, ? as pushed_at,
      ? as expires_at) as common
    cross join (values ${Array.from({ length: AT_ONCE }, () => '(?, ?, ?, ?)').join(', ')}) as each`

/** Rows without a key that wait to be written together. `flush` has to follow. */
export class Rows {
  readonly #tx: Transaction
  #common: Common | undefined
  #waiting: { readonly id: number; readonly payload: Payload }[] = []

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  add(common: Common, id: number, payload: Payload): void {
    if (payload.data.length > LARGE) return insertRow(this.#tx, common, id, payload)
    if (this.#common === undefined || !isSame(this.#common, common)) {
      this.flush()
      this.#common = common
    }
    this.#waiting.push({ id, payload })
    if (this.#waiting.length === AT_ONCE) this.#writeTogether(common)
  }

  /** Writes what waits. */
  flush(): void {
    for (const { id, payload } of this.#waiting) insertRow(this.#tx, this.#common!, id, payload)
    this.#waiting = []
  }

  #writeTogether({ queue, state, priority, dueAt, expiresAt }: Common): void {
    const values: Value[] = [queue, state, priority, dueAt, this.#tx.now, expiresAt]
    for (const { id, payload } of this.#waiting) {
      values.push(id, payload.format, checksumOf(id, payload), boundData(payload.data))
    }
    this.#tx.sql(INSERT_MANY).run(...values)
    this.#waiting = []
  }
}

function isSame(one: Common, other: Common): boolean {
  return (
    one === other ||
    (one.state === other.state &&
      one.priority === other.priority &&
      one.dueAt === other.dueAt &&
      one.expiresAt === other.expiresAt)
  )
}

function boundData(data: Payload['data']): Payload['data'] {
  return data.length > 0 || typeof data === 'string' ? data : NO_BYTES
}
