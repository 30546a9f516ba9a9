import { Client } from 'pg'
import { inject } from 'vitest'

import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { dropSchema, testSchemaName } from '../../src/testing/postgres-schema.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Given by `postgres-setup.ts`. */
    postgresUrl: string
  }
}

/** The database of this run of tests. */
export function postgresUrl(): string {
  return inject('postgresUrl')
}

/** A schema of its own for one test, and a connection for looking into it. */
export interface TestSchema extends AsyncDisposable {
  readonly url: string
  readonly schema: string
  /** Runs SQL with the schema as search path; rows have the driver's own types. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Another connection, with the same search path. It is ended with the schema. */
  connect(): Promise<Client>
  /** Ends those. */
  disconnect(): Promise<void>
}

/** Makes up the name of a schema; whatever is created under it is dropped at the end. */
export async function testSchema(prefix = 'test'): Promise<TestSchema> {
  const url = postgresUrl()
  const clients: Client[] = []

  const open = async (): Promise<Client> => {
    const client = new Client({ connectionString: url })
    // A server that is stopped on purpose ends it.
    client.on('error', () => {})
    await client.connect()
    clients.push(client)
    return client
  }
  const own = await open()
  const schema = await testSchemaName(own, prefix)
  const settle = (client: Client): Promise<unknown> =>
    client.query(`set search_path to ${quoted(schema)}`)
  await settle(own)

  // A connection that a test left open would block what is done to the schema forever.
  const disconnect = async (): Promise<void> => {
    await Promise.all(clients.splice(1).map((client) => client.end()))
  }

  return {
    url,
    schema,
    disconnect,
    async connect() {
      const client = await open()
      await settle(client)
      return client
    },
    async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      const { rows } = await own.query(text, [...values])
      return rows as Row[]
    },
    async [Symbol.asyncDispose]() {
      await disconnect()
      await dropSchema(own, schema)
      await own.end()
    },
  }
}
