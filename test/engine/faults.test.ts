/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import { activity, connect, open, type Store, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import type { CommitBatch } from '../../src/store/commits.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { Dice } from '../support/programs.ts'
import { eventually } from '../support/engine.ts'
import { memoryLog } from '../support/workers.ts'

type Method = keyof WorkflowStore

/** A store in memory whose calls go through `around` first. */
function faultyStore(
  observation: (method: Method, args: readonly unknown[], call: () => Promise<unknown>) => unknown,
): Store {
  const inner = sqlite({ path: ':memory:' }) as StoreHandle
  const wrap = (store: WorkflowStore): WorkflowStore =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        // Its lease is renewed by ticks alone, which may fail.
        if (name === 'keepLease') return undefined
        if (typeof member !== 'function') return member
        return (...args: unknown[]) =>
          observation(name as Method, args, () => member.apply(target, args) as Promise<unknown>)
      },
    })
  const handle: StoreHandle = {
    kind: 'faulty',
    [OPEN_WORKFLOW_STORE]: () => wrap(inner[OPEN_WORKFLOW_STORE]()),
  }
  return handle
}

const lost = (): StoreError => new StoreError('connection_lost', 'test', 'the answer is gone')

describe.concurrent('a store that fails', () => {
  test('answers that are lost change no result, and nothing recorded runs again', async () => {
    const dice = new Dice(7)
    let faults = 0
    let row = 0
    const store = faultyStore(async (method, _, call) => {
      const spared = method === 'open' || method === 'close' || method === 'register'
      if (!spared && row < 3 && dice.below(3) === 0) {
        faults++
        // Not for long at a time: the loops wait longer and longer.
        row++
        // Half of them fail before anything happened, half after it was done.
        if (dice.below(2) === 0) await call()
        throw lost()
      }
      row = 0
      return call()
    })
    const runs = new Map<string, number>()
    const add = activity('add', async ([id, n]: [string, number]) => {
      runs.set(`${id} ${n}`, (runs.get(`${id} ${n}`) ?? 0) + 1)
      return n + 1
    })
    const sum = workflow('sum', async (id: string, ctx) => {
      let n = 0
      while (n < 5) n = await ctx.run(add, [id, n])
      return n
    })
    const holdfast = await open(store, { register: sum, log: memoryLog(), lease: '2s' })

    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        // A start or a look whose answer is lost may be asked for again: the id is the same.
        for (;;) {
          try {
            return await holdfast.run(sum, `i-${i}`, { id: `i-${i}`, timeout: '15s' })
          } catch (error) {
            if (!(error instanceof StoreError)) throw error
          }
        }
      }),
    )

    expect(results).toEqual(Array.from({ length: 30 }, () => 5))
    expect(faults).toBeGreaterThan(5)
    expect(new Set(runs.values())).toEqual(new Set([1]))
    await holdfast.close({ drain: 0 }).catch(() => {})
  })

  test('a turn that cannot be stored suspends its instance, and no other', async () => {
    const store = faultyStore((method, args, call) => {
      const text = method === 'commit' ? JSON.stringify((args[0] as CommitBatch).turns) : ''
      if (text.includes('poison')) throw new StoreError('rejected', 'commit', 'too large')
      return call()
    })
    const echo = workflow('echo', async (text: string, ctx) => ctx.step('echo', () => `${text}on`))
    await using holdfast = await open(store, { register: echo, log: memoryLog() })

    const bad = await holdfast.start(echo, 'pois', { id: 'bad' })
    const good = await Promise.all(Array.from({ length: 20 }, () => holdfast.run(echo, 'b')))

    expect(new Set(good)).toEqual(new Set(['bon']))
    const info = await eventually(async () => {
      const now = (await bad.info())!
      return now.status === 'suspended' && now
    })
    expect(info.error).toEqual({ name: 'StoreError', message: 'commit: too large' })
  })

  test('an instance that cannot be suspended is not retried forever', async () => {
    let refused = 0
    const store = faultyStore((method, args, call) => {
      const text = method === 'commit' ? JSON.stringify((args[0] as CommitBatch).turns) : ''
      if (text.includes('poison') || text.includes('"suspend"')) {
        refused++
        throw new StoreError('rejected', 'commit', 'too large')
      }
      return call()
    })
    const echo = workflow('echo', async (text: string, ctx) => ctx.step('echo', () => `${text}on`))
    await using holdfast = await open(store, { register: echo, log: memoryLog() })

    await holdfast.start(echo, 'pois')
    await eventually(() => refused >= 2)
    await holdfast.run(echo, 'b')
    await new Promise((resolve) => setTimeout(resolve, 100))

    expect(refused).toBe(2)
  })

  test('a connection that was lost for a moment does not reject a waiting result()', async () => {
    let failures = 0
    const store = faultyStore(async (method, _, call) => {
      if (method === 'look' && failures++ < 2) throw lost()
      return call()
    })
    const nap = workflow('nap', async (ms: number, ctx) => ctx.sleep(ms).then(() => 'slept'))
    await using holdfast = await open(store, { register: nap, log: memoryLog() })

    expect(await holdfast.run(nap, 5_200)).toBe('slept')
    expect(failures).toBeGreaterThan(1)
  })

  test('a start of a client whose answer is lost is sent again, and is there once', async () => {
    const items: unknown[] = []
    const store = faultyStore(async (method, args, call) => {
      if (method !== 'start') return call()
      items.push((args[0] as readonly { iid: number }[])[0]!.iid)
      const answer = await call()
      if (items.length === 1) throw lost()
      return answer
    })
    const once = workflow('once', async () => 1)
    await using client = connect(store, { log: memoryLog() })

    const handle = await client.start(once)

    expect(await handle.info()).toMatchObject({ status: 'scheduled', workflow: 'once' })
    expect(items).toHaveLength(2)
    expect(new Set(items).size).toBe(1)
  })

  test('a claim of a runtime that was declared dead while it read is discarded', async () => {
    const ran: string[] = []
    let reading!: () => void
    const read = new Promise<void>((resolve) => (reading = resolve))
    let goOn!: () => void
    const gate = new Promise<void>((resolve) => (goOn = resolve))
    let hold = false
    let runtime = 0
    const numbers: number[] = []
    let inner!: WorkflowStore
    const store = faultyStore(async (method, args, call) => {
      if (method === 'register') {
        const registered = (await call()) as { runtime: number }
        numbers.push(registered.runtime)
        return registered
      }
      if (method === 'claim') runtime = (args[0] as { runtime: number }).runtime
      const answer = await call()
      if (method === 'load' && hold) {
        hold = false
        reading()
        await gate
      }
      return answer
    })
    inner = (store as StoreHandle)[OPEN_WORKFLOW_STORE]()
    const note = activity('note', async (what: string) => void ran.push(what))
    const two = workflow('two', async (_: undefined, ctx) => {
      await ctx.run(note, 'first')
      await ctx.run(note, 'second')
    })
    await using client = connect(store, { log: memoryLog() })
    await client.start(two, undefined, { id: 'i' })
    hold = true
    await using holdfast = await open(store, { register: two, log: memoryLog(), lease: '1s' })
    await read
    await inner.unregister(runtime)
    // It finds out by its tick, and claims anew under another number.
    await eventually(() => numbers.length > 1)
    goOn()

    await holdfast.get('i').result({ timeout: '10s' })

    expect(ran).toEqual(['first', 'second'])
    await inner.close()
  })
})
