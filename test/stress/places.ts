// Places on the stores of this package, and on those that a module brings.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { Client, Pool } from 'pg'

import { postgres } from '../../src/postgres/index.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import type { OpenPlace, StressPlace } from './scenario.ts'

// One to listen, one for commits, and one for all the rest.
const SMALL_POOL = 3

/** How places are opened on a store that is given by its name, or by the path of a module. */
export async function placesOn(
  store: string,
  postgresUrl: () => Promise<string>,
): Promise<OpenPlace> {
  switch (store) {
    case 'memory':
      return async () => ({ store: sqlite({ path: ':memory:' }), async [Symbol.asyncDispose]() {} })
    case 'file':
      return filePlace
    case 'postgres': {
      const url = await postgresUrl()
      return () => postgresPlace(url)
    }
    default:
      return placeOfModule(store)
  }
}

async function filePlace(): Promise<StressPlace> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-stress-'))
  return {
    store: sqlite({ path: join(folder, 'stress.db') }),
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function postgresPlace(url: string): Promise<StressPlace> {
  const schema = `stress_${randomBytes(6).toString('hex')}`
  const pool = new Pool({ connectionString: url, max: SMALL_POOL })
  return {
    store: postgres({ url, schema }),
    smallPool: postgres({ pool, schema }),
    async [Symbol.asyncDispose]() {
      await pool.end()
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query(`drop schema if exists ${quoted(schema)} cascade`)
      await client.end()
    },
  }
}

async function placeOfModule(path: string): Promise<OpenPlace> {
  const { default: open } = (await import(pathToFileURL(resolve(path)).href)) as {
    default?: unknown
  }
  if (typeof open === 'function') return open as OpenPlace
  throw new TypeError(
    `stress: the default export of ${path} must be a function that opens a place, got ${typeof open}`,
  )
}
