// Schemas of tests: created, dropped, and removed after runs that were killed.
//
//   - A name says when it was created, by the server's clock, and ends in a way that no other
//     schema does. Nothing but such a name is ever dropped here.
//   - A run that is killed leaves a schema behind; any later run removes it, once it is so old that
//     no run can still be using it. A schema that is in use is still left alone.

import { randomBytes } from 'node:crypto'
import { describe } from '../base/describe.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import { option, resolveOptions } from '../base/options.ts'
import { makePool } from '../postgres/connect/connections.ts'
import type { PgClient } from '../postgres/connect/driver.ts'
import { checkSchemaName, quoted } from '../postgres/connect/schema-name.ts'

/** A schema for one test. Disposing of it drops it with everything in it. */
export interface TestSchema extends AsyncDisposable {
  readonly url: string
  /** Its name, for `postgres({ url, schema })`. */
  readonly schema: string
  /** Drops it. Close everything that uses it first: after ten seconds of waiting, this fails. */
  drop(): Promise<void>
}

/** Where a schema is created. */
export interface TestSchemaOptions {
  /** The database, as `postgres://…`. */
  readonly url: string
  /**
   * How its name begins, so that you recognise it in the database. Cut after 41 bytes.
   *
   * @default 'test'
   */
  readonly prefix?: string
}

/** Which schemas are dropped. */
export interface SweepOptions {
  /** The database, as `postgres://…`. */
  readonly url: string
  /**
   * Only those that are older. Choose more than any of your tests takes: a schema in use may be
   * idle at that moment.
   *
   * @default '1h'
   */
  readonly olderThan?: Duration
}

/**
 * Makes an empty schema with a name of its own, so that tests can run side by side in one database.
 *
 * A run that is killed cannot drop its schemas: have `sweepTestSchemas` called at the start of each run.
 *
 * @example
 * await using place = await testSchema({ url: 'postgres://localhost/test' })
 * await using holdfast = await open(postgres({ url: place.url, schema: place.schema }), { register })
 */
export async function testSchema(options: TestSchemaOptions): Promise<TestSchema> {
  const { url, prefix } = resolveOptions('testSchema', options, {
    url: option(aText, ''),
    prefix: option(aText, 'test'),
  })
  requireUrl('testSchema', url)
  const schema = await withClient(url, async (client) => {
    const name = await testSchemaName(client, prefix)
    await client.query({ text: `create schema ${quoted(name)}` })
    return name
  })
  const drop = (): Promise<void> => withClient(url, (client) => dropSchema(client, schema))
  return { url, schema, drop, [Symbol.asyncDispose]: drop }
}

/**
 * Drops schemas that `testSchema` created and that were never dropped: those of runs that were
 * killed. Returns their names. Other schemas are never touched, and any number of runs may do this
 * at once.
 */
export async function sweepTestSchemas(options: SweepOptions): Promise<readonly string[]> {
  const { url, olderThan } = resolveOptions('sweepTestSchemas', options, {
    url: option(aText, ''),
    olderThan: duration(3_600_000),
  })
  requireUrl('sweepTestSchemas', url)
  return withClient(url, async (client) => {
    const nowMs = await serverMs(client)
    const { rows } = await client.query({ text: 'select nspname as name from pg_namespace' })
    const left = (rows as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => madeAtMs(name) <= nowMs - olderThan)
    const swept: string[] = []
    for (const name of left) if (await sweep(client, name)) swept.push(name)
    return swept
  })
}

type Queries = Pick<PgClient, 'query'>

const MARK = '_hft_'
const RANDOM_BYTES = 4
const NAME = new RegExp(`${MARK}([0-9a-z]{8,9})_[0-9a-f]{${RANDOM_BYTES * 2}}$`)
// The server cuts names after 63 bytes, and would cut off the part by which we recognise ours.
const LONGEST_PREFIX = 41

/** Makes up a name. Nothing is created yet. */
export async function testSchemaName(client: Queries, prefix: string): Promise<string> {
  const at = (await serverMs(client)).toString(36)
  const random = randomBytes(RANDOM_BYTES).toString('hex')
  return checkSchemaName(`${cut(prefix)}${MARK}${at}_${random}`, 'testSchema: the name')
}

/** As much of a text as fits, in whole characters. */
function cut(prefix: string): string {
  const bytes = Buffer.from(prefix).subarray(0, LONGEST_PREFIX)
  return bytes.toString().replace(/\uFFFD+$/, '')
}

/** Drops a schema that `testSchemaName` named, if it is there. */
export async function dropSchema(client: Queries, name: string, waitMs = 10_000): Promise<void> {
  if (!NAME.test(name)) throw new RangeError(`testSchema: "${name}" is not the schema of a test`)
  // Together, as one transaction: the setting is not to stay.
  const text = `set local lock_timeout to ${waitMs}; drop schema if exists ${quoted(name)} cascade`
  for (let tries = 1; ; tries++) {
    try {
      await client.query({ text })
      return
    } catch (error) {
      // The last statement of a runtime may still run at the server, and lock tables in another order.
      if ((error as { code?: string }).code !== DEADLOCK || tries === MAX_DROPS) throw error
    }
  }
}

const DEADLOCK = '40P01'
const MAX_DROPS = 5

/** When a name was created, by the server's clock; `NaN` if it is not one of ours. */
function madeAtMs(name: string): number {
  return Number.parseInt(NAME.exec(name)?.[1] ?? '', 36)
}

const SWEEP_WAIT_MS = 1_000

/** Whether it was dropped by this sweep: not when it is in use, or another sweep was faster. */
async function sweep(client: Queries, name: string): Promise<boolean> {
  try {
    await dropSchema(client, name, SWEEP_WAIT_MS)
    return true
  } catch (error) {
    if (LEFT_ALONE.has((error as { code?: string }).code ?? '')) return false
    throw error
  }
}

// In use; owned by another role; dropped by another sweep at the same moment, for which the server
// has several error codes.
const LEFT_ALONE = new Set(['55P03', '40P01', '3F000', '42P01', '42501', '42883', 'XX000'])

async function serverMs(client: Queries): Promise<number> {
  const { rows } = await client.query({
    text: `select floor(extract(epoch from clock_timestamp()) * 1000)::text as ms`,
  })
  return Number((rows[0] as { ms: string }).ms)
}

async function withClient<T>(url: string, use: (client: PgClient) => Promise<T>): Promise<T> {
  const pool = await makePool(url, 1, { applicationName: 'holdfast testing' })
  try {
    const client = await pool.connect()
    try {
      return await use(client)
    } finally {
      client.release(true)
    }
  } finally {
    await pool.end()
  }
}

function requireUrl(owner: string, url: string): void {
  if (url === '') throw new TypeError(`${owner}: url is missing`)
}

function aText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be a string, got ${describe(value)}`)
}
