import { expect, test } from 'vitest'
import { decode } from '../base/codec/codec.ts'
import { deferred } from '../../test/support/engine.ts'
import type { InstanceRow } from '../store/instances.ts'
import type { StartItem } from '../store/commits.ts'
import type { LeaseOrder } from '../store/lease-keeper.ts'
import { heartbeatMemory, SharedLoopHeartbeat } from './shared-loop-heartbeat.ts'
import { checkMs, type LeaseStore, LeaseWatch } from './lease-watch.ts'

const RUNTIME = 5
const ROW = { id: 'a', workflow: { name: 'w', version: '2' } } as InstanceRow

/** A watch whose time is moved by hand, on a store that records its calls. */
function watchOn(given: Partial<LeaseOrder> = {}, changed: Partial<LeaseStore> = {}) {
  const heartbeat = new SharedLoopHeartbeat(heartbeatMemory('kill'))
  const order: LeaseOrder = {
    memory: heartbeat.memory,
    leaseMs: 30_000,
    giveUpMs: 60_000,
    onHang: 'kill',
    ...given,
  }
  const asked: string[] = []
  const said: string[] = []
  const warned: string[] = []
  const troubles: string[] = []
  let now = 1_000_000
  let ends = 0
  const store: LeaseStore = {
    async renewLease(runtime, leaseMs) {
      asked.push(`renew ${runtime} ${leaseMs}`)
      return true
    },
    async endLease(runtime) {
      asked.push(`end ${runtime}`)
    },
    async look(iids) {
      asked.push(`look ${iids.join()}`)
      return iids.map(() => ROW)
    },
    async start(items, options) {
      asked.push(`start ${items.map(({ id }) => id).join()} ${JSON.stringify(options)}`)
      return items.map(() => 'done')
    },
    async suspend(ids, report) {
      asked.push(`suspend ${ids.join()}`)
      asked.push((decode(report) as Error).message)
      return ids.map(() => true)
    },
    async finishTasks(runtime, results) {
      asked.push(`finish ${runtime} ${JSON.stringify(results)}`)
      return results.map(() => ({ verdict: 'gone', owner: null }))
    },
    async unregister(runtime) {
      asked.push(`unregister ${runtime}`)
    },
    ...changed,
  }
  const watch = new LeaseWatch(order, store, {
    now: () => now,
    // Long enough for a store that answers.
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
    log: (level, line) => void (level === 'warn' ? warned : said).push(line),
    killProcess: () => ends++,
    onTrouble: (why) => troubles.push(why),
  })
  heartbeat.runtime = RUNTIME
  heartbeat.renewed('loop', now)
  heartbeat.beat(false)
  return {
    heartbeat,
    watch,
    asked,
    said,
    warned,
    troubles,
    get ends() {
      return ends
    },
    get now() {
      return now
    },
    /** Lets time pass, with the looks that belong into it. */
    async pass(ms: number): Promise<void> {
      const everyMs = checkMs(order)
      for (let leftMs = ms; leftMs > 0; leftMs -= everyMs) {
        now += Math.min(leftMs, everyMs)
        await watch.check()
      }
    },
    /** Lets time pass in which the whole process does nothing. */
    freeze(ms: number): void {
      now += ms
    },
    /** As the loop does all the time. */
    keepUp(): void {
      heartbeat.beat(false)
      heartbeat.renewed('loop', now)
    },
  }
}

/** One that has made sure that it can renew. */
async function settledWatch(...given: Parameters<typeof watchOn>) {
  const under = watchOn(...given)
  await under.pass(1)
  under.keepUp()
  await under.watch.check()
  under.asked.length = 0
  return under
}

test('the connection is tried once, and then not used while the loop keeps up', async () => {
  const under = watchOn()

  for (let i = 0; i < 100; i++) {
    await under.pass(5_000)
    under.keepUp()
  }

  expect(under.asked).toEqual([`renew ${RUNTIME} 30000`])
})

test('the lease of a blocked loop is renewed twice in its length', async () => {
  const under = await settledWatch()
  const stoodMs = under.now

  await under.pass(50_000)

  expect(under.asked).toEqual(Array.from({ length: 3 }, () => `renew ${RUNTIME} 30000`))
  expect(under.heartbeat.renewedMs('thread')).toBe(stoodMs + 45_000)
})

test('a renewal counts from its request', async () => {
  const answer = deferred()
  const under = watchOn({}, { renewLease: () => answer.promise.then(() => true) })
  const checking = under.watch.check()
  const askedMs = under.now

  under.freeze(20_000)
  answer.resolve()
  await checking

  expect(under.heartbeat.renewedMs('thread')).toBe(askedMs)
})

test('nothing is requested before the runtime is registered', async () => {
  const under = watchOn()
  under.heartbeat.runtime = 0

  await under.pass(30_000)

  expect(under.asked).toEqual([])
})

test('a runtime that is dead is not renewed', async () => {
  const under = watchOn({}, { renewLease: async () => false })

  await under.pass(20_000)

  expect(under.heartbeat.renewedMs('thread')).toBe(0)
})

