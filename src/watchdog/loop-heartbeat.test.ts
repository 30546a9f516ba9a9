import inspector from 'node:inspector'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../test/support/engine.ts'
import { memoryLog } from '../../test/support/workers.ts'
import type { LeaseRequest } from '../store/lease-keeper.ts'
import { SharedLoopHeartbeat, sharedMs } from './shared-loop-heartbeat.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'
import { LoopHeartbeat } from './loop-heartbeat.ts'

const LEASE_MS = 30_000

/** A heartbeat that is quick, and what it asked its store for. */
function startedHeartbeat() {
  const log = memoryLog()
  const heartbeat = new LoopHeartbeat({ log, leaseMs: LEASE_MS, giveUpMs: 20, onHang: 'kill' })
  const requests: LeaseRequest[] = []
  let stops = 0
  const keepLease = (request: LeaseRequest) => {
    requests.push(request)
    return { stop: async () => void stops++ }
  }
  heartbeat.start({ kind: 'paper', keepLease } as unknown as WorkflowStore)
  const there = new SharedLoopHeartbeat(requests[0]!.memory)
  return {
    log,
    heartbeat,
    there,
    request: requests[0]!,
    get stops() {
      return stops
    },
    [Symbol.asyncDispose]: () => heartbeat.stop(),
  }
}

test('a loop shows a thread that it is alive, until it is stopped', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  await using under = startedHeartbeat()
  expect(under.there.beats).toBe(1)
  expect(under.request).toMatchObject({ leaseMs: LEASE_MS, giveUpMs: 20, onHang: 'kill' })

  vi.advanceTimersByTime(20)
  expect(under.there.beats).toBe(11)
  await under.heartbeat.stop()
  vi.advanceTimersByTime(20)

  expect(under.there.beats).toBe(11)
  expect(under.stops).toBe(1)
})

test('a renewal by the loop counts from the moment at which it was requested', async () => {
  await using under = startedHeartbeat()
  const before = sharedMs()

  under.heartbeat.renewed(1_000)

  const noted = under.there.renewedMs('loop')
  expect(noted).toBeGreaterThanOrEqual(before - 1_000)
  expect(noted).toBeLessThanOrEqual(sharedMs() - 1_000)
  expect(under.heartbeat.isKept).toBe(false)
})

test('a lease is kept for its length after the thread renewed it', async () => {
  await using under = startedHeartbeat()
  expect(under.heartbeat.isKept).toBe(false)

  under.there.renewed('thread', sharedMs() - LEASE_MS + 5_000)
  expect(under.heartbeat.isKept).toBe(true)
  under.there.renewed('thread', sharedMs() - LEASE_MS - 1)
  expect(under.heartbeat.isKept).toBe(false)
})

test('a debugger is seen as soon as it can be attached', async () => {
  await using under = startedHeartbeat()
  const wasDebugged = inspector.url() !== undefined
  expect(under.there.isDebugged).toBe(wasDebugged)

  if (!wasDebugged) inspector.open(0)
  try {
    await eventually(() => under.there.isDebugged)
  } finally {
    if (!wasDebugged) inspector.close()
  }
})

test('the reason why no thread renews the lease is logged', async () => {
  await using under = startedHeartbeat()

  under.request.onTrouble('not now')
  under.request.onTrouble('no way', true)

  expect(under.log.lines).toMatchObject([
    { level: 'info', data: { store: 'paper', why: 'not now' } },
    { level: 'warn', data: { store: 'paper', why: 'no way' } },
  ])
})

test('a store without a lease thread logs nothing', async () => {
  const log = memoryLog()
  const heartbeat = new LoopHeartbeat({ log, leaseMs: LEASE_MS, giveUpMs: 20, onHang: 'kill' })

  heartbeat.start({ kind: 'paper' } as WorkflowStore)
  await heartbeat.stop()

  expect(log.lines).toEqual([])
  expect(heartbeat.shared.beats).toBeGreaterThan(0)
})

test.each([
  [false, 'event loop was blocked'],
  [true, 'event loop blocked for too long; other runtimes take over its work'],
])(
  'a loop that runs again logs what blocked it (lease given up: %j)',
  async (isReleased, message) => {
    await using under = startedHeartbeat()
    const block = { instanceId: 'a', workflow: 'w', activity: 'x' }
    under.there.blocked(under.there.beats, { ...block, isReleased })

    for (const untilMs = sharedMs() + 30; sharedMs() < untilMs;);
    await eventually(() => under.log.lines.length > 0)

    expect(under.log.lines).toEqual([
      { level: 'warn', message, data: { ...block, blockedMs: expect.any(Number) } },
    ])
    expect(under.log.lines[0]!.data['blockedMs']).toBeGreaterThanOrEqual(30)
  },
)
