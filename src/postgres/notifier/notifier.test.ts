import { expect, test, vi } from 'vitest'
import { deferred } from '../../../test/support/engine.ts'
import { stage } from '../../../test/notifier/fake-server.ts'

const SECOND = 1_000

test('a runtime receives what is sent to it and to all, and nothing else', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  const client = scene.listen(0)
  await clock.advance(0)

  server.notify('r7', { kind: 'work', iids: [1], at: 0 })
  server.notify('r8', { kind: 'work', iids: [2], at: 0 })
  server.notify('all', { kind: 'recalled', iids: [3] })

  expect(seven.received.filter(({ kind }) => kind !== 'joined')).toEqual([
    { kind: 'work', iids: [1], at: 0 },
    { kind: 'recalled', iids: [3] },
  ])
  expect(client.received.filter(({ kind }) => kind !== 'joined')).toEqual([
    { kind: 'recalled', iids: [3] },
  ])
})

test('LISTEN comes before the poll, and the poll comes last', async () => {
  await using scene = stage()
  const { id } = scene.listen(7).listening

  await scene.clock.advance(0)

  expect(scene.server.journal).toEqual([
    'listen test all',
    `listen test ${id}`,
    'listen test r7',
    'look',
  ])
})

test('a later listener polls once its own channels are listened to', async () => {
  await using scene = stage()
  const first = scene.listen(7)
  await scene.clock.advance(0)
  scene.server.journal.length = 0

  const second = scene.listen(8)
  await scene.clock.advance(0)

  expect(scene.server.journal).toEqual([
    `listen test ${second.listening.id}`,
    'listen test r8',
    'look',
  ])
  expect(first.polls).toHaveLength(1)
})

test('a runtime announces that it listens, before it polls', async () => {
  await using scene = stage()
  const first = scene.listen(7)
  await scene.clock.advance(0)

  scene.listen(8)
  await scene.clock.advance(0)

  expect(first.received).toEqual([{ kind: 'joined' }])
})

test('while nothing happens the notifier calls the server once a minute', async () => {
  await using scene = stage()
  scene.listen(7)
  await scene.clock.advance(0)
  scene.server.journal.length = 0
  scene.server.notifications = 0

  await scene.clock.advance('10m')

  expect(scene.server.notifications).toBe(10)
  expect(scene.server.journal).toEqual([])
})

test('a connection that is cut is opened again at once, and every listener polls', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  await clock.advance(30 * SECOND)

  server.cut()
  expect(seven.listening.isListening).toBe(false)
  await clock.advance(0)

  expect(seven.polls).toEqual([0, 30 * SECOND])
  expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
  server.notify('r7', { kind: 'work', iids: [1], at: 0 })
  expect(seven.received).toEqual([{ kind: 'work', iids: [1], at: 0 }])
})

test('a server that is away is retried at longer and longer intervals, forever', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  await clock.advance(0)
  server.down = true
  server.connects = 0

  server.cut()
  await clock.advance('1m')
  const inAMinute = server.connects
  await clock.advance('1h')
  const later = server.connects

  expect(inAMinute).toBeGreaterThan(8)
  expect(inAMinute).toBeLessThan(30)
  expect(later).toBeGreaterThan((3_600 * SECOND) / 13_000)
  expect(seven.listening.health()).toMatchObject({
    state: 'connecting',
    lastError: 'connection refused',
  })
  server.down = false
  await clock.advance(13 * SECOND)
  expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
})

test('many processes that lost the same server do not come back together', async () => {
  const times = await Promise.all(
    Array.from({ length: 5 }, async () => {
      await using scene = stage()
      const { clock, server } = scene
      server.down = true
      const seven = scene.listen(7)
      await clock.advance(20 * SECOND)
      server.down = false
      await clock.advance('1m')
      // The poll that follows once notifications arrive.
      return seven.polls.at(-1)
    }),
  )

  expect(new Set(times).size).toBeGreaterThan(1)
})

test('an open connection through which nothing arrives is given up', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  await clock.advance(0)
  // As when others have left a server for the one that took its place.
  server.strand()

  await clock.advance('66s')
  server.notify('r7', { kind: 'work', iids: [1], at: 0 })

  expect(server.connects).toBe(2)
  expect(seven.polls).toHaveLength(2)
  expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
  expect(seven.received).toEqual([{ kind: 'work', iids: [1], at: 0 }])
})

