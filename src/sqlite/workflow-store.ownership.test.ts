import { describe, expect, test } from 'vitest'
import { openStore, startItem, tempFile, turnItem, turnRow } from '../../test/support/sqlite.ts'
import type { InboxRow } from '../store/inbox.ts'

// Ownership in this store, and what waits for owners. See also `workflow-store.test.ts`.

describe('ownership', () => {
  test('a runtime whose lease ended continues until another one has noticed', async () => {
    using file = tempFile()
    await using a = await openStore(file.path)
    await using b = await openStore(file.path)
    await a.commit([startItem(a.first)])
    a.store.advanceClock(31_000)

    expect(await a.commit([], [turnItem(a.first)])).toMatchObject({ state: 'ok', turns: ['done'] })
    b.store.advanceClock(31_000)
    expect(await b.tick()).toMatchObject({ state: 'ok', claimable: true })

    const next = turnItem(a.first, { turn: turnRow(3) })
    expect(await a.commit([startItem(a.first + 1)], [next])).toMatchObject({ state: 'dead' })
    expect(await a.claim()).toMatchObject({ state: 'dead', claims: [] })
    expect(await a.tick()).toMatchObject({ state: 'dead' })
    expect(await b.claim()).toMatchObject({ claims: [{ iid: a.first, epoch: 2, deaths: 1 }] })
    expect(await a.store.look([a.first + 1])).toEqual([undefined])
  })

  test('deaths are counted until the next turn', async () => {
    using file = tempFile()
    await using a = await openStore(file.path)
    await using b = await openStore(file.path)
    await a.commit([startItem(a.first)])
    b.store.advanceClock(31_000)
    await b.tick()
    await b.claim()

    await b.commit([], [turnItem(a.first, { epoch: 2 })])

    expect(await b.store.owned(b.runtime)).toMatchObject([{ iid: a.first, deaths: 0 }])
  })

  test('instances of a runtime that leaves are due at once, and no death is counted', async () => {
    using file = tempFile()
    await using a = await openStore(file.path)
    await using b = await openStore(file.path)
    await a.commit([startItem(a.first)])

    await a.store.unregister(a.runtime)

    expect(await b.claim()).toMatchObject({ claims: [{ iid: a.first, epoch: 2, deaths: 0 }] })
    expect(await a.tick()).toMatchObject({ state: 'dead' })
  })

  test('a batch for another file is not applied', async () => {
    await using under = await openStore()
    const { runtime, server } = under

    const batch = { runtime, server: 'another', starts: [startItem(under.first)], turns: [] }
    const answer = await under.store.commit(batch)

    expect(answer).toMatchObject({ state: 'verify', server })
    expect(await under.store.look([under.first])).toEqual([undefined])
  })

  test('cached instances are compared by owner, epoch and turn', async () => {
    await using under = await openStore()
    const copy = { iid: under.first, epoch: 1, execution: 1, turn: 1 }
    await under.commit([startItem(under.first)])

    const { server, same } = await under.store.verify(under.runtime, [
      copy,
      { ...copy, turn: 2 },
      { ...copy, execution: 2 },
      { ...copy, epoch: 2 },
      { ...copy, iid: 77 },
    ])

    expect(server).toBe(under.server)
    expect(same).toEqual([true, false, false, false, false])
  })
})

