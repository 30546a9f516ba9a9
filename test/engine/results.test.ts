import { expect, test } from 'vitest'

import { activity, ConflictError, TimeoutError, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const greet = activity('greet', async (name: string) => `hello ${name}`)
const hello = workflow('hello', async (name: string, ctx) => ctx.run(greet, name))
const double = workflow('double', async (n: number, ctx) => ctx.step('double', () => n * 2))

describeOnStores('results', (kind) => {
  test('a workflow returns what its activities gave it', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(hello)

    expect(await holdfast.run(hello, 'Kim')).toBe('hello Kim')
    expect(await holdfast.run(hello, 'Kim', { id: 'hello-kim' })).toBe('hello Kim')
  })

  test('a workflow that waits for nothing ends in its first turn', async () => {
    await using space = await openSpace(kind)
    const at = workflow('at-once', async (n: number) => n + 1)
    const holdfast = await space.open(at)

    const handle = await holdfast.start(at, 1)

    expect(await handle.result()).toBe(2)
    expect(await handle.info()).toMatchObject({ status: 'completed', waitingFor: [] })
  })

  test('a workflow without input and without result works', async () => {
    await using space = await openSpace(kind)
    const none = workflow('none', async (_, ctx) => ctx.sleep(1))
    const holdfast = await space.open(none)

    expect(await holdfast.run(none)).toBeUndefined()
    expect(await holdfast.run(none, undefined, { id: 'none' })).toBeUndefined()
  })

  test('an instance looks the same before and after it went through the store', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(hello)

    const handle = await holdfast.start(hello, 'Kim', { id: 'x' })
    const result = await handle.result()

    expect(await holdfast.get(hello, 'x').result()).toBe(result)
    expect(await holdfast.get('x').result()).toBe(result)
    expect(await space.connect().get(hello, 'x').result()).toBe(result)
  })

  test('ids are version 7 UUIDs unless given, and no two are the same', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(double)

    const handles = await Promise.all(
      Array.from({ length: 50 }, (_, n) => holdfast.start(double, n)),
    )

    const ids = handles.map(({ id }) => id)
    expect(new Set(ids).size).toBe(50)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/)
    const results = await Promise.all(handles.map((handle) => handle.result()))
    expect(results).toEqual(ids.map((_, n) => n * 2))
  })

  test.each(['', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(501)])(
    'an id such as %j is refused',
    async (id) => {
      await using space = await openSpace(kind)
      const holdfast = await space.open(hello)

      await expect(holdfast.start(hello, 'Kim', { id })).rejects.toThrow(
        /^start: id must be a string/,
      )
      expect(() => holdfast.get(id)).toThrow(/^get: id must be a string/)
    },
  )

  test.each(['ümläut', "it's", 'a/b?c=d', '💥', 'x'.repeat(500), ' ', '%00', '\\'])(
    'an id such as %j is kept as it is',
    async (id) => {
      await using space = await openSpace(kind)
      const holdfast = await space.open(hello)

      await holdfast.run(hello, 'Kim', { id })

      expect(await holdfast.get(id).info()).toMatchObject({ id, status: 'completed' })
    },
  )

  test('starting an id twice returns the instance that exists', async () => {
    await using space = await openSpace(kind)
    let runs = 0
    const count = activity('count', async () => ++runs)
    const once = workflow('once', async (_: string, ctx) => ctx.run(count))
    const holdfast = await space.open(once)

    const first = await holdfast.run(once, 'same', { id: 'one' })
    const second = await holdfast.run(once, 'same', { id: 'one' })

    expect([first, second, runs]).toEqual([1, 1, 1])
    expect(space.log.at('warn')).toEqual([])
  })

  test('starting an id many times at once runs one instance', async () => {
    await using space = await openSpace(kind)
    let runs = 0
    const count = activity('count', async () => ++runs)
    const once = workflow('once', async (_, ctx) => ctx.run(count))
    const holdfast = await space.open(once)
    const client = space.connect()

    const starts = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? holdfast : client).start(once, undefined, { id: 'one' }),
    )
    const results = await Promise.all((await Promise.all(starts)).map((one) => one.result()))

    expect(new Set(results)).toEqual(new Set([1]))
    expect(runs).toBe(1)
  })

  test('starting an id with another input returns the instance that exists, and says so', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(hello)
    await holdfast.run(hello, 'Kim', { id: 'one' })

    expect(await holdfast.run(hello, 'Lee', { id: 'one' })).toBe('hello Kim')
    expect(space.log.lines).toContainEqual({
      level: 'warn',
      message:
        'start: an instance with this id already exists, with a different input; returning the existing one',
      data: { instanceId: 'one', workflow: 'hello', execution: 1 },
    })
  })

  test('an id of another workflow is a conflict', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([hello, double])
    await holdfast.run(hello, 'Kim', { id: 'one' })

    const conflict = await holdfast.start(double, 1, { id: 'one' }).catch((error: unknown) => error)

    expect(conflict).toBeInstanceOf(ConflictError)
    expect(conflict).toMatchObject({ name: 'ConflictError', instanceId: 'one' })
    await expect(holdfast.get(double, 'one').result()).rejects.toThrow(ConflictError)
    await expect(space.connect().start(double, 1, { id: 'one' })).rejects.toThrow(
      'start: id "one" belongs to workflow "hello", not to "double"',
    )
  })

  test('an instance that was never started has no info and no result', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(hello)

    expect(await holdfast.get('nobody').info()).toBeUndefined()
    await expect(holdfast.get('nobody').result()).rejects.toThrow('there is no instance "nobody"')
    await expect(holdfast.get('nobody').resume()).rejects.toThrow('there is no instance "nobody"')
  })

  test('info says what an instance waits for, in the order it asked', async () => {
    await using space = await openSpace(kind)
    const release = deferred()
    const slow = activity('slow', async () => release.promise)
    const waits = workflow('waits', async (_, ctx) => {
      await ctx.step('first', () => 1)
      const timer = ctx.sleep('1d')
      await Promise.all([ctx.run(slow), ctx.step('look', () => release.promise)])
      timer.cancel()
    })
    const holdfast = await space.open(waits)
    const before = Date.now()

    const handle = await holdfast.start(waits, undefined, { id: 'w' })
    const info = await eventually(async () => {
      const now = await handle.info()
      return now!.waitingFor.length === 3 && now
    })

    expect(info).toMatchObject({ id: 'w', workflow: 'waits', version: '1.0.0', execution: 1 })
    expect(info).toMatchObject({ status: 'running' })
    const [timer, ...rest] = info.waitingFor
    expect(rest).toEqual([
      expect.stringMatching(/^activity "slow": attempt 1, running since /),
      expect.stringMatching(/^step "look": attempt 1, running since /),
    ])
    const until = Date.parse(/^timer until (\S+)$/.exec(timer!)![1]!)
    expect(until - before).toBeGreaterThanOrEqual(86_400_000 - 5_000)
    release.resolve()
    await handle.result()
    const end = (await handle.info())!
    expect(end).toMatchObject({ status: 'completed', waitingFor: [] })
    expect(end.finishedAt!.getTime()).toBeGreaterThanOrEqual(end.createdAt.getTime())
    expect(end.error).toBeUndefined()
  })

  test('waiting for a result ends after its time, and the instance continues', async () => {
    await using space = await openSpace(kind)
    const release = deferred<string>()
    const slow = workflow('slow', async (_, ctx) => ctx.step('wait', () => release.promise))
    const holdfast = await space.open(slow)
    const handle = await holdfast.start(slow)

    const late = await handle.result({ timeout: 20 }).catch((error: unknown) => error)
    release.resolve('done')

    expect(late).toBeInstanceOf(TimeoutError)
    expect(late).toMatchObject({ afterMs: 20 })
    expect(await handle.result({ timeout: '10s' })).toBe('done')
  })

  test('waiting for a result ends when its signal aborts', async () => {
    await using space = await openSpace(kind)
    const slow = workflow('slow', async (_, ctx) => ctx.sleep('1h'))
    const holdfast = await space.open(slow)
    const handle = await holdfast.start(slow)
    const other = space.connect()
    const stop = new AbortController()
    const reason = new Error('enough')

    const here = handle.result({ signal: stop.signal })
    const there = other.get(slow, handle.id).result({ signal: stop.signal, timeout: '1h' })
    const both = Promise.allSettled([here, there])
    setTimeout(() => stop.abort(reason), 30)

    expect(await both).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
    await expect(handle.result({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test('five thousand activities run side by side', { timeout: 60_000 }, async () => {
    await using space = await openSpace(kind)
    const square = activity('square', async (n: number) => n * n)
    const fan = workflow('fan', async (count: number, ctx) => {
      const all = await Promise.all(Array.from({ length: count }, (_, n) => ctx.run(square, n)))
      return all.reduce((sum, n) => sum + n, 0)
    })
    const holdfast = await space.open(fan)

    const sum = await holdfast.run(fan, 5_000)

    expect(sum).toBe((4_999 * 5_000 * 9_999) / 6)
  })

  test('no more activities run at once than allowed', async () => {
    await using space = await openSpace(kind)
    let running = 0
    let most = 0
    const busy = activity('busy', async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 2))
      running--
    })
    const fan = workflow('fan', async (_, ctx) => {
      await Promise.all(Array.from({ length: 30 }, () => ctx.run(busy)))
    })
    const holdfast = await space.open(fan, { concurrency: { activities: 4 } })

    await holdfast.run(fan)

    expect(most).toBe(4)
  })

  test('more instances than fit in memory all get their turn', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(double, { concurrency: { instances: 3 } })

    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) => holdfast.run(double, n, { timeout: '8s' })),
    )

    expect(results).toEqual(Array.from({ length: 40 }, (_, n) => n * 2))
  })

  test('a client starts what a runtime on the same store runs', async () => {
    await using space = await openSpace(kind)
    await space.open(hello, { lease: '1s' })
    const client = space.connect()

    expect(await client.run(hello, 'Kim', { id: 'from-client', timeout: '10s' })).toBe('hello Kim')
  })

  test('instances that were started before any runtime are run when one opens', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const handles = await Promise.all([1, 2, 3].map((n) => client.start(double, n)))
    expect(await handles[0]!.info()).toMatchObject({
      status: 'scheduled',
      waitingFor: ['a runtime that registers workflow "double" (no live runtime does)'],
    })

    await space.open(double)

    expect(await Promise.all(handles.map((one) => one.result({ timeout: '5s' })))).toEqual([
      2, 4, 6,
    ])
  })

  test('two runtimes share a store and a process', async () => {
    await using space = await openSpace(kind)
    const runtimes = [await space.open([hello, double]), await space.open([hello, double])]
    const round = (): Promise<number[]> =>
      Promise.all(
        Array.from({ length: 100 }, (_, n) => runtimes[n % 2]!.run(double, n, { timeout: '15s' })),
      )

    await round()
    const results = await round()

    expect(results).toEqual(Array.from({ length: 100 }, (_, n) => n * 2))
    expect(space.log.at('error')).toEqual([])
  })
})