test('a server that does not answer is retried', async () => {
  await using scene = stage()
  const { clock, server } = scene
  server.silent = true
  const seven = scene.listen(7)

  await clock.advance('11s')
  server.silent = false
  await clock.advance('11s')

  expect(server.connects).toBeGreaterThan(1)
  expect(seven.listening.isListening).toBe(true)
})

test('a listener that leaves during its test leaves the others listening', async () => {
  await using scene = stage()
  const { clock, server, log } = scene
  server.swallows = true
  const first = scene.listen(7)
  const second = scene.listen(8)
  await clock.advance(0)

  server.swallows = false
  await first.listening.close()
  await clock.advance('10s')

  expect(second.listening.health()).toEqual({ state: 'listening', interruptions: 0 })
  expect(log.at('warn')).toEqual([])
})

test('a hint that cannot be sent starts a test of whether notifications arrive', async () => {
  await using scene = stage()
  const { clock, server, notifier } = scene
  const seven = scene.listen(7)
  await clock.advance(10 * SECOND)
  server.notifications = 0

  for (let i = 0; i < 100; i++) {
    notifier.testSoon()
    await clock.advance(10)
  }
  expect(server.notifications).toBe(1)
  expect(seven.listening.isListening).toBe(true)

  server.down = true
  await clock.advance(SECOND)
  notifier.testSoon()
  await clock.advance(SECOND)
  expect(seven.listening.isListening).toBe(false)
  expect(seven.polls.length).toBeGreaterThan(1)
})

test('while notifications cannot be sent the connection is kept and the store is polled', async () => {
  await using scene = stage()
  const { clock, server, notifier, log } = scene
  const seven = scene.listen(7)
  await clock.advance(10 * SECOND)
  const before = seven.polls.length

  server.full = true
  notifier.testSoon()
  await clock.advance('16s')
  const during = seven.listening.health()
  scene.listen(8)
  await clock.advance('44s')
  const looks = seven.polls.length
  server.full = false
  await clock.advance('5s')

  expect(server.connects).toBe(1)
  expect(looks - before).toBeGreaterThan(5)
  expect(during).toEqual({
    state: 'deaf',
    interruptions: 1,
    lastError: 'too many notifications in the NOTIFY queue',
  })
  expect(log.at('warn')).toEqual(['notifications cannot be sent; polling instead'])
  expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
})

test('a connection that was lost while notifications could not be sent is opened again', async () => {
  await using scene = stage()
  const { clock, server, notifier } = scene
  const seven = scene.listen(7)
  await clock.advance(10 * SECOND)
  server.full = true
  notifier.testSoon()
  await clock.advance('10s')

  server.strand()
  server.full = false
  await clock.advance('20s')

  expect(server.connects).toBe(2)
  expect(seven.listening.isListening).toBe(true)
})

test('where notifications do not arrive, that is logged once and the store is polled', async () => {
  await using scene = stage()
  const { clock, server, log } = scene
  server.swallows = true
  const seven = scene.listen(7)

  await clock.advance('10m')

  expect(seven.listening.isListening).toBe(false)
  expect(seven.listening.health().state).toBe('deaf')
  expect(log.at('warn')).toEqual([expect.stringContaining('PgBouncer')])
  expect(seven.polls.length).toBeGreaterThan(100)
  expect(seven.polls.length).toBeLessThan(150)
})

test('without notifications, polls are frequent while they find something', async () => {
  await using scene = stage()
  const { clock, server } = scene
  server.swallows = true
  const seven = scene.listen(7)
  await clock.advance('1m')

  seven.finds = true
  await clock.advance('5s')
  const before = seven.polls.length
  await clock.advance('10s')

  expect(seven.polls.length - before).toBe(40)
})

test('when notifications arrive after all, polling ends', async () => {
  await using scene = stage()
  const { clock, server } = scene
  server.swallows = true
  const seven = scene.listen(7)
  await clock.advance('2m')
  const looks = seven.polls.length

  server.swallows = false
  await clock.advance('70s')

  expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 0 })
  const atLast = seven.polls.length
  await clock.advance('10m')
  expect(atLast).toBeGreaterThan(looks)
  expect(seven.polls).toHaveLength(atLast)
})

