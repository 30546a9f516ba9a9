import { expect, test } from 'vitest'

import { memoryLog } from '../../../test/support/workers.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { StoreError } from '../../store/store-error.ts'
import { Blocked } from './blocked.ts'

interface Item {
  readonly id: string
  readonly text: string
}

/** Items that are blocked as long as their id is among `locked`. */
function scene(maxBytes = 1_000) {
  const clock = virtualClock()
  const log = memoryLog()
  const locked = new Set<string>()
  const calls: string[][] = []
  const failures: Error[] = []
  let underWay = 0
  let mostUnderWay = 0
  const blocked = new Blocked<Item, string>(
    {
      clock,
      log,
      what: 'start',
      random: () => 0.5,
      idOf: ({ id }) => id,
      bytesOf: ({ text }) => text.length,
      async send(items) {
        calls.push(items.map(({ text }) => text))
        mostUnderWay = Math.max(mostUnderWay, ++underWay)
        await new Promise<void>((resolve) => clock.after(5, resolve))
        underWay--
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return items.map(({ id, text }) => (locked.has(id) ? 'locked' : text))
      },
      isLocked: (answer) => answer === 'locked',
      isUntried: (answer) => answer === 'untried',
      isKeptAfter: (error) => error instanceof StoreError && error.retryable,
    },
    maxBytes,
  )
  return { blocked, clock, log, locked, calls, failures, mostUnderWay: () => mostUnderWay }
}

test('calls for one id are made in order, as soon as the id is free', async () => {
  const { blocked, clock, locked, calls } = scene()
  locked.add('a')
  const answers = ['1', '2', '3'].map((text) => blocked.wait({ id: 'a', text }))
  await clock.advance(100)
  expect(blocked.size).toBe(3)
  locked.clear()
  await clock.advance(1_000)

  expect(await Promise.all(answers)).toEqual(['1', '2', '3'])
  expect(new Set(calls.map((texts) => texts.join()))).toEqual(new Set(['1,2,3']))
  expect(blocked.has('a')).toBe(false)
})

test('with any number of waiting calls, one is under way, with a few ids, and with pauses', async () => {
  const { blocked, clock, locked, calls, mostUnderWay } = scene()
  for (let n = 0; n < 100; n++) {
    locked.add(`id-${n}`)
    blocked.wait({ id: `id-${n}`, text: `${n}` }).catch(() => {})
  }
  await clock.advance(10_000)

  expect(mostUnderWay()).toBe(1)
  expect(Math.max(...calls.map((texts) => texts.length))).toBe(8)
  // Each takes five milliseconds, and ten follow.
  expect(calls.length).toBeLessThan(10_000 / 15)
  expect(new Set(calls.flat()).size).toBe(100)
})

test('an id behind many that stay locked gets its turn', async () => {
  const { blocked, clock, locked, calls } = scene()
  for (let n = 0; n < 100; n++) {
    locked.add(`held-${n}`)
    blocked.wait({ id: `held-${n}`, text: 'held' }).catch(() => {})
  }
  await clock.advance(5_000)
  const before = calls.length
  const free = Array.from({ length: 40 }, (_, n) =>
    blocked.wait({ id: `free-${n}`, text: `free ${n}` }),
  )
  let done = 0
  for (const one of free) void one.then(() => done++)
  await clock.advance(500)

  // 140 ids, 8 in a call: each had its turn once.
  expect(done).toBe(40)
  expect(calls.length - before).toBeLessThan(40)
})

test('when one id becomes free, others are tried soon, but not constantly', async () => {
  const { blocked, clock, locked, calls } = scene()
  locked.add('held')
  blocked.wait({ id: 'held', text: 'held' }).catch(() => {})
  await clock.advance(20_000)
  const before = calls.flat().filter((text) => text === 'held').length
  for (let n = 0; n < 100; n++) {
    blocked.wait({ id: `free-${n}`, text: 'free' }).catch(() => {})
    await clock.advance(10)
  }

  const tries = calls.flat().filter((text) => text === 'held').length - before
  expect(tries).toBeGreaterThan(5)
  // No more than one in fifty milliseconds.
  expect(tries).toBeLessThanOrEqual(20)
})

