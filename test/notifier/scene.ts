// Processes that listen on a real server: each store represents one.

import { afterAll, beforeAll } from 'vitest'

import type { PostgresHints } from '../../src/postgres/notifier/postgres-hints.ts'
import type { Hint } from '../../src/store/hints.ts'
import type { WorkflowName } from '../../src/store/instances.ts'
import type { Registered } from '../../src/store/runtimes.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { start } from '../support/postgres-store.ts'
import { type TestListener, listenOn, storeWithHints } from './listeners.ts'

/** The origin of a hint that no runtime sends. */
export const CLIENT = { runtime: 0, hasRoom: false }

const ORDER: WorkflowName = { name: 'order', version: '1' }
/** Another workflow than all instances here are of. */
export const OTHER: WorkflowName = { name: 'other', version: '1' }

/** Announces to every listener that instance 1 was recalled, as another process would. */
export const RECALL = `select pg_notify(hint_channel('all'), '{"kind":"recalled","iids":[1]}')`

/** The connections of this schema that listen. */
export const LISTENING = `from pg_stat_activity
  where query like 'listen%' and query like '%' || left(hint_channel(''), 25) || '%'`

/** Processes on one schema. */
export interface Scene extends AsyncDisposable {
  readonly database: TestSchema
  store(): Promise<WorkflowStore>
  /** A process with a runtime that listens. */
  runtime(workflows?: readonly WorkflowName[]): Promise<TestListener & Registered>
}

/** Sets a scene in a schema. What other tests left there concerns no live runtime. */
export function sceneIn(database: TestSchema): Scene {
  const stores: WorkflowStore[] = []
  const listeners: TestListener[] = []
  const store = async (): Promise<WorkflowStore> => {
    const opened = await storeWithHints({ url: database.url }, database.schema)
    stores.push(opened)
    return opened
  }
  return {
    database,
    store,
    async runtime(workflows = [ORDER]) {
      const own = await store()
      const registered = await own.register({ leaseMs: 60_000, info: '', workflows })
      const listener = await listenOn(own, registered.runtime)
      listeners.push(listener)
      return Object.assign(listener, registered)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(listeners.map(({ listening }) => listening.close()))
      if (stores.length > 0) await database.query('update runtimes set state = 3')
      await Promise.all(stores.map((opened) => opened.close()))
    },
  }
}

/** One schema for the tests of a file; returns how scenes are set in it. */
export function scenesInOneSchema(): () => Scene {
  let database: TestSchema
  beforeAll(async () => {
    database = await testSchema('notifier')
  })
  afterAll(() => database[Symbol.asyncDispose]())
  return () => sceneIn(database)
}

/** Instances of the workflow `order` that have no owner. */
export async function unowned(
  store: WorkflowStore,
  registered: Registered,
  count: number,
  wakeAt: number | null = 0,
): Promise<number[]> {
  const first = await store.reserve(count)
  const iids = Array.from({ length: count }, (_, i) => first + i)
  await store.start(iids.map((iid) => start(registered, iid, { owned: false, wakeAt })))
  return iids
}

/** An instance of the workflow `order` that a runtime owns. */
export async function owned(store: WorkflowStore, owner: Registered): Promise<number> {
  const iid = await store.reserve(1)
  const { runtime, server } = owner
  await store.commit({ runtime, server, turns: [], starts: [start(owner, iid)] })
  return iid
}

/**
 * Waits until all hints of this store so far have arrived: the last one has reached every listener.
 */
export async function allReceived(
  store: WorkflowStore,
  ...by: readonly TestListener[]
): Promise<void> {
  await (store.hints as PostgresHints).drain()
  store.hints!.announce({ kind: 'recalled', iids: [LAST] }, CLIENT)
  await eventually(() => by.every(({ hints }) => hints.some(isLast)))
  for (const { hints } of by) hints.splice(hints.findIndex(isLast))
}

const LAST = 0

function isLast(hint: Hint): boolean {
  return hint.kind === 'recalled' && hint.iids[0] === LAST
}
