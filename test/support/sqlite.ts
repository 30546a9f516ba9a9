import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SqliteSettings, sqliteSettings } from '../../src/sqlite/connect/options.ts'
import { SqliteThread } from '../../src/sqlite/thread/thread.ts'
import { SqliteWorkflowStore } from '../../src/sqlite/workflow-store.ts'
import type { Effects, StartItem, TurnItem, TurnRow } from '../../src/store/commits.ts'
import type { Post } from '../../src/store/inbox.ts'

/** A folder of one test, with a path for its database. */
export function tempFile(): Disposable & { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  return {
    folder,
    path: join(folder, 'test.db'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Complete settings for a file. Tests that end no power need no fsync. */
export function settingsFor(path: string, given: Partial<SqliteSettings> = {}): SqliteSettings {
  return { ...sqliteSettings({ path, durability: 'os' }), ...given }
}

/** An open store with a registered runtime and some reserved numbers. */
export async function openStore(path = ':memory:') {
  const store = new SqliteWorkflowStore(new SqliteThread(settingsFor(path)))
  await store.open()
  const registered = await store.register({
    leaseMs: 30_000,
    workflows: [
      { name: 'order', version: '1' },
      { name: 'invoice', version: '1' },
    ],
    info: 'test',
  })
  const first = await store.reserve(100)
  return {
    store,
    ...registered,
    first,
    commit: (starts: readonly StartItem[], turns: readonly TurnItem[] = []) =>
      store.commit({ runtime: registered.runtime, server: registered.server, starts, turns }),
    claim: (limit = 10, hinted: readonly number[] = []) =>
      store.claim({
        runtime: registered.runtime,
        workflows: registered.workflows,
        limit,
        hinted,
      }),
    tick: () =>
      store.tick({
        runtime: registered.runtime,
        workflows: registered.workflows,
        tasks: null,
        ownedTasks: [],
        unknown: [],
        idle: false,
      }),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

/** A turn with one event. */
export function turnRow(turn: number, events = `event ${turn}`): TurnRow {
  return { execution: 1, turn, at: 1_000 + turn, first: turn, count: 1, events }
}

/** The start of an instance, by default owned by its sender. */
export function startItem(iid: number, given: Partial<StartItem> = {}): StartItem {
  return {
    iid,
    id: `order-${iid}`,
    workflow: 1,
    owned: true,
    wakeAt: null,
    turn: turnRow(1),
    end: null,
    parent: null,
    labels: '{}',
    messages: [],
    effects: null,
    ...given,
  }
}

/** A second turn of an instance at epoch 1, which is kept by default. */
export function turnItem(iid: number, given: Partial<TurnItem> = {}): TurnItem {
  return {
    iid,
    epoch: 1,
    turn: turnRow(2),
    taken: [],
    effects: null,
    next: { kind: 'keep' },
    ...given,
  }
}

/** Effects of a turn: none by default. */
export function effectsOf(given: Partial<Effects>): Effects {
  return {
    parked: [],
    closes: [],
    clearsState: false,
    state: [],
    progress: null,
    replies: [],
    tasks: [],
    dropsTasks: [],
    ...given,
  }
}

/** By default, a message to an instance. */
export function postItem(id: string, given: Partial<Post> = {}): Post {
  return {
    id,
    kind: 'message',
    name: 'notes',
    payload: '1',
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid: 0,
    ...given,
  }
}

/** The modes of all files in a folder, by name. */
export function modesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder)
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  )
}