test('items that a call had no time for go with the next one', async () => {
  const clock = virtualClock()
  const calls: string[] = []
  const blocked = new Blocked<string, string>(
    {
      clock,
      log: memoryLog(),
      what: 'start',
      random: () => 0.5,
      idOf: (id) => id,
      bytesOf: () => 1,
      async send(ids) {
        calls.push(ids.join(' '))
        return ids.map((id, i) => (i === 0 ? id : 'untried'))
      },
      isLocked: () => false,
      isUntried: (answer) => answer === 'untried',
    },
    1_000,
  )
  const answers = Promise.all(['a', 'b', 'c'].map((id) => blocked.wait(id)))
  await clock.advance(100)

  expect(await answers).toEqual(['a', 'b', 'c'])
  expect(calls).toEqual(['a b c', 'b c', 'c'])
})

test('items that may be sent twice survive a store outage', async () => {
  const { blocked, clock, failures } = scene()
  failures.push(new StoreError('connection_lost', 'start', 'gone'))
  failures.push(new StoreError('unavailable', 'start', 'out of connections'))
  const kept = blocked.wait({ id: 'a', text: 'kept' })
  await clock.advance(1_000)
  expect(await kept).toBe('kept')

  failures.push(new StoreError('rejected', 'start', 'no'))
  const refused = blocked.wait({ id: 'a', text: 'refused' })
  refused.catch(() => {})
  await clock.advance(1_000)
  await expect(refused).rejects.toThrow('start: no')
})

test('retries become less frequent, and are logged once', async () => {
  const { blocked, clock, log, locked, calls } = scene()
  locked.add('a')
  blocked.wait({ id: 'a', text: '1' }).catch(() => {})
  await clock.advance(900)
  expect(log.lines).toEqual([])
  await clock.advance(59_100)

  expect(calls.length).toBeLessThan(75)
  expect(log.lines).toEqual([
    {
      level: 'warn',
      message: 'start blocked: another transaction has locked this id; retrying',
      data: { instanceId: 'a' },
    },
  ])
})

test('a call carries no more than a part of the bytes for each id', async () => {
  const { blocked, clock, calls } = scene(80)
  const answers = Array.from({ length: 5 }, () => blocked.wait({ id: 'a', text: 'x'.repeat(4) }))
  await clock.advance(1_000)

  await Promise.all(answers)
  expect(calls.map((texts) => texts.length)).toEqual([2, 2, 1])
})

test('a withdrawn item is not sent, unless it is already under way', async () => {
  const { blocked, clock, locked, calls } = scene()
  locked.add('a')
  const stop = new AbortController()
  const early = blocked.wait({ id: 'a', text: 'early' }, stop.signal)
  early.catch(() => {})
  stop.abort(new Error('stopped'))
  await expect(early).rejects.toThrow('stopped')
  await clock.advance(1_000)
  expect(calls).toEqual([])

  const late = new AbortController()
  const underWay = blocked.wait({ id: 'b', text: 'late' }, late.signal)
  while (calls.length === 0) await clock.advance(1)
  late.abort(new Error('stopped'))
  await clock.advance(10)
  expect(await underWay).toBe('late')
})

test('closing rejects every waiting item, and every later one', async () => {
  const { blocked, locked } = scene()
  locked.add('a')
  const waiting = blocked.wait({ id: 'a', text: '1' })
  blocked.close(new Error('closed'))

  await expect(waiting).rejects.toThrow('closed')
  await expect(blocked.wait({ id: 'a', text: '2' })).rejects.toThrow('closed')
  expect(blocked.size).toBe(0)
})