test('a renewal that fails is retried, less and less often, and reported once in a row', async () => {
  let fails = true
  const tries: number[] = []
  const under = watchOn(
    { giveUpMs: Infinity },
    {
      async renewLease() {
        tries.push(under.now)
        if (fails) throw new Error('no way')
        return true
      },
    },
  )
  await under.pass(115_000)
  expect(tries.map((ms) => ms - tries[0]!)).toEqual([0, 10_000, 20_000, 40_000, 70_000, 100_000])
  expect(under.troubles).toEqual(['no way'])

  fails = false
  await under.pass(20_000)
  expect(under.heartbeat.renewedMs('thread')).toBe(tries.at(-1))
  fails = true
  await under.pass(60_000)
  expect(under.troubles).toEqual(['no way', 'no way'])
})

test('code that blocks is suspended with a report, before others take over', async () => {
  const under = await settledWatch()
  under.heartbeat.beginTurn(7)

  await under.pass(60_000)

  const last = under.asked.slice(-4)
  expect(last).toEqual([
    'look 7',
    'suspend a',
    expect.stringMatching(
      /^instance "a" of workflow "w" 2 has blocked the event loop for 60 s.*resume/,
    ),
    `unregister ${RUNTIME}`,
  ])
  expect(under.said).toEqual([
    expect.stringMatching(/^instance "a" .* the instance is suspended; ending this process/),
  ])
  expect(under.ends).toBe(1)
})

test('an activity that hangs is named, and other runtimes do not get its task', async () => {
  const under = await settledWatch()
  const call = { key: { iid: 7, execution: 2, command: 3 }, attempt: 4 }

  await under.pass(55_000)
  // Its last look falls into the call.
  await under.heartbeat.callActivity('resize', call, () => under.pass(5_000))

  const result = {
    iid: 7,
    execution: 2,
    command: 3,
    token: null,
    attempt: 4,
    end: { kind: 'release', delayMs: 3_600_000 },
  }
  expect(under.asked.slice(-5)).toEqual([
    'look 7',
    'suspend a',
    expect.stringMatching(
      /^activity "resize" of instance "a" of workflow "w" 2 has blocked the event loop for 60 s/,
    ),
    `finish ${RUNTIME} ${JSON.stringify([result])}`,
    `unregister ${RUNTIME}`,
  ])
})

test('an instance that is not recorded cannot be suspended', async () => {
  const under = await settledWatch({}, { look: async () => [undefined] })
  under.heartbeat.beginTurn(7)

  await under.pass(60_000)

  expect(under.asked.at(-1)).toBe(`unregister ${RUNTIME}`)
  expect(under.asked).not.toContainEqual(expect.stringContaining('suspend'))
  expect(under.said).toEqual([
    expect.stringMatching(/^instance number 7 has blocked the event loop for 60 s/),
  ])
  expect(under.ends).toBe(1)
})

test('when the cause is unknown, the lease is ended, which counts as a death', async () => {
  const under = await settledWatch()

  await under.pass(60_000)

  expect(under.asked.at(-1)).toBe(`end ${RUNTIME}`)
  expect(under.said).toEqual([expect.stringMatching(/^the event loop has been blocked for 60 s/)])
  expect(under.ends).toBe(1)
})

test('if suspending fails, the lease is not ended either, and the process ends', async () => {
  const under = await settledWatch({}, { suspend: () => Promise.reject(new Error('no way')) })
  under.heartbeat.beginTurn(7)

  await under.pass(60_000)

  expect(under.asked.at(-1)).toBe('look 7')
  expect(under.said).toEqual([
    expect.stringMatching(
      /^instance number 7 has blocked .*; its work could not be released: no way; ending/,
    ),
  ])
  expect(under.ends).toBe(1)
})

test('a store that does not answer does not keep the process from ending', async () => {
  const under = await settledWatch({}, { suspend: () => new Promise(() => {}) })
  under.heartbeat.beginTurn(7)

  await under.pass(60_000)

  expect(under.said).toEqual([expect.stringContaining('did not answer within 5000 ms')])
  expect(under.ends).toBe(1)
})

test('a loop that comes back at the last moment continues', async () => {
  const under = await settledWatch({}, { unregister: async () => under.heartbeat.beat(false) })
  under.heartbeat.beginTurn(7)

  await under.pass(60_000)

  expect(under.asked).toContain('suspend a')
  expect(under.ends).toBe(0)
})

test('a process that was frozen as a whole is not given up', async () => {
  const under = await settledWatch()
  under.heartbeat.beginTurn(7)

  for (let i = 0; i < 3; i++) {
    under.freeze(3_600_000)
    await under.pass(5_000)
  }

  expect([under.said, under.ends]).toEqual([[], 0])
})

test('a process that was frozen as a whole causes no warning when it continues', async () => {
  const under = await settledWatch()

  under.freeze(3_600_000)
  await under.watch.check()
  under.keepUp()
  await under.pass(5_000)

  expect(under.warned).toEqual([])
})

