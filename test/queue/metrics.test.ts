// What a metrics sink receives.

import { describe, expect, test } from 'vitest'
import { type Logger, silentLog } from '../../src/base/log.ts'
import type { Metrics } from '../../src/queue/index.ts'
import { endedProcess } from './store-support.ts'
import { queueInTime, stillTime } from './support.ts'

/** A sink that keeps what it receives. */
function sink() {
  const counted: Record<string, number> = {}
  const recorded: Record<string, number[]> = {}
  const labels: object[] = []
  const metrics: Metrics = {
    count(name, by, of) {
      counted[name] = (counted[name] ?? 0) + by
      labels.push(of)
    },
    record(name, value, of) {
      const values = (recorded[name] ??= [])
      values.push(value)
      labels.push(of)
    },
  }
  return { metrics, counted, recorded, labels }
}

describe('a sink of measurements', () => {
  test('counts how many messages were pushed, delivered, acknowledged and nacked', async () => {
    const { metrics, counted, labels } = sink()
    await using under = await queueInTime<number>({ metrics, name: 'mail' })
    const { queue } = under

    await queue.pushMany([1, 2, 3], { dedupeKey: 'k' })
    await queue.pushMany([1, 2, 3], { dedupeKey: 'k' })
    const [first, second, third] = await queue.takeMany(10)
    await queue.ack([first!, second!])
    await queue.ack([first!])
    await third!.nack()

    expect(counted).toEqual({
      holdfast_queue_pushed: 3,
      holdfast_queue_delivered: 3,
      holdfast_queue_acked: 2,
      holdfast_queue_nacked: 1,
    })
    expect(new Set(labels.map((of) => JSON.stringify(of)))).toEqual(new Set(['{"queue":"mail"}']))
  })

  test('knows how many messages are there, by state', async () => {
    const depth: Record<string, number> = {}
    const metrics: Metrics = {
      ...sink().metrics,
      gauge: (name, value, { queue: of, state }) => void (depth[`${name} ${of} ${state}`] = value),
    }
    await using under = await queueInTime<number>({ metrics, name: 'mail' })
    const { queue } = under

    await queue.pushMany([1, 2, 3])
    await queue.push(4, { delay: '1h' })
    await queue.take()

    expect(depth).toEqual({
      'holdfast_queue_depth mail ready': 2,
      'holdfast_queue_depth mail inFlight': 1,
      'holdfast_queue_depth mail delayed': 1,
      'holdfast_queue_depth mail dead': 0,
    })
  })

  test('measures how long messages waited, were in flight, and took to commit', async () => {
    using _ = stillTime()
    const { metrics, recorded } = sink()
    await using under = await queueInTime<string>({ metrics })
    const { queue, trouble } = under

    trouble.latencyMs = 5
    const pushing = queue.push('a')
    await under.pass(5)
    await pushing
    trouble.latencyMs = 0
    await under.pass(1_000)
    const delivery = await queue.take()
    await under.pass(200)
    await delivery!.ack()

    expect(recorded['holdfast_queue_push_ms']).toEqual([5])
    expect(recorded['holdfast_queue_wait_ms']).toEqual([1_000])
    expect(recorded['holdfast_queue_in_flight_ms']).toEqual([200])
    expect(recorded['holdfast_queue_commit_ms']).toEqual([5, 0, 0])
  })

  test('counts a push that had to wait for room once', async () => {
    const { metrics, counted, recorded } = sink()
    await using under = await queueInTime<string>({ metrics, capacity: 1 })
    const { queue } = under
    const [first, second] = [queue.push('a'), queue.push('b')]
    await first
    await under.pass(100)

    await (await queue.take())!.ack()
    await second

    expect(counted).toMatchObject({ holdfast_queue_pushed: 2 })
    expect(recorded['holdfast_queue_push_ms']).toEqual([0, 100])
  })

  test('counts expired messages', async () => {
    const { metrics, counted } = sink()
    await using under = await queueInTime<string>({ metrics, maxAttempts: 2, lease: '30s' })
    const { queue } = under
    await queue.push('brief', { ttl: '1s' })
    await queue.push('often')

    await under.pass(1_000)
    expect(counted).toMatchObject({ holdfast_queue_expired: 1 })
    await queue.take()
    await under.pass(30_000)
    await queue.take()
    await under.pass(30_000)

    expect(counted).toMatchObject({ holdfast_queue_lapsed: 2, holdfast_queue_dead: 1 })
  })

  test('counts messages of ended processes, whichever process notices', async () => {
    const ended = await queueInTime<string>({ maxAttempts: 1 })
    const { database } = ended
    await ended.queue.pushMany(['a', 'b'])
    await ended.queue.takeMany(2)
    const [found, seen] = [sink(), sink()]
    await using other = await queueInTime<string>({ database, metrics: seen.metrics })
    const gone = endedProcess(database)
    database.sql('update sessions set process = ? where session = 1').run(gone)

    await other.queue.drain()
    expect(seen.counted).toMatchObject({ holdfast_queue_lapsed: 2, holdfast_queue_dead: 2 })
    await other.queue.dead.retry([0])
    await other.queue.take()
    database.sql('update sessions set process = ? where session = 2').run(gone)
    await using _ = await queueInTime<string>({ database, metrics: found.metrics })

    expect(found.counted).toEqual({ holdfast_queue_lapsed: 1 })
  })

  test('counts unreadable messages and batches that failed', async () => {
    const { metrics, counted, labels } = sink()
    const codec = {
      version: 0,
      encode: String,
      decode: () => {
        throw new Error('no')
      },
    }
    await using under = await queueInTime<string>({ metrics, codec, lazy: true })
    const { queue, trouble } = under
    await queue.push('a')

    expect(await queue.take()).toBeUndefined()
    trouble.busyCalls = 1
    await expect(queue.push('b')).rejects.toMatchObject({ code: 'busy' })

    expect(counted).toMatchObject({ holdfast_queue_dead: 1, holdfast_queue_errors: 1 })
    expect(labels).toContainEqual({ queue: 'default', code: 'busy' })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('that %s does not affect the queue, and is logged once', async (_, broken) => {
    const logged: unknown[] = []
    const log: Logger = { ...silentLog, error: (data) => logged.push(data) }
    const metrics = Object.assign(sink().metrics, { count: broken, record: broken })
    await using under = await queueInTime<string>({ metrics, log })
    const { queue } = under

    await queue.push('a')
    await (await queue.take())!.ack()
    await under.pass(10)

    expect(queue.isEmpty).toBe(true)
    expect(logged).toMatchObject([{ err: { message: 'broken' } }])
  })

  test('has both methods', async () => {
    await expect(queueInTime({ metrics: { count() {} } as never })).rejects.toThrow(
      'openQueue: metrics must be a metrics sink, but it has no method record()',
    )
  })
})
