import { describe } from 'vitest'
import { type Client, connect, open, type OpenOptions, type Runtime } from '../../src/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import type { Iid, WorkflowStore } from '../../src/store/workflow-store.ts'
import { type OpenedStore, openPostgres, openSqlite } from './store-under-test.ts'
import { memoryLog } from './workers.ts'

// What the scripted races share. A race is one script that is run twice: with our behaviour, and
// with the one that `design-notes.md` found wanting, which must show the bad outcome.

/** Runs a suite on both stores. */
export function describeRace(name: string, suite: (openStore: () => Promise<OpenedStore>) => void) {
  describe(`${name}, on SQLite`, () => {
    suite(() => openSqlite())
  })
  describe(`${name}, on PostgreSQL`, () => {
    suite(() => openPostgres({ prefix: 'race' }))
  })
}

/** A runtime of the engine on a store that is already open; it closes without waiting. */
export async function engineOn(
  store: WorkflowStore,
  register: OpenOptions['register'],
  options: Partial<OpenOptions> = {},
): Promise<Runtime> {
  return open(handleOf(store), { register, log: memoryLog(), ...options })
}

/** A client on a store that is already open. */
export function connectTo(store: WorkflowStore): Client {
  return connect(handleOf(store), { log: memoryLog() })
}

function handleOf(store: WorkflowStore): StoreHandle {
  return { kind: store.kind, [OPEN_WORKFLOW_STORE]: () => store }
}

/** Where an instance stands, by its own row. */
export interface Standing {
  readonly owner: number | null
  readonly epoch: number
  readonly wakeAt: number | null
}

/** Reads it past the port; `undefined` when the instance has ended. */
export async function standingOf(under: OpenedStore, iid: Iid): Promise<Standing | undefined> {
  const [row] = await under.sql<{ owner: number | null; epoch: number; wake_at: unknown }>(
    'select owner, epoch, wake_at from runs where iid = ?',
    iid,
  )
  if (row === undefined) return undefined
  const wakeAt = row.wake_at === null ? null : Number(row.wake_at)
  return { owner: row.owner, epoch: row.epoch, wakeAt }
}

/** Inserts a turn as a fence of nothing but the key would have it: a duplicate is ignored. */
export async function appendByKeyAlone(
  under: OpenedStore,
  iid: Iid,
  turn: number,
  epoch = 1,
): Promise<boolean> {
  const rows = await under.sql(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values (?, 1, ?, ?, 0, ?, 1, 'by key alone')
    on conflict do nothing
    returning iid`,
    iid,
    turn,
    epoch,
    turn,
  )
  return rows.length > 0
}

/** Whether the turns are 1, 2, 3 … without a hole. */
export function isWhole(turns: readonly number[]): boolean {
  return turns.every((turn, i) => turn === i + 1)
}