test('a runtime with a new number receives what is sent to that number', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  await clock.advance(0)

  seven.runtime = 9
  seven.listening.refresh()
  await clock.advance(0)
  server.notify('r7', { kind: 'work', iids: [1], at: 0 })
  server.notify('r9', { kind: 'work', iids: [2], at: 0 })

  expect(seven.received).toEqual([{ kind: 'work', iids: [2], at: 0 }])
  expect(seven.polls).toHaveLength(2)
  expect(server.journal).toContain('unlisten test r7')
})

test('a listener that throws affects neither the others nor the connection', async () => {
  await using scene = stage()
  const { clock, server, log } = scene
  const seven = scene.listen(7)
  const eight = scene.listen(8)
  await clock.advance(0)
  seven.fails = true

  server.notify('all', { kind: 'recalled', iids: [1] })

  expect(eight.received).toContainEqual({ kind: 'recalled', iids: [1] })
  expect(log.at('error')).toEqual(['handling a notification failed'])
  expect(eight.listening.isListening).toBe(true)
})

test('a listener that left receives nothing, and its channels are dropped', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const seven = scene.listen(7)
  scene.listen(8)
  await clock.advance(0)
  const count = seven.received.length

  await seven.listening.close()
  await clock.advance(0)
  server.notify('all', { kind: 'recalled', iids: [1] })

  expect(seven.received).toHaveLength(count)
  expect(server.journal).toContain('unlisten test r7')
})

test('it can be closed while the server does not answer', async () => {
  const scene = stage()
  scene.server.silent = true
  scene.listen(7)
  await scene.clock.advance('5s')

  await scene.notifier.close()

  expect(scene.clock.pending).toBe(0)
})

test('a listener that leaves during a pass does not affect the others', async () => {
  for (const fails of ['channelOf', 'send'] as const) {
    await using scene = stage()
    const { clock, server } = scene
    const stays = scene.listen(7)
    await clock.advance(0)
    const answer = deferred<never>()
    let asked = 0
    const closing = (): Promise<never> => {
      asked++
      return answer.promise
    }
    const leaves = scene.listen(8, { ...server, [fails]: closing })
    await clock.advance(0)

    await leaves.listening.close()
    answer.reject(new Error('the store was closed'))
    await clock.advance('1s')

    expect(stays.listening.health()).toEqual({ state: 'listening', interruptions: 0 })
    expect([asked, server.connects]).toEqual([1, 1])
  }
})

test('another listener repeats the test of one that leaves', async () => {
  await using scene = stage()
  const { clock, server } = scene
  const answer = deferred<never>()
  const leaves = scene.listen(7, { ...server, send: () => answer.promise })
  const stays = scene.listen(8)
  await clock.advance(0)

  await leaves.listening.close()
  answer.reject(new Error('the store was closed'))
  await clock.advance(0)

  expect(stays.listening.health()).toEqual({ state: 'listening', interruptions: 0 })
})

test('only a runtime announces that it joined', async () => {
  await using scene = stage()
  const waits = scene.listen(0)
  await scene.clock.advance(0)

  for (let client = 0; client < 10; client++) {
    scene.listen(0)
    await scene.clock.advance(0)
  }
  expect(waits.received).toEqual([])
  scene.listen(7)
  await scene.clock.advance(0)

  expect(waits.received).toEqual([{ kind: 'joined' }])
})

test('every listener polls while the connection cannot be opened, and no longer', async () => {
  await using scene = stage()
  const { clock, server } = scene
  server.down = true
  const seven = scene.listen(7)

  await clock.advance('1m')
  const looks = seven.polls.length
  server.down = false
  await clock.advance('1m')
  const atLast = seven.polls.length
  await clock.advance('10m')

  expect(seven.polls[0]).toBe(250)
  expect(looks).toBeGreaterThan(12)
  expect(looks).toBeLessThan(20)
  expect(seven.listening.isListening).toBe(true)
  expect(seven.polls).toHaveLength(atLast)
})

test('passes leave no listener on any signal', async () => {
  await using scene = stage()
  const { clock } = scene
  const seven = scene.listen(7)
  await clock.advance(0)
  const added = vi.spyOn(AbortSignal.prototype, 'addEventListener')
  const removed = vi.spyOn(AbortSignal.prototype, 'removeEventListener')

  for (let pass = 0; pass < 200; pass++) {
    seven.runtime = 8 + pass
    seven.listening.refresh()
    await clock.advance(0)
  }

  const left = added.mock.calls.length - removed.mock.calls.length
  vi.restoreAllMocks()
  expect(added.mock.calls.length).toBeGreaterThan(200)
  expect(left).toBeLessThan(5)
})
