import { early, message, stop } from './items.ts'
import { type Contract } from './scene.ts'

/** Messages that come before the start, or with it. */
export function describeEarlyMessages(contract: Contract): void {
  contract.describe('early messages', () => {
    describeAbsence(contract)
    describeWithStart(contract)
  })
}

function describeAbsence({ test, expect, open }: Contract): void {
  test('a message for an instance that does not exist is kept under the number it came with', async () => {
    await using scene = await open()
    const iid = await scene.store.reserve(1)

    const answers = await scene.store.post([message('early', '1', { iid })])

    expect(answers).toEqual([{ verdict: 'sent', iid, owner: null }])
    const [row] = await scene.store.find(['early'])
    expect(row).toMatchObject({
      iid,
      id: 'early',
      status: 'unstarted',
      workflow: { name: '', version: '' },
      wakeAt: null,
      finishedAt: null,
      output: null,
      parent: null,
      mail: 1,
    })
    expect(await scene.store.look([iid])).toEqual([row])
    expect(await scene.under.rows(iid)).toMatchObject({
      instances: 1,
      runs: 0,
      history: 0,
      inbox: 1,
    })
  })

  test('later messages for it, even in the same call, join the first', async () => {
    await using scene = await open()
    const first = await scene.store.reserve(3)

    const answers = [
      ...(await scene.store.post([
        message('early', '1', { iid: first, dedupeKey: 'k' }),
        message('early', '2', { iid: first + 1, dedupeKey: 'k' }),
        message('early', '3', { iid: first + 1, capacity: 2 }),
      ])),
      ...(await scene.store.post([
        message('early', '4', { iid: first + 2, capacity: 2 }),
        message('early', '5', { iid: first + 2 }),
      ])),
    ]

    const verdicts = answers.map(({ verdict }) => verdict)
    expect(verdicts).toEqual(['sent', 'duplicate', 'sent', 'full', 'sent'])
    expect(answers.map(({ iid }) => iid)).toEqual(answers.map(() => first))
    expect(await scene.store.look([first + 1, first + 2])).toEqual([undefined, undefined])
    expect(await scene.under.rows(first)).toMatchObject({ inbox: 3, posted: 1 })
  })

  test('it cannot be claimed, ended, suspended or resumed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await early(scene, 'early')
    const before = await scene.store.look([iid])

    expect(await runtime.tick()).toMatchObject({ claimable: false, nextDue: null, mail: [] })
    expect(await runtime.claimed({ hinted: [iid] })).toEqual([])
    expect(await scene.post(stop('early', 'cancel'), stop('early', 'terminate'))).toEqual([
      'unknown',
      'unknown',
    ])
    const termination = { id: 'early', output: '"x"', events: 'terminated' }
    expect((await scene.store.terminate([termination])).ended).toEqual([false])
    expect(await scene.store.suspend(['early'], '"why"')).toEqual([false])
    expect(await scene.store.resume(['early'])).toBe(0)
    expect(await scene.store.look([iid])).toEqual(before)
  })
}

function describeWithStart({ test, expect, open }: Contract): void {
  test('messages that come with a start wait for it, in their order, once', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [owned, free] = await runtime.reserve(2)
    const messages = [
      { name: 'notes', payload: '1' },
      { name: 'other', payload: '2' },
    ]
    const items = [
      runtime.startItem(owned!, { messages }),
      runtime.startItem(free!, { messages, owned: false }),
    ]

    await runtime.starts(...items)
    await runtime.starts(...items)

    expect(await scene.inboxOf(owned!)).toMatchObject([
      { kind: 'message', name: 'notes', payload: '1', parked: false },
      { kind: 'message', name: 'other', payload: '2', parked: false },
    ])
    expect(await runtime.tick()).toMatchObject({ mail: [owned], claimable: true })
    expect(await runtime.claimed()).toEqual([free])
    expect(await scene.waitingFor(free!)).toEqual(['message: 1', 'message: 2'])
  })

  test('messages of a start whose id is taken are dropped', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [first, second] = await runtime.reserve(2)
    await runtime.starts(runtime.startItem(first!, { id: 'same' }))

    const messages = [{ name: 'notes', payload: '1' }]
    const verdicts = await runtime.starts(runtime.startItem(second!, { id: 'same', messages }))

    expect(verdicts).toEqual(['exists'])
    expect(await scene.inboxOf(first!)).toEqual([])
    expect(await scene.under.rows(second!)).toMatchObject({ instances: 0, inbox: 0 })
  })
}
