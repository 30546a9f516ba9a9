import type { Client } from 'pg'
import { expect, test } from 'vitest'

import {
  openStore,
  start,
  ticking,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import type { StartItem, Verdict } from '../../../store/commits.ts'
import type { Post } from '../../../store/inbox.ts'
import { postValues } from '../../wire/post-values.ts'
import { startsValue } from '../../wire/start-values.ts'

// A start against early messages: both meet on the unique id, in whatever order they commit, and no
// message is left where no code reads it.

test('a start is locked by an early message under way, and then learns the number of the instance', async () => {
  await using opened = await openStore()
  const { store } = opened
  const { first, second } = await twoNumbers(opened)
  const posting = await midPost(opened, [message(first, 'early')])

  const item = await unowned(opened, second)
  expect(await store.start([item])).toEqual(['locked'])
  await posting.query('commit')

  expect(await store.start([item])).toEqual(['unstarted'])
  const [found] = await store.find(['order-1'])
  expect(found).toMatchObject({ iid: first, status: 'unstarted', mail: 1 })
  expect(await store.start([await unowned(opened, found!.iid)])).toEqual(['done'])
  expect(await payloadsOf(opened, first)).toEqual(['early'])
})

test('a start proceeds when the early message is rolled back', async () => {
  await using opened = await openStore()
  const { first, second } = await twoNumbers(opened)
  const posting = await midPost(opened, [message(first, 'early')])

  const item = await unowned(opened, second)
  expect(await opened.store.start([item])).toEqual(['locked'])
  await posting.query('rollback')

  expect(await opened.store.start([item])).toEqual(['done'])
  expect(await payloadsOf(opened, second)).toEqual([])
})

test('a message that comes while the start is under way is locked, and then arrives there', async () => {
  await using opened = await openStore()
  const { first, second } = await twoNumbers(opened)
  const starting = await midStart(opened, await unowned(opened, first))

  const posts = [message(second, 'a'), message(second, 'b')]
  const locked = { verdict: 'locked', iid: 0, owner: null }
  expect(await opened.store.post(posts)).toEqual([locked, locked])
  await starting.query('commit')

  // One by one: on a busy machine there may be no time to try the second.
  for (const post of posts) {
    expect(await opened.store.post([post], { wereLocked: true })).toEqual([
      { verdict: 'sent', iid: first, owner: null },
    ])
  }
  expect(await payloadsOf(opened, first)).toEqual(['a', 'b'])
})

test('a message that comes while the start takes over its number waits for no lock, and arrives', async () => {
  await using opened = await openStore()
  const { store } = opened
  const { first, second } = await twoNumbers(opened)
  await store.post([message(first, 'early')])
  const starting = await midStart(opened, await unowned(opened, first))

  const answers = await store.post([message(second, 'late')])
  await starting.query('commit')

  expect(answers).toMatchObject([{ verdict: 'sent', iid: first }])
  expect(await payloadsOf(opened, first)).toEqual(['early', 'late'])
  expect(await store.find(['order-1'])).toMatchObject([{ status: 'scheduled', mail: 2 }])
})

test('a start that is sent again while the first is under way is locked, and then recognised', async () => {
  await using opened = await openStore()
  const { store } = opened
  const { first } = await twoNumbers(opened)
  await store.post([message(first, 'early')])
  const item = await unowned(opened, first)
  const starting = await midStart(opened, item)

  expect(await store.start([item])).toEqual(['locked'])
  await starting.query('commit')

  expect(await store.start([item], { wereLocked: true })).toEqual(['done'])
  expect(await store.history(first, 1)).toHaveLength(1)
})

test('a message that arrives while earlier ones are removed is removed with them', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const { first, second } = await twoNumbers(opened)
  await store.post([message(first, 'early')])
  const removing = await database.connect()
  await removing.query('begin')
  await removing.query(`select remove('order-1', 1)`)

  const answers = await store.post([message(second, 'late')])
  await removing.query('commit')
  await store.tick(ticking(await opened.runtime()))

  expect(answers).toMatchObject([{ verdict: 'sent', iid: first }])
  expect(await store.find(['order-1'])).toEqual([undefined])
  expect(await database.query('select iid from inbox')).toEqual([])
})

test('many concurrent posts and starts of the same ids lose nothing', async () => {
  await using opened = await openStore()
  const { store } = opened
  const other = opened.another()
  const ids = Array.from({ length: 20 }, (_, i) => `order-${i + 1}`)
  const numbers = await store.reserve(2 * ids.length)
  const runtime = await opened.runtime()
  const starts = ids.map((id, i) => start(runtime, numbers + i, { id, owned: false, wakeAt: 0 }))

  const [posted, verdicts] = await Promise.all([
    Promise.all(ids.map((id, i) => other.post([{ ...message(numbers + ids.length + i, id), id }]))),
    Promise.all(starts.map((item) => startUntilDone(opened, item))),
  ])

  expect(posted.flat().every(({ verdict }) => verdict === 'sent')).toBe(true)
  expect(verdicts.every((verdict) => verdict === 'done')).toBe(true)
  const found = await store.find(ids)
  expect(found.map((row) => [row!.status, row!.mail])).toEqual(ids.map(() => ['scheduled', 1]))
})

/** Under the number that messages wait under, should they have been first. */
async function startUntilDone(opened: TestStore, item: StartItem): Promise<Verdict> {
  const { store } = opened
  const [verdict] = await store.start([item])
  // On a slow disk a post keeps its lock for longer than a start waits.
  if (verdict === 'locked' || verdict === 'untried') return startUntilDone(opened, item)
  if (verdict !== 'unstarted') return verdict!
  const [found] = await store.find([item.id])
  return startUntilDone(opened, { ...item, iid: found!.iid })
}

async function twoNumbers({ store }: TestStore): Promise<{ first: number; second: number }> {
  const first = await store.reserve(2)
  return { first, second: first + 1 }
}

async function unowned(opened: TestStore, iid: number): Promise<StartItem> {
  const workflows = await opened.store.workflowNumbers([{ name: 'order', version: '1' }])
  return start({ runtime: 0, server: '', clock: 0, workflows }, iid, {
    id: 'order-1',
    owned: false,
    wakeAt: 0,
  })
}

function message(iid: number, payload: string): Post {
  return {
    id: 'order-1',
    kind: 'message',
    name: 'notes',
    payload,
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid,
  }
}

/** A post whose transaction has not ended yet. */
async function midPost(opened: TestStore, posts: readonly Post[]): Promise<Client> {
  return midCall(opened, 'post', postValues(posts))
}

/** A start whose transaction has not ended yet. */
async function midStart(opened: TestStore, item: StartItem): Promise<Client> {
  return midCall(opened, 'start_batch', [startsValue([item]), ''])
}

async function midCall(
  { database }: TestStore,
  procedure: string,
  values: readonly (string | number)[],
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  const marks = values.map((_, i) => `$${i + 1}`).join(', ')
  await client.query(`select * from ${procedure}(${marks})`, [...values])
  return client
}

async function payloadsOf({ store }: TestStore, iid: number): Promise<string[]> {
  const [loaded] = await store.load([{ iid, after: 0 }])
  return loaded!.inbox.map(({ payload }) => payload!)
}
