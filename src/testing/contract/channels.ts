import { continuing, effects, END, message } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'

/** What a channel rejects: duplicates, and more than it may have. */
export function describeChannels(contract: Contract): void {
  contract.describe('channels', () => {
    describeKeys(contract)
    describeCapacity(contract)
  })
}

function describeKeys({ test, expect, open }: Contract): void {
  test('a message that is sent again with its key is dropped, even when the first was taken', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = message(idOf(iid), '1', { dedupeKey: 'k' })

    const first = await scene.post(post, { ...post, payload: '2' })
    const [row] = await scene.inboxOf(iid)
    await runtime.turns(turnItem(iid, { taken: [row!.id] }))
    const second = await scene.post(post, { ...post, name: 'other' })

    expect([first, second]).toEqual([
      ['sent', 'duplicate'],
      ['duplicate', 'duplicate'],
    ])
    expect([row!.payload, await scene.inboxOf(iid)]).toEqual(['1', []])
  })

  test('another key is another message, and so is the same key for another instance', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)

    const verdicts = await scene.post(
      message(idOf(a!), '1', { dedupeKey: 'k' }),
      message(idOf(a!), '2', { dedupeKey: 'K' }),
      message(idOf(b!), '3', { dedupeKey: 'k' }),
    )

    expect(verdicts).toEqual(['sent', 'sent', 'sent'])
    expect(await scene.waitingFor(b!)).toEqual(['message: 3'])
  })

  test('messages without a key are never the same', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    await scene.post(message(idOf(iid), '1'), message(idOf(iid), '1'))
    await scene.post(message(idOf(iid), '1'))

    expect((await scene.inboxOf(iid)).length).toBe(3)
    expect(await scene.under.rows(iid)).toMatchObject({ posted: 0 })
  })

  test('keys are remembered over executions, and after the end', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = message(idOf(iid), '1', { dedupeKey: 'k' })
    await scene.post(post)

    await runtime.turns(
      turnItem(iid, { turn: turnRow(2), next: continuing(runtime.workflows[0]!) }),
    )
    const later = await scene.post(post)
    await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution: 2 }), next: END }))

    const another = message(idOf(iid), '1', { dedupeKey: 'another' })
    expect([later, await scene.post(post, another)]).toEqual([
      ['duplicate'],
      ['duplicate', 'ended'],
    ])
    expect(await scene.under.rows(iid)).toMatchObject({ inbox: 0, posted: 1 })
  })

  test('keys are forgotten when their instance is removed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = message(idOf(iid), '1', { dedupeKey: 'k' })
    await scene.post(post)
    await runtime.turns(turnItem(iid, { next: END }))

    await scene.store.remove([idOf(iid)])

    expect(await scene.under.rows(iid)).toMatchObject({ posted: 0 })
    expect(await scene.post(post)).toEqual(['sent'])
  })
}

function describeCapacity({ test, expect, open }: Contract): void {
  test('a channel takes as many messages as its capacity, and no more', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = (payload: string, capacity: number | null) =>
      message(idOf(iid), payload, { capacity })

    const first = await scene.post(post('1', 2), post('2', 2), post('3', 2))
    const second = await scene.post(post('4', 2), post('5', 3), post('6', null), post('7', 0))

    expect(first).toEqual(['sent', 'sent', 'full'])
    expect(second).toEqual(['full', 'sent', 'sent', 'full'])
    expect(await scene.waitingFor(iid)).toEqual(
      ['1', '2', '5', '6'].map((payload) => `message: ${payload}`),
    )
  })

  test('each channel of each instance is counted by itself', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)
    const post = message(idOf(a!), '1', { name: 'x', capacity: 1 })
    await scene.post(post)

    const verdicts = await scene.post(post, { ...post, name: 'y' }, { ...post, id: idOf(b!) })

    expect(verdicts).toEqual(['full', 'sent', 'sent'])
  })

  test('a parked message counts towards the capacity, a taken one does not', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = message(idOf(iid), '1', { capacity: 1 })
    await scene.post(post)
    const ids = (await scene.inboxOf(iid)).map((row) => row.id)

    await runtime.turns(turnItem(iid, { effects: effects({ parked: ids }) }))
    const parked = await scene.post(post)
    await runtime.turns(turnItem(iid, { taken: ids }))
    const taken = await scene.post(post)

    expect([parked, taken]).toEqual([['full'], ['sent']])
  })

  test('a message that was refused by a full channel may be sent again with its key', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const post = message(idOf(iid), 'second', { capacity: 1, dedupeKey: 'k' })
    await scene.post(message(idOf(iid), 'first'))

    const refused = await scene.post(post)
    const { posted } = await scene.under.rows(iid)
    await runtime.turns(turnItem(iid, { taken: (await scene.inboxOf(iid)).map((row) => row.id) }))
    const again = await scene.post(post, post)

    expect([refused, posted, again]).toEqual([['full'], 0, ['sent', 'duplicate']])
    expect(await scene.waitingFor(iid)).toEqual(['message: second'])
  })
}