describe('claiming', () => {
  test('each workflow has its turn, and within one the longest due is first', async () => {
    await using under = await openStore()
    const due = (n: number, workflow: number, wakeAt: number) =>
      startItem(under.first + n, { owned: false, workflow, wakeAt })
    await under.store.start([due(0, 1, 3), due(1, 1, 1), due(2, 1, 2), due(3, 2, 9), due(4, 2, 8)])

    const { claims } = await under.claim(4)

    expect(claims.map(({ iid }) => iid - under.first)).toEqual([1, 4, 2, 3])
  })

  test('a workflow whose work came late is not starved by the backlog of another', async () => {
    await using under = await openStore()
    const items = Array.from({ length: 6 }, (_, n) =>
      startItem(under.first + n, { owned: false, workflow: n < 5 ? 1 : 2, wakeAt: n }),
    )
    await under.store.start(items)

    const { claims } = await under.claim(2)

    expect(claims.map(({ iid }) => iid - under.first)).toEqual([0, 5])
  })

  test('mail waits its turn among what is due, so neither starves', async () => {
    await using under = await openStore()
    const [mailed, early, late] = [under.first, under.first + 1, under.first + 2]
    await under.store.start([startItem(mailed, { owned: false })])
    await under.store.send([result(mailed, 1)])
    under.store.advanceClock(1_000)
    const clock = (await under.tick()).clock
    await under.store.start([
      startItem(early, { owned: false, wakeAt: clock - 60_000 }),
      startItem(late, { owned: false, wakeAt: clock }),
    ])

    const { claims } = await under.claim(2)

    expect(claims.map(({ iid }) => iid)).toEqual([early, mailed])
  })

  test('a hint comes first, once, and only for what is due or has mail', async () => {
    await using under = await openStore()
    const [a, b, c] = [under.first, under.first + 1, under.first + 2]
    await under.store.start([
      startItem(a, { owned: false, wakeAt: 1 }),
      startItem(b, { owned: false, wakeAt: 2 }),
      startItem(c, { owned: false, wakeAt: Date.now() + 60_000 }),
    ])

    const { claims } = await under.claim(10, [c, b, b, 12_345])

    expect(claims.map(({ iid }) => iid)).toEqual([b, a])
  })

  test('a suspended instance is never claimed, keeps its mail, and is claimable when resumed', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    const next = { kind: 'suspend', report: 'code changed' } as const
    await under.commit([], [turnItem(under.first, { next })])
    await under.store.send([result(under.first, 1)])

    expect((await under.claim(10, [under.first])).claims).toEqual([])
    expect(await under.tick()).toMatchObject({ claimable: false, nextDue: null })
    const id = `order-${under.first}`
    expect(await under.store.find([id, 'nobody'])).toMatchObject([
      { status: 'suspended', report: 'code changed', wakeAt: null },
      undefined,
    ])

    expect(await under.store.resume([id, 'nobody', id])).toBe(1)
    expect(await under.store.find([id])).toMatchObject([{ status: 'running', report: null }])
    expect((await under.claim()).claims).toMatchObject([{ iid: under.first, epoch: 2 }])
    expect(await inbox(under, under.first)).toHaveLength(1)
  })
})

describe('mail', () => {
  test('the first result of a command wins', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])

    await under.store.send([result(under.first, 1, 'first')])
    await under.store.send([result(under.first, 1, 'second'), result(under.first, 2, 'other')])

    const rows = await inbox(under, under.first)
    expect(rows.map(({ payload }) => payload)).toEqual(['first', 'other'])
  })

  test('for an instance that ended or never existed is dropped', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    const end = { status: 'completed', output: '' } as const
    await under.store.send([result(under.first, 1)])
    await under.commit([], [turnItem(under.first, { next: { kind: 'end', end } })])

    await under.store.send([result(under.first, 2), result(4_711, 1)])

    expect(await inbox(under, under.first)).toEqual([])
    expect(await under.tick()).toMatchObject({ mail: [], claimable: false })
  })

  test('a number of a message is never used again', async () => {
    await using under = await openStore()
    await under.commit([startItem(under.first)])
    await under.store.send([result(under.first, 1)])
    const [before] = await inbox(under, under.first)
    await under.commit([], [turnItem(under.first, { taken: [before!.id] })])

    await under.store.send([result(under.first, 2)])

    const [after] = await inbox(under, under.first)
    expect(after!.id).toBeGreaterThan(before!.id)
  })

  test('the tick reports mail for owned instances, what can be claimed, and what is due next', async () => {
    await using under = await openStore()
    const clock = (await under.tick()).clock
    const [owned, sleeping] = [under.first, under.first + 1]
    await under.commit([startItem(owned)])
    const ran = startItem(sleeping)
    const turn = { ...ran.turn, count: 2 }
    await under.store.start([{ ...ran, turn, owned: false, wakeAt: clock + 60_000 }])
    await under.store.send([result(owned, 1), result(owned, 2)])

    expect(await under.tick()).toMatchObject({
      mail: [owned],
      claimable: false,
      nextDue: clock + 60_000,
    })

    await under.store.send([result(sleeping, 1)])
    expect(await under.tick()).toMatchObject({ claimable: true })
  })
})

type Under = Awaited<ReturnType<typeof openStore>>

function result(iid: number, command: number, payload = 'value') {
  return { iid, kind: 'completed', execution: 1, command, payload } as const
}

async function inbox({ store }: Under, iid: number): Promise<readonly InboxRow[]> {
  const [loaded] = await store.load([{ iid, after: 0 }])
  return loaded!.inbox
}
