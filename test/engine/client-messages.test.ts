import { expect, test } from 'vitest'

import {
  CancelledError,
  channel,
  failure,
  request,
  workflow,
  WorkflowError,
} from '../../src/index.ts'
import { ChannelFullError } from '../../src/engine/core/errors.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const numbers = channel<number>('numbers')
const narrow = channel<number>('narrow', { capacity: 2 })
const add = request<number, number>('add')
const TooMuch = failure<{ most: number }>('TooMuch')

/** Takes its time with odd numbers, and refuses 13. */
const picky = channel<number>('picky', {
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate(value) {
        for (let i = 0; i < (Number(value) % 2) * 50; i++) await Promise.resolve()
        return value === 13 ? { issues: [{ message: 'unlucky' }] } : { value }
      },
    },
  },
})

const collect = workflow('collect', async (count: number, ctx) => {
  const seen: number[] = []
  while (seen.length < count) seen.push(await ctx.receive(picky))
  return seen
})
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(numbers))
const quick = workflow('quick', async () => 'done')

/** Adds up what it is sent; ends at 0, without an answer. */
const adder = workflow('adder', async (limit: number, ctx) => {
  let sum = 0
  while (true) {
    const asked = await ctx.receive(add)
    if (asked.input === 0) return sum
    sum += asked.input
    if (sum > limit) asked.reject(new TooMuch('too much', { most: limit }))
    else asked.reply(sum)
  }
})

describeOnStores('messages', (kind) => {
  test('messages arrive in the order they were sent in, however long each took to check', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(collect)
    const handle = await holdfast.start(collect, 40)
    const sent = Array.from({ length: 40 }, (_, i) => i + 20)

    await Promise.all(sent.map((n) => holdfast.get(handle.id).send(picky, n)))

    expect(await handle.result()).toEqual(sent)
  })

  test('a message that its channel refuses is not sent, and does not hold up others', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(collect)
    const handle = await holdfast.start(collect, 3)

    const sends = await Promise.allSettled([11, 13, 14, 15].map((n) => handle.send(picky, n)))

    expect(sends[1]).toMatchObject({
      status: 'rejected',
      reason: { message: 'channel "picky": the message is not valid: $: unlucky' },
    })
    expect(await handle.result()).toEqual([11, 14, 15])
  })

  test('a message sent again under its key arrives once', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(collect)
    const handle = await holdfast.start(collect, 2)

    await handle.send(picky, 2, { dedupeKey: 'a' })
    await handle.send(picky, 2, { dedupeKey: 'a' })
    await space.connect().get(handle.id).send(picky, 2, { dedupeKey: 'a' })
    await handle.send(picky, 4, { dedupeKey: 'b' })

    expect(await handle.result()).toEqual([2, 4])
  })

  test('a full channel refuses, and takes more when there is room', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const handle = client.get('x')
    await handle.send(narrow, 1)
    await handle.send(narrow, 2)

    const refused = await handle.send(narrow, 3).catch((error: unknown) => error)

    expect(refused).toBeInstanceOf(ChannelFullError)
    expect(refused).toMatchObject({
      message: 'send: channel "narrow" of instance "x" is full: 2 messages are waiting',
      channel: 'narrow',
      capacity: 2,
      instanceId: 'x',
    })
    const drain = workflow('drain', async (_: undefined, ctx) => [
      await ctx.receive(narrow),
      await ctx.receive(narrow),
      await ctx.receive(narrow),
    ])
    const holdfast = await space.open(drain)
    const started = await holdfast.start(drain, undefined, { id: 'x' })
    await eventually(() =>
      started.send(narrow, 3).then(
        () => true,
        () => false,
      ),
    )
    expect(await started.result()).toEqual([1, 2, 3])
  })

  test('an instance that has ended takes no message, and says how it ended', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    await holdfast.run(quick, undefined, { id: 'x' })

    const late = holdfast.get('x').send(numbers, 1)

    await expect(late).rejects.toThrow('send: instance "x" has ended (completed)')
  })

  test('invalid channels, messages and options are refused', async () => {
    await using space = await openSpace(kind)
    const handle = space.connect().get('x')

    await expect(handle.send(add as never, 1)).rejects.toThrow(
      'send: needs a channel made by channel(), got request "add"',
    )
    await expect(handle.send(numbers, (() => 1) as never)).rejects.toThrow(
      'channel "numbers": the message: cannot store a function at $',
    )
    await expect(handle.send(numbers, 1, { dedupekey: 'a' } as object)).rejects.toThrow(
      'send: unknown option "dedupekey", did you mean "dedupeKey"?',
    )
  })
})

