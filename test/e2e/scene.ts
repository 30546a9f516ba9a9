import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client as PgClient } from 'pg'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { writePrograms } from '../support/write-program.ts'
import { type StorePlace, storeOf } from './store-place.ts'
import { Workers } from './workers.ts'

const PROGRAMS = {
  worker: join(import.meta.dirname, 'programs/worker.ts'),
  stalls: join(import.meta.dirname, 'programs/stalls.ts'),
  poison: join(import.meta.dirname, 'programs/poison.ts'),
  hands: join(import.meta.dirname, 'programs/hands.ts'),
  schedules: join(import.meta.dirname, 'programs/schedules.ts'),
  limits: join(import.meta.dirname, 'programs/limits.ts'),
  traced: join(import.meta.dirname, 'programs/traced.ts'),
}

type ProgramName = keyof typeof PROGRAMS

/** An empty store, a ledger, and the processes on them. */
export interface Scene extends AsyncDisposable {
  readonly store: StorePlace
  readonly ledger: string
  readonly workers: Workers
  /** The path of one of `programs/`, as plain JavaScript. */
  program(name: ProgramName): string
  /** Looks into the tables. */
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Whether a process that does not run has the store locked for all: possible with SQLite only. */
  isLocked(): boolean
  /** A store of this process, for reading histories. */
  read<T>(use: (store: WorkflowStore) => Promise<T>): Promise<T>
}

/** A file in a folder of its own, or a schema of its own in the database at `url`. */
export type SceneKind =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'postgres'; readonly url: string }

/** Sets the scene; what still runs at its end is killed. */
export function openScene(kind: SceneKind): Scene {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-e2e-'))
  const schema = `e2e_${randomBytes(6).toString('hex')}`
  const store: StorePlace =
    kind.kind === 'sqlite'
      ? { kind: 'sqlite', path: join(folder, 'store.db') }
      : { kind: 'postgres', url: kind.url, schema }
  const ledger = join(folder, 'ledger.jsonl')
  const programs = writePrograms(folder, PROGRAMS)
  const program = (name: ProgramName): string => join(programs, `${name}.js`)
  const workers = new Workers(program('worker'), { store, ledger })

  return {
    store,
    ledger,
    workers,
    program,
    query: (sql) => query(store, sql),
    isLocked: () => store.kind === 'sqlite' && isLocked(store.path),
    async read(use) {
      const opened = (storeOf(store) as StoreHandle)[OPEN_WORKFLOW_STORE]()
      await opened.open()
      try {
        return await use(opened)
      } finally {
        await opened.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await workers.killAll()
      if (store.kind === 'postgres') {
        await query(store, `drop schema if exists ${quoted(schema)} cascade`)
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function query(place: StorePlace, sql: string): Promise<Record<string, unknown>[]> {
  if (place.kind === 'sqlite') {
    const driver = openDriver(place.path, undefined)
    try {
      return driver.prepare(sql).all() as Record<string, unknown>[]
    } finally {
      driver.close()
    }
  }
  const client = new PgClient({ connectionString: place.url })
  await client.connect()
  try {
    await client.query(`set search_path to ${quoted(place.schema)}`)
    const { rows } = await client.query(sql)
    return rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

function isLocked(path: string): boolean {
  const driver = openDriver(path, undefined)
  try {
    // Longer than any write takes.
    driver.exec('pragma busy_timeout = 300')
    driver.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  } finally {
    driver.close()
  }
}