test('a loop that beats occasionally is never given up', async () => {
  const under = await settledWatch()

  for (let i = 0; i < 5; i++) {
    await under.pass(55_000)
    under.heartbeat.beat(false)
  }

  expect(under.ends).toBe(0)
})

test.each([
  ['the watchdog is off', { onHang: 'ignore' as const }, false],
  ['a debugger is attached', {}, true],
])(
  'when %s, a loop that hangs is only released to other runtimes',
  async (_, given, isDebugged) => {
    const under = await settledWatch(given)
    under.heartbeat.beginTurn(7)
    under.heartbeat.beat(isDebugged)
    await under.pass(65_000)
    under.asked.length = 0

    await under.pass(120_000)
    expect({ asked: under.asked, ends: under.ends }).toEqual({ asked: [], ends: 0 })

    under.heartbeat.beat(isDebugged)
    await under.pass(5_000)
    expect(under.asked).toEqual([`renew ${RUNTIME} 30000`])
  },
)

test('a blocked loop is warned of early, once each time, with what blocks it', async () => {
  const under = await settledWatch({ onHang: 'release' })
  under.heartbeat.beginTurn(7)

  for (let i = 0; i < 2; i++) {
    await under.pass(45_000)
    under.keepUp()
    await under.pass(1)
  }

  const warning =
    'instance "a" of workflow "w" 2 has blocked the event loop for 15 s; after 60 s other runtimes take over its work'
  expect(under.warned).toEqual([warning, warning])
  expect(under.said).toEqual([])
})

test('without kill, it ends the lease once, and says what hangs', async () => {
  const under = await settledWatch({ onHang: 'release' })
  under.heartbeat.beginTurn(7)

  await under.pass(180_000)

  expect(under.said).toEqual([
    'instance "a" of workflow "w" 2 has blocked the event loop for 60 s; other runtimes take over its work',
  ])
  expect(under.asked.filter((what) => !/^(renew|look)/.test(what))).toEqual([`end ${RUNTIME}`])
  expect(under.asked.at(-1)).toBe(`end ${RUNTIME}`)
  expect(under.ends).toBe(0)
})

test('a lease that cannot be ended is left to expire', async () => {
  const under = await settledWatch(
    { onHang: 'release' },
    { endLease: () => Promise.reject(new Error('no way')) },
  )

  await under.pass(60_000)

  expect(under.said).toEqual([expect.stringContaining('its lease could not be ended (no way)')])
  expect(under.ends).toBe(0)
})

test('checks are frequent enough for short leases, and rare for long ones', () => {
  const { memory } = new SharedLoopHeartbeat()
  const every = (leaseMs: number, giveUpMs: number): number =>
    checkMs({ memory, leaseMs, giveUpMs, onHang: 'kill' })

  expect([every(30_000, 60_000), every(1_200, 60_000), every(30_000, 1_200)]).toEqual([
    5_000, 200, 200,
  ])
  expect(every(86_400_000, 86_400_000)).toBe(5_000)
})

const START = { iid: 9, id: 'new', parent: null, labels: '{}' } as StartItem
const FIRST = { iid: 9, id: 'new', definition: { name: 'w', version: '2' } }

test('an instance that hangs in its first turn is recorded and suspended', async () => {
  const under = await settledWatch()

  under.heartbeat.beginFirstTurn(FIRST, () => START)
  await under.pass(60_000)

  const what = 'instance "new" of workflow "w" 2 has blocked the event loop for 60 s'
  expect(under.asked.filter((ask) => !ask.startsWith('renew'))).toEqual([
    'start new {}',
    'suspend new',
    expect.stringContaining(what),
    `unregister ${RUNTIME}`,
  ])
  expect(under.said).toEqual([`${what}; the instance is suspended; ending this process`])
})

test.each<[string, StartItem, Partial<LeaseStore>]>([
  ['whose start is too long', { ...START, labels: 'x'.repeat(300_000) }, {}],
  ['whose id is taken', START, { start: async () => ['exists'] }],
])('what hangs in its first turn and %s is named', async (_, start, changed) => {
  const under = await settledWatch({}, changed)

  under.heartbeat.beginFirstTurn(FIRST, () => start)
  await under.pass(60_000)

  expect(under.said).toEqual([
    'instance "new" of workflow "w" 2 has blocked the event loop for 60 s; ending this process',
  ])
  expect(under.asked.filter((ask) => ask.startsWith('suspend'))).toEqual([])
})

test('the loop learns what blocked it, and whether its lease was given up', async () => {
  const under = await settledWatch({ onHang: 'release' })
  const { beats } = under.heartbeat

  under.heartbeat.beginFirstTurn(FIRST, () => START)
  await under.pass(20_000)
  const early = under.heartbeat.blockAfter(beats)
  await under.pass(40_000)

  const keys = { instanceId: 'new', workflow: 'w' }
  expect(early).toEqual({ ...keys, isReleased: false })
  expect(under.heartbeat.blockAfter(beats)).toEqual({ ...keys, isReleased: true })
  expect(under.heartbeat.blockAfter(beats + 1)).toBeUndefined()
})