describeOnStores('requests', (kind) => {
  test('each request gets its own answer', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(adder)
    const handle = await holdfast.start(adder, 100)

    const answers = [await handle.request(add, 1), await handle.request(add, 2)]

    expect(answers).toEqual([1, 3])
  })

  test('a request may come before the start, from a client', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()

    const answer = client.get('x').request(add, 5)
    const holdfast = await space.open(adder)
    await eventually(async () => (await holdfast.start(adder, 100, { id: 'x' })).info())

    expect(await answer).toBe(5)
  })

  test('a request that is refused rejects with that error', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(adder)
    const handle = await holdfast.start(adder, 10)

    const refused = await handle.request(add, 11).catch((error: unknown) => error)

    expect(refused).toBeInstanceOf(TooMuch)
    expect(refused).toMatchObject({ details: { most: 10 } })
  })

  test('a request sent again under its key gets the same answer, even after the end', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(adder)
    const handle = await holdfast.start(adder, 100)

    const first = await handle.request(add, 7, { dedupeKey: 'seven' })
    const second = await space.connect().get(handle.id).request(add, 7, { dedupeKey: 'seven' })
    const other = await handle.request(add, 7, { dedupeKey: 'seven again' })
    await expect(handle.request(add, 0)).rejects.toBeInstanceOf(WorkflowError)
    const late = await handle.request(add, 7, { dedupeKey: 'seven' })

    expect([first, second, other, late]).toEqual([7, 7, 14, 7])
    expect(await handle.result()).toBe(14)
  })

  test('an id that is used again does not answer with an old reply', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(adder)
    const first = await holdfast.start(adder, 100, { id: 'x' })
    await first.request(add, 7, { dedupeKey: 'key' })

    const second = await holdfast.start(adder, 100, { id: 'x', onConflict: 'restart' })

    expect(await second.request(add, 5, { dedupeKey: 'key' })).toBe(5)
  })

  test('an instance that ends without answering is an error', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([adder, quick])
    const handle = await holdfast.start(adder, 100, { id: 'x' })

    const unanswered = await handle.request(add, 0).catch((error: unknown) => error)
    const late = handle.request(add, 1)

    expect(unanswered).toBeInstanceOf(WorkflowError)
    expect(unanswered).toMatchObject({
      message: 'request: instance "x" ended (completed) without replying to "add"',
      instanceId: 'x',
      workflow: 'adder',
    })
    await expect(late).rejects.toThrow('request: instance "x" has ended (completed)')
  })

  test('a request waits no longer than its timeout', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const stop = new AbortController()
    const reason = new CancelledError('enough')

    const timed = client.get('x').request(add, 1, { timeout: 30 })
    const stopped = client.get('x').request(add, 1, { signal: stop.signal })
    stop.abort(reason)

    await Promise.all([
      expect(timed).rejects.toThrow('took longer than 30 ms'),
      expect(stopped).rejects.toBe(reason),
    ])
  })
})

describeOnStores('cancellation by a client', (kind) => {
  test('the result of a cancelled instance is a CancelledError with the reason', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(waits)
    const handle = await holdfast.start(waits)

    await handle.cancel('no longer needed')
    await handle.cancel('again')

    await expect(handle.result()).rejects.toThrow(new CancelledError('no longer needed'))
    expect(await handle.info()).toMatchObject({
      status: 'cancelled',
      waitingFor: [],
      error: { name: 'CancelledError', message: 'cancelled: no longer needed' },
    })
    await handle.cancel('it has ended')
  })

  test('cancelling needs an instance, and a reason that is text', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    await client.get('unknown').send(numbers, 1)

    await expect(client.get('none').cancel()).rejects.toThrow('cancel: there is no instance "none"')
    await expect(client.get('unknown').cancel()).rejects.toThrow(
      'cancel: there is no instance "unknown"',
    )
    await expect(client.get('none').cancel(1 as never)).rejects.toThrow(
      'cancel: reason must be a string, got 1',
    )
  })
})
