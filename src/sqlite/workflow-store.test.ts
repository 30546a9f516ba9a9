import { describe, expect, test } from 'vitest'
import { openStore, startItem, tempFile, turnItem, turnRow } from '../../test/support/sqlite.ts'
import type { LoadRequest } from '../store/claims.ts'
import type { TurnItem } from '../store/commits.ts'
import type { InboxRow } from '../store/inbox.ts'
import { NO_VERSION } from '../store/instances.ts'

// What is special about this store, and what it was easy to get wrong. What every store must do is
// in the contract suite.

describe('starting', () => {
  test('a start sent again is done, one with the same id exists, and the first is kept', async () => {
    await using under = await openStore()
    const item = startItem(under.first)

    await under.commit([item])
    const answer = await under.commit([
      item,
      startItem(under.first + 1, { id: item.id }),
      startItem(under.first + 2),
    ])

    expect(answer).toMatchObject({ starts: ['done', 'exists', 'done'] })
    expect(await under.store.owned(under.runtime)).toEqual([
      { iid: under.first, epoch: 1, execution: 1, turn: 1, deaths: 0, doing: '' },
      { iid: under.first + 2, epoch: 1, execution: 1, turn: 1, deaths: 0, doing: '' },
    ])
  })

  test('an instance that ended in its first turn is finished and never claimed', async () => {
    await using under = await openStore()
    const end = { status: 'completed', output: '42' } as const

    await under.commit([startItem(under.first, { end })])

    const [row] = await under.store.look([under.first])
    expect(row).toMatchObject({ status: 'completed', output: '42', wakeAt: null })
    expect(row!.finishedAt).toBe(row!.createdAt)
    expect(await under.store.owned(under.runtime)).toEqual([])
    expect((await under.claim()).claims).toEqual([])
  })

  test('a client cannot start what is owned', async () => {
    await using under = await openStore()

    await expect(under.store.start([startItem(under.first)])).rejects.toMatchObject({
      code: 'rejected',
      message: `sqlite start: a client cannot own instances, but the start of "order-${under.first}" asks for that`,
    })
  })

  test('reserved numbers are never given out again, even by another store', async () => {
    using file = tempFile()
    await using a = await openStore(file.path)
    await using b = await openStore(file.path)

    expect([a.first, b.first, await a.store.reserve(1)]).toEqual([1, 101, 201])
  })
})

describe('a turn', () => {
  test.each<[string, Partial<TurnItem>]>([
    ['keeps', {}],
    ['releases', { next: { kind: 'release', wakeAt: 5 } }],
    ['holds', { next: { kind: 'suspend', report: 'broken' } }],
    ['ends', { next: { kind: 'end', end: { status: 'failed', output: 'why' } } }],
    ['releases without a turn', { turn: null, next: { kind: 'release', wakeAt: 5 } }],
    ['holds without a turn', { turn: null, next: { kind: 'suspend', report: 'broken' } }],
    [
      'ends without a turn',
      { turn: null, next: { kind: 'end', end: { status: 'failed', output: '' } } },
    ],
  ])('that %s is done when sent again, once', async (_, given) => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    const item = turnItem(under.first, given)

    const first = await under.commit([], [item])
    const state = await under.store.look([under.first])
    const again = await under.commit([], [item])

    expect([first, again]).toMatchObject([{ turns: ['done'] }, { turns: ['done'] }])
    expect(await under.store.look([under.first])).toEqual(state)
  })

  test('of a stale epoch has no effect, and its neighbours are done', async () => {
    await using under = await openStore()
    const [a, b] = [under.first, under.first + 1]
    await under.commit([startItem(a), startItem(b)])
    await under.store.send([result(a, 1)])
    const mail = await inbox(under, a)
    const stale = { epoch: 0, taken: [mail[0]!.id], next: { kind: 'release', wakeAt: 1 } } as const

    const answer = await under.commit([], [turnItem(a, stale), turnItem(b)])

    expect(answer).toMatchObject({ turns: ['refused', 'done'] })
    expect(await inbox(under, a)).toEqual(mail)
    expect((await under.store.owned(under.runtime)).map(({ turn }) => turn)).toEqual([1, 2])
  })

  test('at the position of another turn is refused, even from the owner', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    await under.commit([], [turnItem(under.first, { next: { kind: 'release', wakeAt: 0 } })])
    await under.claim()

    const answer = await under.commit([], [turnItem(under.first, { epoch: 2 })])

    expect(answer).toMatchObject({ turns: ['refused'] })
  })

  test('deletes the mail it used, and no mail of other instances', async () => {
    await using under = await openStore()
    const [a, b] = [under.first, under.first + 1]
    await under.commit([startItem(a), startItem(b)])
    await under.store.send([result(a, 1), result(b, 1), result(a, 2)])
    const ids = [...(await inbox(under, a)), ...(await inbox(under, b))].map(({ id }) => id)

    await under.commit([], [turnItem(a, { taken: [ids[0]!, ids[2]!] })])

    expect((await inbox(under, a)).map(({ command }) => command)).toEqual([2])
    expect(await inbox(under, b)).toHaveLength(1)
  })

  test('with texts of any kind is read back as it was', async () => {
    await using under = await openStore()
    const events = `started\x1f"𝔘 ☃ \\u0000 \\ud800"\x1e${'x'.repeat(9_999)}`

    await under.commit([startItem(under.first, { turn: turnRow(1, events) })])

    const [loaded] = await under.store.load([allOf(under.first), allOf(99_999)])
    expect(loaded).toEqual({
      iid: under.first,
      id: `order-${under.first}`,
      workflow: { name: 'order', version: '1' },
      execution: 1,
      parent: null,
      history: [turnRow(1, events)],
      inbox: [],
      tasks: [],
    })
  })
})

describe('closing', () => {
  test('is done once, and every later call fails', async () => {
    const { store } = await openStore()

    await store.close()
    await store.close()

    await expect(store.look([1])).rejects.toMatchObject({
      code: 'closed',
      message: 'sqlite look: the store was closed',
    })
    await expect(store.open()).rejects.toMatchObject({ code: 'closed' })
  })
})

type Under = Awaited<ReturnType<typeof openStore>>

function result(iid: number, command: number, payload = 'value') {
  return { iid, kind: 'completed', execution: 1, command, payload } as const
}

function allOf(iid: number): LoadRequest {
  return { iid, after: 0 }
}

async function inbox({ store }: Under, iid: number): Promise<readonly InboxRow[]> {
  const [loaded] = await store.load([allOf(iid)])
  return loaded!.inbox
}

describe('a termination', () => {
  test('names the instance that gets the place under a limit, for a hint', async () => {
    await using under = await openStore()
    const limit = { concurrency: 1, rate: null, keyed: false }
    const { runtime, workflows } = await under.store.register({
      leaseMs: 30_000,
      workflows: [
        { name: 'limited', version: '1.0.0', limit },
        { name: 'limited', version: NO_VERSION, limit },
      ],
      info: '',
    })
    const starts = [under.first, under.first + 1].map((iid) =>
      startItem(iid, { workflow: workflows[0]!, owned: false, wakeAt: 1 }),
    )
    await under.store.start(starts)
    await under.store.claim({ runtime, workflows, limit: 10, hinted: [] })

    const stop = { id: starts[0]!.id, output: '""', events: 'x' }
    const { woken } = await under.store.terminate([stop])

    expect(woken).toEqual([under.first + 1])
  })
})
