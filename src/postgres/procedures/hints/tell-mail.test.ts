import { describe, expect, test } from 'vitest'

import { allReceived, owned, scenesInOneSchema, unowned } from '../../../../test/notifier/scene.ts'
import type { Post } from '../../../store/inbox.ts'

// Messages of a client with a notification right behind them, before they are answered.

const openScene = scenesInOneSchema()

describe('a message with its own notification', () => {
  test('notifies the owner once, and no other listener', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    const answers = await store.post([message(iid)], { notify: true })
    await allReceived(store, a, b)

    expect(answers).toEqual([{ verdict: 'sent', iid, owner: a.runtime, isNotified: true }])
    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at: 0 }])
    expect(b.hints).toEqual([])
  })

  test('notifies no listener unless it is asked to', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    const answers = await store.post([message(iid)])
    await allReceived(store, a)

    expect(answers).toEqual([{ verdict: 'sent', iid, owner: a.runtime }])
    expect(a.hints).toEqual([])
  })

  test('notifies a runtime that has the workflow if there is no owner', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const [iid] = (await unowned(store, a, 1)) as [number]

    await store.post([message(iid)], { notify: true })
    await allReceived(store, a)

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at: 0 }])
  })

  test('notifies each owner of its own when there are several', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const [first, second] = [await owned(store, a), await owned(store, b)]

    await store.post([message(first), message(second), message(first)], { notify: true })
    await allReceived(store, a, b)

    expect(a.hints).toEqual([{ kind: 'work', iids: [first], at: 0 }])
    expect(b.hints).toEqual([{ kind: 'work', iids: [second], at: 0 }])
  })

  test('notifies no listener when it is refused, or is an early message', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    const early = await store.reserve(1)

    await store.post([message(iid, { capacity: 0 })], { notify: true })
    await store.post([message(early)], { notify: true })
    await allReceived(store, a)

    expect(a.hints).toEqual([])
  })

  test('is announced in the usual way when the other notification fails', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    await scene.database.query('alter function tell_mail rename to hidden')

    await store.post([message(iid)], { notify: true })
    await allReceived(store, a)
    await scene.database.query('alter function hidden rename to tell_mail')

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at: 0 }])
  })
})

describe('one plain message', () => {
  test('goes into a channel with room, and is refused by one without', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    const post = async (): Promise<unknown> =>
      (await store.post([message(iid, { capacity: 2 })]))[0]!.verdict

    expect([await post(), await post(), await post()]).toEqual(['sent', 'sent', 'full'])
  })

  test('counts what was sent together with others', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    await store.post([message(iid), message(iid, { name: 'other' })])

    const [one] = await store.post([message(iid, { capacity: 1 })])
    const [other] = await store.post([message(iid, { name: 'third', capacity: 1 })])

    expect([one!.verdict, other!.verdict]).toEqual(['full', 'sent'])
  })

  test('is kept as it was sent', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    await store.post([message(iid, { payload: 'hello', replyTo: 'me' })])
    await store.post([message(iid, { payload: '' })])
    const [loaded] = await store.load([{ iid, after: 0 }])

    expect(loaded!.inbox).toMatchObject([
      { kind: 'message', name: 'notes', payload: 'hello', replyTo: 'me', parked: false },
      { kind: 'message', name: 'notes', payload: '', replyTo: '', parked: false },
    ])
  })

  test('is refused when it holds what separates texts, alone as among others', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    const odd = message(iid, { payload: 'a\u0001b' })

    await expect(store.post([odd])).rejects.toMatchObject({ code: 'rejected' })
    await expect(store.post([odd, message(iid)])).rejects.toMatchObject({ code: 'rejected' })
  })

  test('comes too late for an instance that has ended', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    await store.terminate([{ id: `order-${iid}`, output: '', events: 'x' }])

    const [answer] = await store.post([message(iid)])

    expect(answer!.verdict).toBe('ended')
  })
})

function message(iid: number, more: Partial<Post> = {}): Post {
  return {
    id: `order-${iid}`,
    kind: 'message',
    name: 'notes',
    payload: 'x',
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid,
    ...more,
  }
}
