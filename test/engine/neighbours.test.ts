import { setTimeout as pass } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/sqlite.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const echo = activity('echo', async (n: number) => n)

test('a log line that cannot be written stops no instance', async () => {
  const chatty = workflow('chatty', async (n: number, ctx) => {
    const data = Object.defineProperty({}, 'x', {
      enumerable: true,
      get() {
        throw new Error('boom')
      },
    })
    if (n === 3) ctx.log.info(data, 'hi')
    return ctx.run(echo, n)
  })
  await using runtime = await open('memory:', { register: chatty, log: quiet })

  const results = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => runtime.run(chatty, n)))

  expect(results).toEqual([1, 2, 3, 4, 5, 6])
})

test('a line says what its data was when it was logged', async () => {
  const seen: object[] = []
  const log = { ...quiet, info: (data: object) => void seen.push(data) }
  const w = workflow('w', async (_: undefined, ctx) => {
    const data = { count: 1 }
    ctx.log.info(data, 'first')
    data.count = 2
  })
  await using runtime = await open('memory:', { register: w, log })

  await runtime.run(w)

  expect(seen).toEqual([expect.objectContaining({ count: 1 })])
})

test('an instance whose activity has no code here goes to a runtime that has it', async () => {
  const mail = activity<string, string>('mail')
  const sent = mail.implement(async (to) => `sent to ${to}`)
  const notify = workflow('notify', async (to: string, ctx) => ctx.run(mail, to))
  const store = sqlite({ path: ':memory:' })
  await using without = await open(store, { register: notify, log: quiet, lease: '3s' })
  const having = await open(store, { register: [notify, sent], log: quiet, lease: '3s' })

  const result = await without.run(notify, 'Kim', { timeout: '18s' })

  expect(result).toBe('sent to Kim')
  await having.close()
})

test('instances that wait for code elsewhere leave room for others', async () => {
  const nowhere = activity<undefined, void>('nowhere')
  const waits = workflow('waits', async (_: undefined, ctx) => ctx.run(nowhere))
  const runs = workflow('runs', async (n: number, ctx) => ctx.run(echo, n))
  await using runtime = await open('memory:', {
    register: [waits, runs],
    concurrency: { instances: 2 },
    log: quiet,
  })

  for (let i = 0; i < 3; i++) await runtime.start(waits)

  expect(await runtime.run(runs, 7)).toBe(7)
})

test('a result that cannot be stored is not tried again', async () => {
  let runs = 0
  const bad = activity('bad', async () => {
    runs++
    return () => 1
  })
  const w = workflow('w', async (_: undefined, ctx) => ctx.run(bad))
  await using runtime = await open('memory:', { register: w, log: quiet })

  await expect(runtime.run(w)).rejects.toThrow('cannot store a function')
  expect(runs).toBe(1)
})

test('thousands of activities that are no longer needed are dropped without harm', async () => {
  const slow = activity('slow', async (n: number, ctx) => {
    if (n === 0) throw new Error('no')
    await pass(5, undefined, { signal: ctx.signal }).catch(() => {})
    return n
  })
  const fan = workflow('fan', async (count: number, ctx) => {
    const all = Array.from({ length: count }, (_, n) =>
      ctx.run(slow, n, { retry: { maxAttempts: 1 } }),
    )
    await Promise.all(all)
  })
  const after = workflow('after', async (n: number, ctx) => ctx.run(echo, n))
  await using runtime = await open('memory:', { register: [fan, after], log: quiet })

  await expect(runtime.run(fan, 20_000)).rejects.toThrow('failed after 1 attempt')

  expect(await runtime.run(after, 1)).toBe(1)
})
