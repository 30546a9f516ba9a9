import { createHash } from 'node:crypto'

import type { Connections, Lane } from './connections.ts'
import type { Statement } from './driver.ts'
import { quoted } from './schema-name.ts'
import type { Row } from './wire.ts'

/** Calls a procedure by name and returns its rows. */
export type Call = (
  procedure: string,
  values: readonly (string | number | null)[],
  lane?: Lane,
) => Promise<readonly Row[]>

// Whatever parsers the process has set for `pg`, our rows stay as the server sent them.
const AS_SENT = { getTypeParser: () => (value: string) => value }

/** How procedures of one schema are called: one statement each, prepared once per connection. */
export function callerOf(connections: Connections, schema: string): Call {
  const prepared = new Map<string, Pick<Statement, 'name' | 'text'>>()

  const statementFor = (procedure: string, arity: number): Pick<Statement, 'name' | 'text'> => {
    let statement = prepared.get(procedure)
    if (statement === undefined) {
      const marks = Array.from({ length: arity }, (_, i) => `$${i + 1}`).join(', ')
      const text = `select * from ${quoted(schema)}.${quoted(procedure)}(${marks})`
      // Two schemas may share the connections of one pool.
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 8)
      statement = { name: `holdfast_${procedure}_${hash}`, text }
      prepared.set(procedure, statement)
    }
    return statement
  }

  let prepares = true
  return async (procedure, values, lane = 'other') => {
    const send = async (statement: Pick<Statement, 'name' | 'text'>): Promise<readonly Row[]> => {
      const { rows } = await connections.query(procedure, lane, {
        ...statement,
        values,
        types: AS_SENT,
      })
      return rows as readonly Row[]
    }
    const statement = statementFor(procedure, values.length)
    if (!prepares) return send({ text: statement.text })
    try {
      return await send(statement)
    } catch (error) {
      if (!isMixedUp(error)) throw error
      prepares = false
      return send({ text: statement.text })
    }
  }
}

// Invalid statement name, and one that exists already.
const MIXED_UP: readonly unknown[] = ['26000', '42P05']

/**
 * Whether a pooler has handed a prepared statement to a session that does not know it: PgBouncer
 * before 1.21 does in transaction mode. Nothing was run, so it can be sent again, without a name.
 */
function isMixedUp(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } }
  return MIXED_UP.includes(cause?.code)
}
