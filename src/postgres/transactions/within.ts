// The store inside a transaction that the user begins and commits, through any driver.
//
//   - Nothing is written outside of a transaction: a pool, or a connection before `begin` or after
//     `commit`, would commit on its own.
//   - Only inserts rows, and locks none that an owner writes. Another start of the same id, or a
//     message with the same key, waits until this transaction ends.
//   - Runtimes are notified when it is committed, and only then: NOTIFY is part of the transaction.
//     Commits with a NOTIFY wait for each other, so it can be turned off.
//   - Changes no setting of the transaction, except that its commit waits for the disk.

import { randomUUID } from 'node:crypto'
import type { InstanceRow } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import type { StoreInTransaction } from '../../store/transactions.ts'
import { toInstances, toPostAnswers, toTurn, toVerdicts } from '../wire/answers.ts'
import { effectsValue } from '../wire/effect-values.ts'
import { storeError } from '../connect/errors.ts'
import { postValues } from '../wire/post-values.ts'
import { quoted } from '../connect/schema-name.ts'
import { startsValue } from '../wire/start-values.ts'
import { type Send, sendThrough } from './within-driver.ts'
import { driverErrorOf } from './within-error.ts'
import type { Row } from '../connect/rows.ts'

/** The store of this schema inside `tx`; throws a `TypeError` for an unknown kind of transaction. */
export function withinTransaction(schema: string, tx: unknown, tells: boolean): StoreInTransaction {
  const inside = new Within(schema, sendThrough(tx))
  const tell = String(tells)
  return {
    reads: {
      find: async (ids) => {
        const rows: (InstanceRow | undefined)[] = []
        for (const id of ids) rows.push(...toInstances(await inside.read('find_within', [id]), 1))
        return rows
      },
      history: async (iid, execution) =>
        (await inside.read('turns_within', [String(iid), String(execution)])).map(toTurn),
    },
    async start(items) {
      const effects = effectsValue({ starts: items, turns: [] })
      return toVerdicts(await inside.call('start_within', [startsValue(items), effects, tell]))
    },
    async post(posts) {
      const answer = await inside.call('post_within', [...postValues(posts), tell])
      return toPostAnswers(JSON.parse(answer) as Row)
    },
  }
}

class Within {
  readonly #schema: string
  readonly #send: Send
  readonly #token = randomUUID()
  #entered: Promise<void> | undefined

  constructor(schema: string, send: Send) {
    this.#schema = schema
    this.#send = send
  }

  /** Calls a procedure that does nothing unless it is in the transaction. */
  async call(procedure: string, values: readonly string[]): Promise<string> {
    await (this.#entered ??= this.#enter())
    const answer = await this.#ask(procedure, [this.#token, ...values])
    if (answer !== null) return answer
    // A rollback to an earlier savepoint removes the mark.
    await this.#enter()
    const again = await this.#ask(procedure, [this.#token, ...values])
    if (again !== null) return again
    throw new TypeError(
      'in: no transaction is open: it has ended or was never begun, and this would commit on its own; ' +
        'pass what the callback of transaction() or begin() receives, or a client after "begin"',
    )
  }

  /** Calls a procedure that only reads: what the transaction did before is visible to it. */
  async read(procedure: string, values: readonly string[]): Promise<readonly Row[]> {
    const answer = await this.#ask(procedure, values)
    return answer === null ? [] : ([JSON.parse(answer)] as (Row | Row[])[]).flat()
  }

  async #enter(): Promise<void> {
    const isolation = await this.#ask('enter_within', [this.#token])
    if (isolation === 'read committed' || isolation === 'read uncommitted') return
    throw new StoreError(
      'misconfigured',
      'in',
      `the isolation of the transaction is "${isolation}", so it cannot see what was committed ` +
        'since it began; use "read committed"',
    )
  }

  async #ask(procedure: string, values: readonly string[]): Promise<string | null> {
    const marks = values.map((_, i) => `$${i + 1}::text`).join(', ')
    const name = `${quoted(this.#schema)}.${quoted(procedure)}`
    let rows: readonly unknown[]
    try {
      rows = await this.#send(`select ${name}(${marks}) as answer`, values)
    } catch (error) {
      throw explained(storeError('in', driverErrorOf(error)))
    }
    return (rows[0] as { answer: string | null }).answer
  }
}

/** In another database the schema, or our procedures, do not exist. */
function explained(error: StoreError): StoreError {
  if (error.code !== 'misconfigured') return error
  const [, ...words] = error.message.split(': ')
  const message = `${words.join(': ')}; is the transaction in the database of the store?`
  return new StoreError('misconfigured', 'in', message, { cause: error.cause })
}
