import type { Next } from '../../store/commits.ts'
import { END, message, stop } from './items.ts'
import { type Contract, idOf, postTo, result, turnItem, turnRow } from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: null }

/** Messages for instances that exist, and requests to end them. */
export function describePosts(contract: Contract): void {
  contract.describe('posts', () => {
    describeMessages(contract)
    describeStops(contract)
  })
}

function describeMessages({ test, expect, open }: Contract): void {
  test('messages are kept as they were posted, in the order of the posts', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const id = idOf(iid)

    await scene.post(message(id, 'a', { replyTo: 'address' }), message(id, 'b', { name: 'other' }))
    await scene.store.send([result(iid, 1, 'c')])
    await scene.post(message(id, 'd'))

    const row = { kind: 'message', execution: 0, command: 0, name: 'notes', replyTo: '' }
    expect(await scene.contentsOf(iid)).toEqual([
      { ...row, payload: 'a', replyTo: 'address', parked: false },
      { ...row, payload: 'b', name: 'other', parked: false },
      {
        ...row,
        kind: 'completed',
        execution: 1,
        command: 1,
        name: '',
        payload: 'c',
        parked: false,
      },
      { ...row, payload: 'd', parked: false },
    ])
    expect(new Set((await scene.inboxOf(iid)).map((one) => one.id)).size).toBe(4)
  })

  test('the answer names the instance and its owner', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const [mine, free] = await runtime.own(2)
    const theirs = await other.ownOne()
    await runtime.turns(turnItem(free!, { next: RELEASE }))

    const answers = await postTo(
      scene.store,
      [mine!, free!, theirs].map((iid) => message(idOf(iid), '1')),
    )

    expect(answers).toEqual([
      { verdict: 'sent', iid: mine, owner: runtime.runtime },
      { verdict: 'sent', iid: free, owner: null },
      { verdict: 'sent', iid: theirs, owner: other.runtime },
    ])
  })

  test('a message makes a free instance claimable, and an owner finds it by its tick', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const owned = await runtime.ownOne()
    const [waiting, quiet] = await scene.sleeping(runtime.workflows[0]!, [null, null])

    await scene.post(message(idOf(owned), '1'), message(idOf(waiting!), '1'))

    expect(await runtime.tick()).toMatchObject({ mail: [owned], claimable: true })
    expect(await runtime.claimed({ hinted: [quiet!, waiting!] })).toEqual([waiting])
  })

  test('the number of messages that wait is shown, and nothing else is counted [test_get_queue_depths]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const id = idOf(iid)
    const before = (await scene.look(iid)).mail

    await scene.post(message(id, '1'), message(id, '2', { name: 'other' }), stop(id, 'cancel'))
    await scene.store.send([result(iid, 1)])
    const during = (await scene.look(iid)).mail
    const [first] = await scene.inboxOf(iid)
    await runtime.turns(turnItem(iid, { taken: [first!.id] }))

    expect([before, during, (await scene.look(iid)).mail]).toEqual([0, 2, 1])
  })

  test('new messages do not reset the count of deaths [max_attempt_count_across_message_batch]', async () => {
    await using scene = await open()
    const first = await scene.runtime()
    const second = await scene.otherRuntime()
    const iid = await first.ownOne()
    await scene.post(message(idOf(iid), '1'))
    await scene.takeOver(first, second)
    await scene.post(message(idOf(iid), '2'))
    const third = await scene.runtime()

    const claims = await scene.takeOver(second, third)

    expect(claims).toMatchObject([{ iid, deaths: 2 }])
    expect(await scene.waitingFor(iid)).toEqual(['message: 1', 'message: 2'])
  })

  test('a post touches nothing but the inbox', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const wakeAt = (await scene.clock()) + 60_000
    const iids = [
      await runtime.ownOne(),
      ...(await scene.sleeping(runtime.workflows[0]!, [wakeAt])),
    ]
    const before = await scene.state(iids, [runtime])

    await scene.post(...iids.map((iid) => message(idOf(iid), '1')))

    const after = await scene.state(iids, [runtime])
    expect(after.rows).toEqual(before.rows.map((row) => ({ ...row, mail: 1 })))
    expect(after.owned).toEqual(before.owned)
    expect(after.counts).toEqual(before.counts.map((counts) => ({ ...counts, inbox: 1 })))
  })
}

function describeStops({ test, expect, open }: Contract): void {
  test('requests to end wait like messages, with their reason', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [iid] = await scene.sleeping(runtime.workflows[0]!, [null])

    const verdicts = await scene.post(
      stop(idOf(iid!), 'cancel', '"no need"'),
      stop(idOf(iid!), 'terminate', '"at once"'),
    )

    expect(verdicts).toEqual(['sent', 'sent'])
    expect(await scene.inboxOf(iid!)).toMatchObject([
      { kind: 'cancel', name: '', execution: 0, command: 0, payload: '"no need"', parked: false },
      { kind: 'terminate', name: '', payload: '"at once"', parked: false },
    ])
    expect(await runtime.claimed()).toEqual([iid])
  })

  test('a request that already waits is not repeated; one that was taken is', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const cancel = stop(idOf(iid), 'cancel')

    const first = await scene.post(cancel, cancel, stop(idOf(iid), 'terminate'))
    const second = await scene.post({ ...cancel, payload: '"again"' })
    const taken = (await scene.inboxOf(iid)).map((row) => row.id)
    await runtime.turns(turnItem(iid, { taken }))
    const third = await scene.post({ ...cancel, payload: '"later"' })

    expect([first, second, third]).toEqual([['sent', 'duplicate', 'sent'], ['duplicate'], ['sent']])
    expect(await scene.waitingFor(iid)).toEqual(['cancel: "later"'])
  })

  test('an instance that never existed cannot be asked to end', async () => {
    await using scene = await open()

    const answers = await postTo(scene.store, [
      stop('nobody', 'cancel'),
      stop('nobody', 'terminate'),
    ])

    const unknown = { verdict: 'unknown', iid: 0, owner: null }
    expect(answers).toEqual([unknown, unknown])
    expect(await scene.store.find(['nobody'])).toEqual([undefined])
  })

  test('an ended instance takes nothing', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { turn: turnRow(2), next: END }))
    const before = await scene.state([iid], [runtime])

    const verdicts = await scene.post(
      message(idOf(iid), '1', { dedupeKey: 'k' }),
      stop(idOf(iid), 'cancel'),
      stop(idOf(iid), 'terminate'),
    )

    expect(verdicts).toEqual(['ended', 'ended', 'ended'])
    expect(await scene.state([iid], [runtime])).toEqual(before)
  })

  test('posts of one call are judged one by one', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [running, ended] = await runtime.own(2)
    await runtime.turns(turnItem(ended!, { turn: turnRow(2), next: END }))

    const verdicts = await scene.post(
      message(idOf(ended!), '1'),
      stop('nobody', 'cancel'),
      message(idOf(running!), '2', { dedupeKey: 'k' }),
      message(idOf(running!), '3', { dedupeKey: 'k' }),
      message(idOf(running!), '4', { capacity: 1 }),
      message(idOf(running!), '5'),
    )

    expect(verdicts).toEqual(['ended', 'unknown', 'sent', 'duplicate', 'full', 'sent'])
    expect(await scene.waitingFor(running!)).toEqual(['message: 2', 'message: 5'])
    expect(await scene.store.post([])).toEqual([])
  })
}
