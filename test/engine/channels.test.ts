import { expect, test } from 'vitest'
import {
  channel,
  ChannelFullError,
  failure,
  message,
  request,
  TimeoutError,
  workflow,
  WorkflowError,
} from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const other = channel<string>('other')
const small = channel<number>('small', { capacity: 2 })
const square = request<number, number>('square')
const Refused = failure<{ input: number }>('RefusedInChannelsTest')

const takes = (count: number, name = `takes-${count}`) =>
  workflow(name, async (_: undefined, ctx) => {
    const got: string[] = []
    for (let i = 0; i < count; i++) got.push(await ctx.receive(word))
    return got
  })

describeOnStores('channels', (kind) => {
  test('messages come in the order they were sent, even before a receive', async () => {
    await using space = await openSpace(kind)
    const three = takes(3)
    const runtime = await space.open(three)
    const instance = await runtime.start(three)

    await instance.send(word, 'a')
    await instance.send(word, 'b')
    void instance.send(word, 'c')

    expect(await instance.result()).toEqual(['a', 'b', 'c'])
  })

  test('messages for an instance that does not exist yet wait for its start', async () => {
    await using space = await openSpace(kind)
    const two = takes(2)
    const runtime = await space.open(two)

    await runtime.get('later').send(word, 'early')
    expect(await runtime.get('later').info()).toBeUndefined()
    const instance = await runtime.start(two, undefined, {
      id: 'later',
      send: message(word, 'with'),
    })

    expect((await instance.result()).toSorted()).toEqual(['early', 'with'])
  })

  test('a message that is not received is kept over turns, restarts and executions', async () => {
    await using space = await openSpace(kind)
    const patient = workflow('patient', async (round: number, ctx) => {
      if (round === 0) await ctx.receive(other)
      if (round < 2) return ctx.continueAsNew(round + 1)
      return ctx.receive(word)
    })
    const first = await space.open(patient)
    const instance = await first.start(patient, 0, { id: 'p' })
    await instance.send(word, 'kept')
    // It has been looked at, and put aside.
    await eventually(async () => (await first.get('p').info())?.waitingFor.length === 1)
    await first.close()

    const second = await space.open(patient)
    await second.get('p').send(other, 'go on')

    expect(await second.get(patient, 'p').result()).toBe('kept')
  })

  test('channels of one instance do not mix; each message is received once', async () => {
    await using space = await openSpace(kind)
    const both = workflow('both', async (_: undefined, ctx) => {
      const words = [ctx.receive(word), ctx.receive(other), ctx.receive(word)]
      return Promise.all(words)
    })
    const runtime = await space.open(both)
    const instance = await runtime.start(both)

    await instance.send(other, 'o')
    await instance.send(word, 'w1')
    await instance.send(word, 'w2')

    expect(await instance.result()).toEqual(['w1', 'o', 'w2'])
  })

  test('a receive that was cancelled, or timed out, takes no message', async () => {
    await using space = await openSpace(kind)
    const picky = workflow('picky', async (_: undefined, ctx) => {
      const never = ctx.receive(word)
      never.cancel('not wanted')
      const late = await ctx.receive(word, { timeout: 10 })
      const raced = await ctx.race({ word: ctx.receive(word), time: ctx.sleep(10) })
      const ready = ctx.receive(other)
      return [await never.catch(String), late, raced.key, await ready, await ctx.receive(word)]
    })
    const runtime = await space.open(picky)
    const instance = await runtime.start(picky)
    await eventually(async () =>
      (await instance.info())?.waitingFor.some((text) => text.includes('"other"')),
    )

    await instance.send(word, 'first')
    await instance.send(other, 'go')

    expect(await instance.result()).toEqual([
      'CancelledError: cancelled: not wanted',
      undefined,
      'time',
      'go',
      'first',
    ])
  })

  test('a full channel rejects the send, and loses nothing', async () => {
    await using space = await openSpace(kind)
    const slow = workflow('slow', async (_: undefined, ctx) => {
      await ctx.receive(word)
      return [await ctx.receive(small), await ctx.receive(small), await ctx.receive(small)]
    })
    const runtime = await space.open(slow)
    const instance = await runtime.start(slow)
    await instance.send(small, 1)
    await instance.send(small, 2)

    const refused = await instance.send(small, 3).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ChannelFullError)
    expect(refused).toMatchObject({ channel: 'small', capacity: 2, instanceId: instance.id })

    await instance.send(word, 'go')
    await eventually(() =>
      instance.send(small, 4).then(
        () => true,
        () => false,
      ),
    )
    expect(await instance.result()).toEqual([1, 2, 4])
  })

  test('a message sent again under one key arrives once, even when it was received', async () => {
    await using space = await openSpace(kind)
    const two = takes(2)
    const runtime = await space.open(two)
    const instance = await runtime.start(two)

    await instance.send(word, 'a', { dedupeKey: 'k' })
    await eventually(async () => (await eventCount(instance.history())) >= 4)
    await instance.send(word, 'a again', { dedupeKey: 'k' })
    await instance.send(word, 'b', { dedupeKey: 'l' })

    expect(await instance.result()).toEqual(['a', 'b'])
  })

  test('a send to an instance that has ended is rejected', async () => {
    await using space = await openSpace(kind)
    const none = takes(0)
    const runtime = await space.open(none)
    const instance = await runtime.start(none, undefined, { id: 'over' })
    await instance.result()

    await expect(instance.send(word, 'late')).rejects.toThrow(
      'instance "over" has ended (completed)',
    )
  })

  test('messages between workflows arrive once, awaited or not', async () => {
    await using space = await openSpace(kind)
    const three = takes(3, 'receiver')
    const sender = workflow('sender', async (to: string, ctx) => {
      const remote = ctx.get(to)
      await remote.send(word, 'one')
      void remote.send(word, 'two')
      void remote.send(word, 'three')
      return 'sent'
    })
    const runtime = await space.open([three, sender])
    const receiver = await runtime.start(three, undefined, { id: 'r' })

    expect(await runtime.run(sender, 'r')).toBe('sent')

    expect((await receiver.result()).toSorted()).toEqual(['one', 'three', 'two'])
  })

  test('a hundred senders: nothing is lost, nothing comes twice', async () => {
    await using space = await openSpace(kind)
    const hundred = takes(100)
    // The client's process sends no hints: the tick finds what came from there.
    const runtime = await space.open(hundred, { lease: '1s' })
    const client = space.connect()
    const instance = await runtime.start(hundred, undefined, { id: 'h' })

    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 === 0 ? client.get('h') : instance).send(word, String(i)),
      ),
    )

    const got = await instance.result()
    expect(got.map(Number).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    )
  }, 30_000)
})

