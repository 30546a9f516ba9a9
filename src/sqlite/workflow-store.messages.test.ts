import { describe, expect, test } from 'vitest'
import {
  effectsOf,
  openStore,
  postItem,
  startItem,
  turnItem,
  turnRow,
} from '../../test/support/sqlite.ts'
import { UNSTARTED_KEPT_MS } from '../store/constants.ts'
import type { InboxRow } from '../store/inbox.ts'
import type { Iid, ParentLink } from '../store/instances.ts'

// Messages, parents and verbs from outside, where this store has its own way of doing it. What every
// store must do is in the contract suite.

describe('early messages', () => {
  test('wait parked until the start, which makes the instance claimable', async () => {
    await using under = await openStore()
    await under.store.post([postItem('early', { iid: under.first })])
    expect(await under.tick()).toMatchObject({ claimable: false })

    await under.store.start([startItem(under.first, { id: 'early', owned: false })])

    expect(await inboxOf(under, under.first)).toMatchObject([{ parked: false }])
    expect((await under.claim()).claims).toMatchObject([{ iid: under.first }])
  })

  test('are not part of what can be loaded before the start', async () => {
    await using under = await openStore()
    await under.store.post([postItem('early', { iid: under.first })])

    expect(await under.store.load([{ iid: under.first, after: 0 }])).toEqual([])
    expect(await under.store.find(['early'])).toMatchObject([
      { status: 'unstarted', execution: 0, workflow: { name: '', version: '' }, mail: 1 },
    ])
  })

  test('go with the start that ends in its first turn', async () => {
    await using under = await openStore()
    const end = { status: 'completed', output: '42' } as const
    await under.store.post([postItem('early', { iid: under.first, dedupeKey: 'once' })])

    await under.commit([startItem(under.first, { id: 'early', end })])

    expect(await under.store.find(['early'])).toMatchObject([{ status: 'completed', mail: 0 }])
  })
})

describe('messages for those that are never started', () => {
  test('go after a week, those of some with each tick', async () => {
    await using under = await openStore()
    const first = await under.store.reserve(600)
    await under.store.post(
      Array.from({ length: 600 }, (_, n) => postItem(`early ${n}`, { iid: first + n })),
    )
    under.store.advanceClock(UNSTARTED_KEPT_MS + 1_000)

    const ticks = [await under.tick(), await under.tick(), await under.tick()]

    expect(ticks).toMatchObject([500, 100, 0].map((early) => ({ undelivered: { late: 0, early } })))
  })

  test('go with a later tick when there are very many', async () => {
    await using under = await openStore()
    const first = await under.store.reserve(3)
    for (const iid of [first, first + 1, first + 2]) {
      const post = postItem(`early ${iid}`, { iid })
      await under.store.post(Array.from({ length: 6_000 }, () => post))
    }
    under.store.advanceClock(UNSTARTED_KEPT_MS + 1_000)

    const ticks = [await under.tick(), await under.tick()]

    expect(ticks).toMatchObject(
      [12_000, 6_000].map((early) => ({ undelivered: { late: 0, early } })),
    )
  })
})

describe('a post that is refused', () => {
  test('because its channel is full can come again with the same key', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    const id = `order-${under.first}`
    const post = postItem(id, { dedupeKey: 'once', capacity: 1 })
    await under.store.post([postItem(id)])

    const [full] = await under.store.post([post])
    const [waiting] = await inboxOf(under, under.first)
    await under.commit([], [turnItem(under.first, { taken: [waiting!.id] })])
    const [sent] = await under.store.post([post])

    expect([full!.verdict, sent!.verdict]).toEqual(['full', 'sent'])
  })

  test('makes no instance', async () => {
    await using under = await openStore()

    const answers = await under.store.post([
      postItem('nobody', { iid: under.first, capacity: 0 }),
      postItem('nobody', { kind: 'cancel', name: '' }),
    ])

    expect(answers).toEqual([
      { verdict: 'full', iid: 0, owner: null },
      { verdict: 'unknown', iid: 0, owner: null },
    ])
    expect(await under.store.find(['nobody'])).toEqual([undefined])
  })
})

