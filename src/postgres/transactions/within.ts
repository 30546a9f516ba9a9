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
export function withinTransaction(
  schema: string,
  tx: unknown,
  notify: boolean,
): StoreInTransaction {
  const inside = new Within(schema, tx)
  const notifyText = String(notify)
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
      return toVerdicts(
        await inside.call('start_within', [startsValue(items), effects, notifyText]),
      )
    },
    async post(posts) {
      const answer = await inside.call('post_within', [...postValues(posts), notifyText])
      return toPostAnswers(JSON.parse(answer) as Row)
    },
  }
}

/**
 * What marks a transaction: the same for everything that uses it, since one of them would otherwise replace
 * the mark of another.
 */
const tokens = new WeakMap<object, string>()

function tokenOf(tx: object): string {
  const known = tokens.get(tx)
  if (known !== undefined) return known
  const token = randomUUID()
  tokens.set(tx, token)
  return token
}

/** Calls procedures of a schema inside a transaction of the user. */
export class Within {
  readonly #schema: string
  readonly #send: Send
  readonly #token: string
  #entered: Promise<void> | undefined

  /** Throws a `TypeError` for an unknown kind of transaction. */
  constructor(schema: string, tx: unknown) {
    this.#schema = schema
    this.#send = sendThrough(tx)
    this.#token = tokenOf(tx as object)
  }

  /** Calls a procedure that does nothing unless it is in the transaction. */
  async call(procedure: string, values: readonly string[]): Promise<string> {
    await (this.#entered ??= this.#enter())
    const answer = await this.#ask(procedure, [this.#token, ...values])
    if (answer !== null) return answer
    // A rollback to an earlier savepoint removes the mark.
    await this.#enter()
    return this.#again(procedure, values)
  }

  /**
   * Calls a procedure that recognises most transactions without the mark, and works at any isolation:
   * one round trip instead of two.
   */
  async callDirectly(procedure: string, values: readonly string[]): Promise<string> {
    const answer = await this.#ask(procedure, [this.#token, ...values])
    if (answer !== null) return answer
    await this.#ask('enter_within', [this.#token])
    return this.#again(procedure, values)
  }

  async #again(procedure: string, values: readonly string[]): Promise<string> {
    const answer = await this.#ask(procedure, [this.#token, ...values])
    if (answer !== null) return answer
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

  /** Whether there is a procedure of this name. */
  async has(procedure: string): Promise<boolean> {
    const name = `${quoted(this.#schema)}.${quoted(procedure)}`
    const [row] = await this.#query('select to_regproc($1::text)::text as answer', [name])
    return (row as { answer: string | null }).answer !== null
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
    const [row] = await this.#query(`select ${name}(${marks}) as answer`, values)
    return (row as { answer: string | null }).answer
  }

  async #query(text: string, values: readonly string[]): Promise<readonly unknown[]> {
    try {
      return await this.#send(text, values)
    } catch (error) {
      throw explained(storeError('in', driverErrorOf(error)))
    }
  }
}

/** In another database the schema, or our procedures, do not exist. */
function explained(error: StoreError): StoreError {
  if (error.code !== 'misconfigured') return error
  const [, ...words] = error.message.split(': ')
  const message = `${words.join(': ')}; is the transaction in the database of the store?`
  return new StoreError('misconfigured', 'in', message, { cause: error.cause })
}
