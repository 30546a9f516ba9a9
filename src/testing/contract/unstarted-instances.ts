import { MAX_UNSTARTED_MESSAGES, UNSTARTED_KEPT_MS } from '../../store/constants.ts'
import { early, END, message } from './items.ts'
import { alive, type Contract, idOf, postTo, turnItem, turnRow } from './scene.ts'

const NOTHING = { instances: 0, runs: 0, history: 0, inbox: 0, posted: 0, state: 0 }
const NONE = { late: 0, early: 0 }

/** Messages whose instance is never started, or has ended: how long they are kept, and how many. */
export function describeUnstartedInstances(contract: Contract): void {
  contract.describe('unstarted instances', () => {
    describeExpiry(contract)
    describeRebirth(contract)
    describeLimit(contract)
    describeEnds(contract)
  })
}

function describeExpiry({ test, expect, open }: Contract): void {
  test('messages for an instance that is never started are removed a week after the newest', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [{ iid } = { iid: 0 }] = await postTo(scene.store, [
      message('early', '1', { dedupeKey: 'k' }),
    ])
    await scene.under.advance(UNSTARTED_KEPT_MS - 60_000)
    await scene.post(message('early', '2', { name: 'other' }))

    await scene.under.advance(UNSTARTED_KEPT_MS - 60_000)
    const before = alive(await runtime.tick()).undelivered
    const kept = await scene.look(iid)
    await scene.under.advance(120_000)
    const after = alive(await runtime.tick()).undelivered

    expect([before, after]).toEqual([NONE, { late: 0, early: 2 }])
    expect(kept).toMatchObject({ status: 'unstarted', mail: 2 })
    expect(await scene.under.rows(iid)).toEqual(NOTHING)
    expect(await scene.store.find(['early'])).toEqual([undefined])
    expect(alive(await runtime.tick()).undelivered).toEqual(NONE)
  })

  test('others are left alone', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const owned = await runtime.ownOne()
    await scene.post(message(idOf(owned), '1'))
    const old = await early(scene, 'old')
    await scene.under.advance(UNSTARTED_KEPT_MS - 60_000)
    const young = await early(scene, 'young')
    await scene.under.advance(120_000)

    const { undelivered, mail } = alive(await runtime.tick())

    expect([undelivered, mail]).toEqual([{ late: 0, early: 1 }, [owned]])
    expect(await scene.store.look([old])).toEqual([undefined])
    expect(await scene.look(young)).toMatchObject({ status: 'unstarted', mail: 1 })
    expect(await scene.waitingFor(owned)).toEqual(['message: 1'])
  })

  test('one that is started in time keeps its messages, however long it takes', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await early(scene, 'early', ['1', '2'])
    await scene.under.advance(UNSTARTED_KEPT_MS - 60_000)
    await scene.store.start([runtime.startItem(iid, { id: 'early', owned: false })])

    const ticks = []
    for (let week = 1; week <= 3; week++) {
      await scene.under.advance(UNSTARTED_KEPT_MS)
      ticks.push(alive(await runtime.tick()).undelivered)
    }

    expect(ticks).toEqual([NONE, NONE, NONE])
    expect(await scene.waitingFor(iid)).toEqual(['message: 1', 'message: 2'])
  })
}

function describeRebirth({ test, expect, open }: Contract): void {
  test('a message that comes later is the first again, and its key is free', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [old, anew] = await runtime.reserve(2)
    await scene.store.post([message('early', '1', { iid: old!, dedupeKey: 'k' })])
    await scene.under.advance(UNSTARTED_KEPT_MS + 60_000)
    await runtime.tick()

    const answers = await scene.store.post([message('early', '2', { iid: anew!, dedupeKey: 'k' })])

    expect(answers).toEqual([{ verdict: 'sent', iid: anew, owner: null }])
    expect(await scene.look(anew!)).toMatchObject({ status: 'unstarted', mail: 1 })
  })

  test('a start proceeds, even under the number that messages waited under', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [first, second] = [await early(scene, 'first'), await early(scene, 'second')]
    await scene.under.advance(UNSTARTED_KEPT_MS + 60_000)
    await runtime.tick()
    const other = await scene.store.reserve(1)

    const verdicts = await scene.store.start([
      runtime.startItem(first, { id: 'first', owned: false }),
      runtime.startItem(other, { id: 'second', owned: false }),
    ])

    expect(verdicts).toEqual(['done', 'done'])
    expect(await scene.store.look([first, second, other])).toMatchObject([
      { id: 'first', status: 'scheduled', mail: 0 },
      undefined,
      { id: 'second', status: 'scheduled', mail: 0 },
    ] as object)
    await scene.under.advance(UNSTARTED_KEPT_MS + 60_000)
    await runtime.tick()
    expect(await scene.look(first)).toMatchObject({ status: 'scheduled' })
  })
}

function describeLimit({ test, expect, open }: Contract): void {
  test('no more than so many messages wait for a start, in all channels together', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await early(scene, 'early')
    const names = ['notes', 'other']
    const many = Array.from({ length: MAX_UNSTARTED_MESSAGES - 2 }, (_, i) =>
      message('early', '1', { name: names[i % 2]! }),
    )
    await scene.post(...many)

    const last = await scene.post(
      message('early', 'last', { capacity: 10_000 }),
      message('early', 'more', { dedupeKey: 'k' }),
      message('early', 'more', { dedupeKey: 'k' }),
    )
    const later = await scene.post(message('early', 'more', { name: 'third', capacity: 5 }))
    const elsewhere = await scene.post(message('another', '1'))
    await scene.store.start([runtime.startItem(iid, { id: 'early', owned: false })])
    const started = await scene.post(message('early', 'more', { dedupeKey: 'k' }))

    expect([last, later]).toEqual([['sent', 'full', 'full'], ['full']])
    expect([elsewhere, started]).toEqual([['sent'], ['sent']])
    expect(await scene.look(iid)).toMatchObject({ mail: MAX_UNSTARTED_MESSAGES + 1 })
    expect(await scene.under.rows(iid)).toMatchObject({ posted: 1 })
  })
}

function describeEnds({ test, expect, open }: Contract): void {
  test('messages that wait when an instance ends are removed with it, and not counted', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [ended, terminated] = await runtime.own(2)
    await scene.post(message(idOf(ended!), '1'), message(idOf(terminated!), '1'))

    await runtime.turns(turnItem(ended!, { turn: turnRow(2), next: END }))
    await scene.store.terminate([{ id: idOf(terminated!), output: '""', events: 'terminated' }])

    expect(alive(await runtime.tick()).undelivered).toEqual(NONE)
    for (const iid of [ended!, terminated!]) {
      expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, inbox: 0 })
    }
  })
}