describeOnStores('requests', (kind) => {
  const answers = workflow('answers', async (count: number, ctx) => {
    for (let i = 0; i < count; i++) {
      const asked = await ctx.receive(square)
      if (asked.input < 0) asked.reject(new Refused('negative', { input: asked.input }))
      else asked.reply(asked.input ** 2)
    }
    return 'done'
  })

  test('the sender gets the reply, or the error it was rejected with', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(answers, { lease: '1s' })
    const instance = await runtime.start(answers, 3)

    expect(await instance.request(square, 7)).toBe(49)
    const refused = await instance.request(square, -1).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Refused)
    expect(refused).toMatchObject({ details: { input: -1 } })
    expect(await space.connect().get(instance.id).request(square, 3)).toBe(9)
    expect(await instance.result()).toBe('done')
  }, 30_000)

  test('a request sent again under its key gets the answer of the first', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(answers)
    const instance = await runtime.start(answers, 2)

    const first = await instance.request(square, 4, { dedupeKey: 'k' })
    const again = await instance.request(square, 5, { dedupeKey: 'k' })

    expect([first, again]).toEqual([16, 16])
    expect((await instance.info())?.status).toBe('running')
  })

  test('a request that is not answered in time, or never, rejects for the sender', async () => {
    await using space = await openSpace(kind)
    const deaf = workflow('deaf', async (_: undefined, ctx) => {
      await ctx.receive(word)
      return 'over'
    })
    const runtime = await space.open(deaf)
    const instance = await runtime.start(deaf)

    await expect(instance.request(square, 1, { timeout: 30 })).rejects.toThrow(TimeoutError)
    const asking = instance.request(square, 2).catch((error: unknown) => error)
    await instance.send(word, 'end')

    expect(await asking).toBeInstanceOf(WorkflowError)
  })
})

async function eventCount(events: AsyncIterable<unknown>): Promise<number> {
  let found = 0
  for await (const _ of events) found++
  return found
}