describe('the next execution', () => {
  test('is refused with all that comes with it when its first turn is there already', async () => {
    await using under = await openStore()
    const started = { ...turnRow(1), execution: 2 }
    await under.commit([startItem(under.first)])
    await under.commit([], [turnItem(under.first, { turn: started })])
    const next = { kind: 'continue', started, workflow: 2, keep: true } as const
    const effects = effectsOf({ progress: 'lost' })

    const answer = await under.commit([], [turnItem(under.first, { effects, next })])

    expect(answer).toMatchObject({ turns: ['refused'] })
    expect(await under.store.history(under.first, 1)).toEqual([turnRow(1)])
    expect(await under.store.look([under.first])).toMatchObject([{ progress: null }])
  })

  test('is recognised by its first turn when it comes without a last one', async () => {
    await using under = await openStore()
    const started = { ...turnRow(1), execution: 2 }
    await under.commit([startItem(under.first)])
    const next = { kind: 'continue', started, workflow: 2, keep: false } as const
    const item = turnItem(under.first, { turn: null, next })

    const answers = [await under.commit([], [item]), await under.commit([], [item])]

    expect(answers).toMatchObject([{ turns: ['done'] }, { turns: ['done'] }])
    expect((await under.claim()).claims).toMatchObject([{ epoch: 2, execution: 2, turn: 1 }])
  })
})

describe('effects without a turn', () => {
  test('close children of the current execution', async () => {
    await using under = await openStore()
    const [parent, old, current] = [under.first, under.first + 1, under.first + 2]
    await under.commit([
      startItem(parent),
      startItem(old, { parent: link(parent, 1) }),
      startItem(current, { parent: link(parent, 2) }),
    ])
    const started = { ...turnRow(1), execution: 2 }
    const next = { kind: 'continue', started, workflow: 1, keep: true } as const
    await under.commit([], [turnItem(parent, { next })])

    await under.commit([], [turnItem(parent, { turn: null, effects: effectsOf({ closes: [5] }) })])

    expect(await inboxOf(under, old)).toEqual([])
    expect(await inboxOf(under, current)).toMatchObject([
      { kind: 'cancel', payload: '"parent closed"' },
    ])
  })
})

describe('terminating', () => {
  test('never writes a turn that is older than the one before', async () => {
    await using under = await openStore()
    const late = Date.now() + 60_000
    await under.commit([startItem(under.first, { turn: { ...turnRow(1), at: late, count: 3 } })])

    await under.store.terminate([{ id: `order-${under.first}`, output: 'why', events: 'ended' }])

    const [, last] = await under.store.history(under.first, 1)
    expect(last).toEqual({ execution: 1, turn: 2, at: late, first: 4, count: 1, events: 'ended' })
  })

  test('is not taken for an end that the owner sends without a turn', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    await under.store.terminate([{ id: `order-${under.first}`, output: 'theirs', events: 'ended' }])
    const end = { status: 'terminated', output: 'mine' } as const

    const item = turnItem(under.first, { turn: null, next: { kind: 'end', end } })
    const answer = await under.commit([], [item])

    expect(answer).toMatchObject({ turns: ['refused'] })
  })
})

describe('replies', () => {
  test('go after an hour, some with each tick', async () => {
    await using under = await openStore()
    const replies = Array.from({ length: 600 }, (_, n) => ({ to: `asker ${n}`, payload: `${n}` }))
    await under.commit([startItem(under.first, { effects: effectsOf({ replies }) })])
    const left = async (): Promise<number> => {
      const found = await under.store.replies(replies.map(({ to }) => to))
      return found.filter((payload) => payload !== undefined).length
    }

    under.store.advanceClock(3_590_000)
    await under.tick()
    expect(await left()).toBe(600)

    under.store.advanceClock(20_000)
    await under.tick()
    expect(await left()).toBe(100)
    await under.tick()
    expect(await left()).toBe(0)
  })
})

type Under = Awaited<ReturnType<typeof openStore>>

/** The link of a child that is cancelled with its parent, started by command 5. */
function link(iid: Iid, execution: number): ParentLink {
  return { iid, id: `order-${iid}`, execution, command: 5, onClose: 'cancel' }
}

async function inboxOf({ store }: Under, iid: Iid): Promise<readonly InboxRow[]> {
  const [loaded] = await store.load([{ iid, after: 0 }])
  return loaded!.inbox
}
