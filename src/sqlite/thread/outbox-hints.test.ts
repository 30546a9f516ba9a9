import { expect, test } from 'vitest'
import { memoryLog } from '../../../test/support/workers.ts'
import type { PartitionWork } from '../../store/outbox-store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { OutboxOutlook } from '../outbox/outlook.ts'
import { HintHub } from './hints.ts'
import { OutboxHints } from './outbox-hints.ts'

function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const watched: (readonly number[] | 'stopped')[] = []
  const hub = new HintHub({
    watchChanges: (own) => void watched.push(own),
    unwatchChanges: () => void watched.push('stopped'),
  })
  const join = (prefix = 'outbox') => {
    const received: [readonly number[], number][] = []
    const member = {
      received,
      asks: 0,
      looks: 0,
      fails: false,
      found: {} as Partial<OutboxOutlook>,
    }
    const hints = new OutboxHints(hub, prefix, async () => {
      member.asks++
      if (member.fails) throw new Error('closed')
      return { clock: 1_000, work: [], delayedAt: null, ...member.found }
    })
    const listening = hints.listen({
      clock,
      log,
      onMessages: (partitions, at) => void received.push([partitions, at]),
      async look() {
        member.looks++
        return false
      },
    })
    return Object.assign(member, { hints, listening })
  }
  return { clock, log, hub, watched, join }
}

function work(partition: number, dueAt: number): PartitionWork {
  return { partition, dueAt, isBlocked: false }
}

test('a new listener looks once, and reads nothing else', async () => {
  const { clock, join } = scene()

  const one = join()
  await clock.advance('1s')

  expect([one.looks, one.asks, one.received]).toEqual([1, 0, []])
})

test('a commit of another process brings a hint of the partitions that have messages now', async () => {
  const { clock, hub, join } = scene()
  const one = join()
  one.found = { work: [work(3, 0), work(4, 1_000), work(5, 1_001)], delayedAt: 5_000 }

  hub.changed()
  await clock.advance('1s')

  expect(one.received).toEqual([
    [[3, 4], 0],
    [[], 5_000],
  ])
})

test('without messages to deliver there is no hint, and so no write because of one', async () => {
  const { clock, hub, join } = scene()
  const one = join()

  hub.changed()
  await clock.advance('1s')

  expect([one.asks, one.received]).toEqual([1, []])
})

test('listeners of one outbox get hints of what any of them enqueues', () => {
  const { join } = scene()
  const [one, two, other] = [join(), join(), join('other')]

  one.hints.announce([7], 0)
  one.hints.announce([], 0)

  expect([one.received, two.received, other.received]).toEqual([[[[7], 0]], [[[7], 0]], []])
})

test('commits are watched while there are listeners, except those of their own runtimes', async () => {
  const { watched, join } = scene()

  const one = join()
  one.hints.useRuntime(7)
  one.hints.useRuntime(7)
  await one.hints.close()

  expect(watched).toEqual([[], [7], 'stopped'])
})

test('a listener that has closed receives nothing, and leaves nothing behind', async () => {
  const { clock, hub, join } = scene()
  const one = join()
  await one.listening.close()

  one.hints.announce([7], 0)
  hub.changed()
  await clock.advance('1s')

  expect([one.asks, one.received, one.hints.hasListeners, one.listening.isListening]).toEqual([
    0,
    [],
    false,
    false,
  ])
  expect(clock.pending).toBe(0)
})

test('a read that fails is repeated at the next change', async () => {
  const { clock, hub, log, join } = scene()
  const one = join()
  one.fails = true
  hub.changed()
  await clock.advance('1s')
  one.fails = false
  one.found = { work: [work(3, 0)] }

  hub.changed()
  await clock.advance('1s')

  expect(one.received).toEqual([[[3], 0]])
  expect(log.at('debug')).toEqual(['polling the store failed'])
})
