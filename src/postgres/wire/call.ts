import { createHash } from 'node:crypto'

import type { Behind, Connections, Lane } from '../connect/connections.ts'
import type { Statement } from '../connect/driver.ts'
import { isOfReplaced } from '../connect/errors.ts'
import { withRights } from '../connect/explain-error.ts'
import { quoted } from '../connect/schema-name.ts'
import type { Row } from '../connect/rows.ts'

/** Calls a procedure by name and returns its rows. */
export type Call = (
  procedure: string,
  values: readonly (string | number | null)[],
  lane?: Lane,
  behind?: BehindCall,
) => Promise<readonly Row[]>

/** A call that is sent right behind another: see `Behind`. */
export interface BehindCall extends Pick<Behind, 'over'> {
  readonly procedure: string
  readonly values: readonly (string | number | null)[]
}

// Leaves rows as the server sent them, whatever parsers the process has set for `pg`.
const AS_SENT = { getTypeParser: () => (value: string) => value }

/** Calls procedures of one schema: one statement each, prepared once per connection. */
export function callerOf(connections: Connections, schema: string): Call {
  const prepared = new Map<string, Prepared>()

  const statementFor = (procedure: string, arity: number): Prepared => {
    let statement = prepared.get(procedure)
    if (statement === undefined) {
      const marks = Array.from({ length: arity }, (_, i) => `$${i + 1}`).join(', ')
      const text = `select * from ${quoted(schema)}.${quoted(procedure)}(${marks})`
      statement = named(procedure, text)
      prepared.set(procedure, statement)
    }
    return statement
  }
  /** The same statement under another name, for later calls as well. */
  const renewed = (procedure: string, stale: Prepared): Prepared => {
    const latest = prepared.get(procedure)!
    if (latest !== stale) return latest
    const fresh = named(procedure, `${stale.text} --`)
    prepared.set(procedure, fresh)
    return fresh
  }

  let prepares = true
  const follower = ({ procedure, values }: BehindCall, over: (isDone: boolean) => void): Behind => {
    const { name, text } = statementFor(procedure, values.length)
    const statement = { ...(prepares && { name }), text, values, types: AS_SENT }
    return { operation: procedure, statement, over }
  }

  return async (procedure, values, lane = 'other', behind) => {
    const query = async (
      statement: Pick<Statement, 'name' | 'text'>,
      following?: Behind,
    ): Promise<readonly Row[]> => {
      const sent = { ...statement, values, types: AS_SENT }
      return (await connections.query(procedure, lane, sent, following)).rows as readonly Row[]
    }
    const send = async (statement: Pick<Statement, 'name' | 'text'>): Promise<readonly Row[]> => {
      if (behind === undefined) return query(statement)
      let over!: (isDone: boolean) => void
      const isDone = new Promise<boolean>((resolve) => (over = resolve))
      const rows = await query(statement, follower(behind, over))
      // Only if the first succeeded; otherwise the second had nothing to do.
      void isDone.then(behind.over)
      return rows
    }
    const statement = statementFor(procedure, values.length)
    if (!prepares) return send({ text: statement.text })
    try {
      return await send(statement)
    } catch (error) {
      const { cause } = error as { cause?: { code?: unknown } }
      if (cause?.code === STALE) return send(renewed(procedure, statement))
      if (cause?.code === MISSING || isOfReplaced(cause)) return send(statement)
      if (!MIXED_UP.includes(cause?.code))
        throw await withRights(schema, procedure, error, connections)
      prepares = false
      return send({ text: statement.text })
    }
  }
}

type Prepared = Required<Pick<Statement, 'name' | 'text'>>

/** The server ignores what comes after so many characters of a name. */
const MAX_NAME = 63

/** Schemas may share the connections of one pool, so the name depends on the whole text. */
function named(procedure: string, text: string): Prepared {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8)
  const readable = `holdfast_${procedure}`.slice(0, MAX_NAME - hash.length - 1)
  return { name: `${readable}_${hash}`, text }
}

// After each of these errors nothing was done, and the call can be repeated.

// Invalid statement name, and one that exists already: a pooler has handed a prepared statement to
// a session that does not have it. PgBouncer before 1.21 does in transaction mode.
const MIXED_UP: readonly unknown[] = ['26000', '42P05']

// The procedure returns other columns than when the statement was prepared: another version has replaced
// it. On a new connection through a pooler it may still be prepared, since PgBouncer identifies
// statements by their text. So the text is changed.
const STALE = '0A000'

// No such procedure. It may be an internal one, called by a procedure that began before a newer version
// replaced both; the second time, all procedures are of one version.
const MISSING = '42883'
