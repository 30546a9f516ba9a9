// Weak points of the system that the contract describes (its section 9.1), by their numbers: those of
// activities, of results on their way, and of closing.

import { setTimeout as passTime } from 'node:timers/promises'
import { expect, test } from 'vitest'

import { silentLog } from '../../src/base/log.ts'
import { activity, ActivityError, connect, failure, open, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'

function lost(): never {
  throw new StoreError('connection_lost', 'test', 'for a moment')
}

/** A store in memory; calls of these methods fail as long as `faults` says so. */
function failingStore(
  faults: (method: keyof WorkflowStore) => 'before' | 'after' | undefined,
): StoreHandle {
  const handle = sqlite({ path: ':memory:' }) as StoreHandle
  const wrap = (store: WorkflowStore): WorkflowStore =>
    new Proxy(store, {
      get(target, name) {
        if (name === 'keepLease') return undefined
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function' || name === 'within') return member
        return async (...args: unknown[]): Promise<unknown> => {
          const fault = faults(name as keyof WorkflowStore)
          if (fault === 'before') lost()
          const answer: unknown = await member.apply(target, args)
          return fault === 'after' ? lost() : answer
        }
      },
    })
  return { kind: handle.kind, [OPEN_WORKFLOW_STORE]: () => wrap(handle[OPEN_WORKFLOW_STORE]()) }
}

test('a database that fails for a moment stops no activity [gap_10]', async () => {
  let down = false
  let asked = 0
  const store = failingStore((method) => {
    if (!down || !['renewLease', 'tick', 'beat', 'commit', 'claimTasks'].includes(method))
      return undefined
    asked++
    return 'before'
  })
  const begun: number[] = []
  let aborted = false
  const long = activity('long', { heartbeatTimeout: '1m' }, async (_: undefined, ctx) => {
    begun.push(ctx.attempt)
    ctx.signal.addEventListener('abort', () => (aborted = true))
    down = true
    for (let i = 0; asked < 5 && i < 200; i++) {
      ctx.heartbeat(i)
      await passTime(10)
    }
    down = false
    return 'done'
  })
  const runs = workflow('runs', async (_: undefined, ctx) => ctx.run(long))
  await using runtime = await open(store, { register: runs, lease: '1s', log: silentLog })

  expect(await runtime.run(runs, undefined, { timeout: '15s' })).toBe('done')
  expect([begun, aborted, asked >= 5]).toEqual([[1], false, true])
})

test('a result that could not be stored is sent again at once [gap_11]', async () => {
  let failures = 3
  const store = failingStore((method) =>
    method === 'finishTasks' && failures-- > 0
      ? failures % 2 === 0
        ? 'after'
        : 'before'
      : undefined,
  )
  const runs: number[] = []
  const work = activity('work', { session: 's' }, async (_: undefined, ctx) =>
    runs.push(ctx.attempt),
  )
  const calls = workflow('calls', async (_: undefined, ctx) => ctx.run(work))
  await using runtime = await open(store, { register: calls, log: silentLog })
  const begunMs = performance.now()

  await runtime.run(calls, undefined, { timeout: '15s' })

  expect(runs).toEqual([1])
  // Long before a lease ends.
  expect(performance.now() - begunMs).toBeLessThan(5_000)
})

test('an error of the store ends no instance [gap_12]', async () => {
  let failures = 6
  const store = failingStore((method) =>
    method === 'commit' && failures-- > 0 ? (failures % 2 === 0 ? 'after' : 'before') : undefined,
  )
  const step = workflow('step', async (_: undefined, ctx) => {
    const values: number[] = []
    for (let i = 0; i < 4; i++) values.push(await ctx.step(`number ${i}`, () => i))
    return values
  })
  await using runtime = await open(store, { register: step, log: silentLog })

  expect(await runtime.run(step, undefined, { timeout: '15s' })).toEqual([0, 1, 2, 3])
  expect(failures).toBeLessThan(1)
})

test('time-outs are retried, final failures are not, and totalTimeout limits all attempts [gap_18]', async () => {
  await using space = await openSpace('memory')
  const Final = failure('FinalInGapTest', { retryable: false })
  const attempts: Record<string, number[]> = { late: [], final: [], endless: [] }
  const late = activity(
    'late',
    { timeout: 20, retry: { maxAttempts: 2, delay: 1 } },
    async (_: undefined, ctx) => {
      attempts['late']!.push(ctx.attempt)
      if (ctx.attempt === 1) await passTime(60)
      return 'in time'
    },
  )
  const final = activity('final', { retry: { delay: 1 } }, (_: undefined, ctx) => {
    attempts['final']!.push(ctx.attempt)
    throw new Final('no')
  })
  const endless = activity(
    'endless',
    { totalTimeout: 100, retry: { maxAttempts: 1_000, delay: 20, backoff: 'fixed' } },
    (_: undefined, ctx) => {
      attempts['endless']!.push(ctx.attempt)
      throw new Error('again')
    },
  )
  const tries = workflow('tries', async (_: undefined, ctx) => [
    await ctx.run(late),
    await ctx.run(final).catch((error: unknown) => error instanceof Final),
    await ctx.run(endless).catch((error: unknown) => (error as Error).constructor.name),
  ])
  const runtime = await space.open(tries)

  const [inTime, isFinal, error] = await runtime.run(tries, undefined, { timeout: '15s' })

  expect([inTime, isFinal]).toEqual(['in time', true])
  expect(['TimeoutError', ActivityError.name]).toContain(error)
  expect(attempts).toMatchObject({ late: [1, 2], final: [1] })
  expect(attempts['endless']!.length).toBeLessThan(20)
})

test('messages to unknown ids delay nothing else [gap_22]', async () => {
  await using space = await openSpace('memory')
  const quick = workflow('quick', async (n: number) => n)
  const client = connect(space.store)
  for (let i = 0; i < 20; i++) {
    await expect(client.get(`nobody ${i}`).cancel('why')).rejects.toThrow(`nobody ${i}`)
  }
  await client.start(quick, 7, { id: 'later' })
  const runtime = await space.open(quick)

  expect(await runtime.get(quick, 'later').result({ timeout: '5s' })).toBe(7)
  await client.close()
})

test('a close waits for no time-out, and the next runtime continues at once [gap_23]', async () => {
  await using space = await openSpace('memory')
  const begun = deferred()
  const cut = activity('cut', async (_: undefined, ctx) => {
    begun.resolve()
    if (ctx.attempt > 1 || ran++ > 0) return 'done'
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    throw new Error('stopped')
  })
  let ran = 0
  const calls = workflow('calls', async (_: undefined, ctx) => ctx.run(cut))
  const sleeps = workflow('sleeps', async (_: undefined, ctx) => ctx.sleep('1h'))
  const first = await space.open([calls, sleeps], { lease: '30s' })
  await first.start(sleeps, undefined, { id: 'asleep' })
  await eventually(async () => (await first.get('asleep').info())?.waitingFor.length === 1)
  await first.start(calls, undefined, { id: 'cut off' })
  await begun.promise
  const begunMs = performance.now()

  await first.close({ drain: 200 })
  const second = await space.open([calls, sleeps], { lease: '30s' })

  expect(await second.get(calls, 'cut off').result({ timeout: '10s' })).toBe('done')
  expect(performance.now() - begunMs).toBeLessThan(5_000)
})
