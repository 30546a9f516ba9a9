import { expect, test, vi } from 'vitest'

import {
  openFreshStore,
  start,
  ticking,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import {
  MAX_MAIL_PARKED,
  MAX_UNSTARTED_SAMPLED,
  UNSTARTED_SAMPLE,
} from '../../../store/constants.ts'
import type { Post } from '../../../store/inbox.ts'
import type { Registered } from '../../../store/runtimes.ts'
import { alive } from '../../../testing/contract/scene.ts'
import { postValues } from '../../wire/post-values.ts'

// Mail that cannot be read now: however much of it there is, claims and ticks do not read it.

vi.setConfig({ testTimeout: 60_000 })

const FLOOD = 20_000
const MANY = 5_000
const TICKS = MANY / MAX_MAIL_PARKED + 1
// A tree that is one page deeper.
const DEEPER = 4
// What was parked leaves pages behind that vacuum may not free while another test reads, and that are
// passed over. Looking at the mail takes three pages for each.
const LEFT_BEHIND = MANY / 10
// Tests of other files may read meanwhile, and while they do, the server keeps what was deleted, and calls
// pass over it: then look again.
const SETTLED = { timeout: 20_000, interval: 200 }
const SLEEPING = 9e14

test('messages for ids that are never started cost no claim and no tick', async () => {
  await using opened = await openFreshStore()
  const runtime = await opened.runtime(3_600_000)
  const before = await pagesOf(opened, runtime)
  const first = await opened.store.reserve(FLOOD)

  await opened.store.post(Array.from({ length: FLOOD }, (_, i) => message(`never-${i}`, first + i)))

  await expect.poll(() => morePages(opened, runtime, before), SETTLED).toBeLessThanOrEqual(DEEPER)
})

const UNREAD: readonly [kind: string, held: string, epoch: number, wakeAt: number | null][] = [
  ['suspended instances', 'true', 1, null],
  ['instances of a workflow that no runtime has', 'false', 1, null],
  ['instances of a workflow that no runtime has, which are due', 'false', 1, 0],
  ['instances that wait for their first turn', 'false', 0, SLEEPING],
]

test.each(UNREAD)('messages to %s cost no claim and no tick', async (...given) => {
  await using opened = await openFreshStore()
  const runtime = await opened.runtime(3_600_000)
  const before = await pagesOf(opened, runtime)
  await insertInstances(opened, runtime, given)
  // By name: other tests have tables in this database, whose plans must stay as they are.
  await opened.database.query('analyze inbox, runs, instances')

  await opened.store.post(Array.from({ length: MANY }, (_, i) => message(`i-${i + 1}`, 0)))

  await expect.poll(() => morePages(opened, runtime, before), SETTLED).toBeLessThanOrEqual(DEEPER)
})

test.each(UNREAD)(
  'mail that %s had before costs no claim and no tick once ticks have parked it',
  async (...given) => {
    await using opened = await openFreshStore()
    const runtime = await opened.runtime(3_600_000)
    const before = await pagesOf(opened, runtime)
    await insertInstances(opened, runtime, given)
    await mailForAll(opened)

    const soon: boolean[] = []
    for (let i = 0; i < TICKS; i++) {
      soon.push(alive(await opened.store.tick(ticking(runtime))).soon)
    }
    await opened.database.query('vacuum analyze inbox, runs, instances')

    // One after the other, until there is no more.
    expect(soon).toEqual([...soon.slice(1).fill(true), false])
    await expect
      .poll(() => morePages(opened, runtime, before), SETTLED)
      .toBeLessThanOrEqual(LEFT_BEHIND)
  },
)

test('an instance is not resumed while a message is under way, so that the next owner reads the message', async () => {
  await using opened = await openFreshStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const iid = await store.reserve(1)
  await store.start([start(runtime, iid, { id: 'order-1', owned: false })])
  await store.suspend(['order-1'], '"why"')
  const sending = await database.connect()
  await sending.query('begin')
  await sending.query('select * from post($1, $2, $3, $4, $5, $6, $7, $8)', [
    ...postValues([message('order-1', 0)]),
  ])

  await expect(store.resume(['order-1'])).rejects.toMatchObject({ code: 'locked' })
  await sending.query('commit')

  expect(await store.resume(['order-1'])).toBe(1)
  const { claims } = await store.claim({ ...ticking(runtime), limit: 10, hinted: [] })
  expect(claims).toMatchObject([{ iid }])
  expect((await store.load([{ iid, after: 0 }]))[0]!.inbox).toHaveLength(1)
})

test('a message under way to an instance that never ran keeps it from being claimed until it is sent', async () => {
  await using opened = await openFreshStore()
  const { store, database } = opened
  const owner = await opened.runtime()
  const iid = await store.reserve(1)
  await store.start([start(owner, iid, { id: 'order-1', owned: false })])
  await store.claim({ ...ticking(owner), limit: 10, hinted: [] })
  await store.unregister(owner.runtime)
  const sending = await database.connect()
  await sending.query('begin')
  await sending.query('select * from post($1, $2, $3, $4, $5, $6, $7, $8)', [
    ...postValues([message('order-1', 0)]),
  ])

  const runtime = await opened.runtime()
  const claim = { ...ticking(runtime), limit: 10, hinted: [] }
  const during = await store.claim(claim)
  await sending.query('commit')
  const after = await store.claim(claim)

  expect([during.claims, after.claims]).toMatchObject([[], [{ iid }]])
  expect((await store.load([{ iid, after: 0 }]))[0]!.inbox).toHaveLength(1)
})

test('messages that an older version left for unstarted ids are parked by ticks', async () => {
  await using opened = await openFreshStore()
  const runtime = await opened.runtime(3_600_000)
  await opened.database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'i-' || i, 0, 0, 0, 0, 0 from generate_series(1, ${MANY}) as i`,
  )
  await mailForAll(opened)
  for (let i = 0; i < TICKS; i++) await opened.store.tick(ticking(runtime))
  const parked = await opened.database.query(
    'select parked, early, count(*)::int from inbox group by 1, 2',
  )

  await opened.store.start([start(runtime, 7, { id: 'i-7', owned: false })])

  expect(parked).toEqual([{ parked: true, early: true, count: MANY }])
  const { claims } = await opened.store.claim({ ...ticking(runtime), limit: 10, hinted: [] })
  expect(claims).toMatchObject([{ iid: 7 }])
})

test.each(['owned', 'unowned'] as const)(
  'a message under way while its instance is started is found by a tick (%s)',
  async (kind) => {
    await using opened = await openFreshStore()
    const { store, database } = opened
    const runtime = await opened.runtime()
    const first = await store.reserve(2)
    await store.post([message('order-1', first)])
    const sending = await database.connect()
    await sending.query('begin')
    await sending.query('select * from post($1, $2, $3, $4, $5, $6, $7, $8)', [
      ...postValues([message('order-1', first + 1, 'slow')]),
    ])

    const item = start(runtime, first, { id: 'order-1', owned: kind === 'owned' })
    const { server } = runtime
    await store.commit({ runtime: runtime.runtime, server, turns: [], starts: [item] })
    await database.query('delete from inbox')
    const during = await store.tick(ticking(runtime))
    await sending.query('commit')

    expect(during).toMatchObject({ mail: [], claimable: false })
    expect(await store.tick(ticking(runtime))).toMatchObject(
      kind === 'owned' ? { mail: [first] } : { claimable: true },
    )
    expect(await database.query('select iid from absences')).toEqual([])
  },
)

test('about a million messages are kept for what was never started, and one more is refused', async () => {
  await using opened = await openFreshStore()
  const { store, database } = opened
  const first = await store.reserve(4)
  const runtime = await opened.runtime()
  await store.post([message('waits', first)])
  await store.start([start(runtime, first + 1, { id: 'runs', owned: false })])
  const enough = MAX_UNSTARTED_SAMPLED
  await database.query(sample(2, enough))
  const posts = [message('new', first + 2), message('waits', 0), message('runs', 0)]

  const nearly = await store.post([message('nearly', first + 3)])
  await database.query(sample(enough + 1, enough + 1))
  const refused = await store.post(posts)
  await store.start([start(runtime, first, { id: 'waits', owned: false })])
  await database.query('delete from inbox where iid = 900000')
  const accepted = await store.post(posts)

  expect(nearly).toMatchObject([{ verdict: 'sent' }])
  expect(refused.map(({ verdict }) => verdict)).toEqual(['full', 'full', 'sent'])
  expect(accepted.map(({ verdict }) => verdict)).toEqual(['sent', 'sent', 'sent'])
})

/** Early messages that are in the sample, each of which counts for a thousand. */
function sample(from: number, to: number): string {
  return `insert into inbox (id, iid, kind, name, payload, parked, early) overriding system value
    select ${UNSTARTED_SAMPLE} * i, 900000, 3, 'notes', '1', true, true from generate_series(${from}, ${to}) as i`
}

function message(id: string, iid: number, payload = '1'): Post {
  const rest = { name: 'notes', replyTo: '', dedupeKey: '', capacity: null } as const
  return { id, kind: 'message', payload, iid, ...rest }
}

/** Instances that do not read what is sent to them. */
async function insertInstances(
  { database }: TestStore,
  runtime: Registered,
  [kind, held, epoch, wakeAt]: (typeof UNREAD)[number],
): Promise<void> {
  const workflow = kind.includes('no runtime has') ? 999 : runtime.workflows[0]
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'i-' || i, ${workflow}, 1, 1, 0, 0 from generate_series(1, ${MANY}) as i`,
  )
  await database.query(
    `insert into runs (iid, workflow, held, epoch, wake_at)
    select i, ${workflow}, ${held}, ${epoch}, ${wakeAt} from generate_series(1, ${MANY}) as i`,
  )
}

/** A message for each instance, as it was sent to one that was not in this state. */
async function mailForAll({ database }: TestStore): Promise<void> {
  await database.query(
    `insert into inbox (iid, kind, name, payload, at)
    select i, 3, 'notes', '1', 0 from generate_series(1, ${MANY}) as i`,
  )
}

interface Pages {
  readonly claim: number
  readonly tick: number
}

/** How many more pages than before either of them looks at. */
async function morePages(opened: TestStore, runtime: Registered, before: Pages): Promise<number> {
  const { claim, tick } = await pagesOf(opened, runtime)
  return Math.max(claim - before.claim, tick - before.tick)
}

/** How many pages of tables and indexes a claim and a tick look at, when all plans are made. */
async function pagesOf(
  { database }: TestStore,
  { runtime, workflows }: Registered,
): Promise<Pages> {
  const client = await database.connect()
  const numbers = `array[${workflows.join(',')}]::integer[]`
  const pages = async (call: string): Promise<number> => {
    let total = 0
    // The first ones plan, and clear away what others left behind.
    for (let i = 0; i < 4; i++) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) select * from ${call}`,
      )
      const { Plan: plan } = rows[0]!['QUERY PLAN'][0]
      total = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    }
    return total
  }
  return {
    claim: await pages(`claim(${runtime}, ${numbers}, 10, '{}')`),
    tick: await pages(
      `tick(${runtime}, null, ${numbers}, '', 0, '', 0, false, '{}', '{}', '{}', '{}', false, '', 0)`,
    ),
  }
}
