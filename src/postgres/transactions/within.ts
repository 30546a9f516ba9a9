// The store inside a transaction that a user began and commits, through whatever driver.
//
//   W1. Nothing is written outside of a transaction: a pool, or a connection before `begin` or after
//       `commit`, would commit by itself.
//   W2. Only rows are inserted, none is locked that an owner writes. Who starts the same id, or sends
//       under the same key, waits until this transaction ends.
//   W3. Runtimes are told when it is committed, and not otherwise: a NOTIFY is part of it. That makes
//       commits with one wait for each other, so it can be left out.
//   W4. No setting of the transaction is changed, but that its commit waits for the disk.

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

/** The store of this schema inside `tx`; throws a `TypeError` when that is no transaction we know. */
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
    // The mark is taken back with a savepoint that is older than this.
    await this.#enter()
    const again = await this.#ask(procedure, [this.#token, ...values])
    if (again !== null) return again
    throw new TypeError(
      'in: there is no transaction: it has ended, or was never begun, and this would be committed ' +
        'by itself; give what the callback of transaction() or begin() gets, or a client after "begin"',
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
      `the transaction is "${isolation}", and cannot see what was committed since it began; ` +
        'begin it as "read committed"',
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

/** Another database has no such schema, or one without our procedures. */
function explained(error: StoreError): StoreError {
  if (error.code !== 'misconfigured') return error
  const [, ...words] = error.message.split(': ')
  const message = `${words.join(': ')}; is the transaction in the database of the store?`
  return new StoreError('misconfigured', 'in', message, { cause: error.cause })
}
