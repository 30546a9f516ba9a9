/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
// Not the global ones, which are refused inside a workflow: these get past that.
import { setImmediate, setTimeout } from 'node:timers'
import { expect, test } from 'vitest'

import { activity, channel, NondeterminismError, TimeoutError, workflow } from '../../src/index.ts'
import { deferred, describeOnStoresAtOnce, eventually, openSpace } from '../support/engine.ts'
import { memoryLog } from '../support/workers.ts'

describeOnStoresAtOnce('suspended instances', (kind) => {
  test('code that changed suspends the instance with a report, and resumes after a fix', async () => {
    await using space = await openSpace(kind)
    let mayPass = false
    const held = activity('held', async (_: string, ctx) => {
      if (mayPass) return
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    })
    const other = activity<string, string>('other')
    const ship = activity('ship', async (id: string) => `shipped ${id}`)
    const before = workflow('order', async (id: string, ctx) => {
      await ctx.step('reserve', () => 1)
      await ctx.run(held, id)
      return ctx.run(ship, id)
    })
    const wrong = workflow('order', async (id: string, ctx) => {
      await ctx.step('reserve', () => 1)
      await ctx.run(other, id)
      return ctx.run(ship, id)
    })
    const first = await space.open(before)
    const started = await first.start(before, 'x', { id: 'o-1' })
    await eventually(async () =>
      (await started.info())!.waitingFor[0]?.startsWith('activity "held"'),
    )
    await first.close({ drain: 0 })

    const second = await space.open(wrong)
    const handle = second.get(before, 'o-1')
    const info = await eventually(async () => {
      const now = (await handle.info())!
      return now.status === 'suspended' && now
    })

    expect(info.error).toMatchObject({ name: 'NondeterminismError' })
    expect(info.error!.message).toMatch(
      /^command 2 was activity "held" with input "x", but the code now asks for activity "other" with input "x" at .*suspended\.test\.ts:\d+:\d+\)?; undo the change,/,
    )
    const waiting = handle.result()
    waiting.catch(() => {})
    const told = await eventually(() =>
      space.log.lines.find(({ message }) => message?.startsWith('result: ')),
    )
    expect(told.data).toEqual({ instanceId: 'o-1', workflow: 'order', execution: 1 })
    const reported = space.log.lines.filter(({ level }) => level === 'error')
    expect(reported).toMatchObject([
      { message: 'instance suspended; resume it once the cause is fixed' },
    ])
    expect(reported[0]!.data['err']).toBeInstanceOf(NondeterminismError)
    await second.close()

    mayPass = true
    const third = await space.open(before)
    expect((await third.get('o-1').info())!.status).toBe('suspended')
    await third.get('o-1').resume()
    expect(await third.get('o-1').result({ timeout: '8s' })).toBe('shipped x')
  })

  test('an activity that failed in the turn that suspends is not run again after resume', async () => {
    await using space = await openSpace(kind)
    const runs = { charge: 0, slow: 0 }
    let isFixed = false
    const charge = activity('charge', { retry: { maxAttempts: 1 } }, async () => {
      runs.charge++
      throw new Error('declined')
    })
    const slow = activity('slow', { totalTimeout: 20 }, async (_: undefined, { signal }) => {
      runs.slow++
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const order = workflow('order', async (what: keyof typeof runs, ctx) => {
      try {
        return await ctx.run(what === 'slow' ? slow : charge)
      } catch (error) {
        if (!isFixed) await new Promise((resolve) => setTimeout(resolve, 1))
        return (error as Error).message
      }
    })
    const runtime = await space.open(order)
    const instances = [await runtime.start(order, 'charge'), await runtime.start(order, 'slow')]
    for (const instance of instances) {
      await eventually(async () => (await instance.info())!.status === 'suspended')
    }

    isFixed = true
    const results = instances.map(async (instance) => {
      await instance.resume()
      return instance.result({ timeout: '8s' })
    })

    expect(await Promise.all(results)).toEqual([
      'activity "charge" failed after 1 attempt: declined',
      'activity "slow" took longer than 20 ms',
    ])
    expect(runs).toEqual({ charge: 1, slow: 1 })
    expect(
      space.log.lines
        .filter(({ message }) => message === 'activity failed; giving up')
        .map(({ data }) => String(data['activity']))
        .toSorted(),
    ).toEqual(['charge', 'slow'])
  })

  test('resuming an instance that is not suspended does nothing', async () => {
    await using space = await openSpace(kind)
    const release = deferred()
    const run = workflow('run', async (_, ctx) =>
      ctx.step('one', async () => {
        await release.promise
        return 1
      }),
    )
    const holdfast = await space.open(run)
    const handle = await holdfast.start(run)

    await handle.resume()

    expect(await handle.info()).toMatchObject({ status: 'running' })
    release.resolve()
    expect(await handle.result()).toBe(1)
  })

  test('a waiting result() logs that it is suspended, and resolves after it is resumed', async () => {
    await using space = await openSpace(kind)
    const go = channel<string>('go')
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
    const runtime = await space.open(waits)
    const instance = await runtime.start(waits, undefined, { id: 'w' })
    const log = memoryLog()
    const waiting = space.connect({ log }).get(waits, 'w').result()
    await instance.suspend('wait for the audit')

    const impatient = await instance.result({ timeout: 1_500 }).catch((error: unknown) => error)
    await eventually(() => log.lines.length > 0)
    await instance.resume()
    await instance.send(go, 'on')

    expect(impatient).toBeInstanceOf(TimeoutError)
    expect((impatient as Error).message).toBe(
      'result: instance "w" took longer than 1500 ms; it is suspended: wait for the audit',
    )
    expect(await waiting).toBe('on')
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'result: the instance is suspended; waiting for it to be resumed',
        data: {
          instanceId: 'w',
          workflow: 'waits',
          execution: 1,
          reason: 'suspended: wait for the audit',
        },
      },
    ])
  })

  test('a wait for something that is not durable suspends the instance', async () => {
    await using space = await openSpace(kind)
    const bad = workflow('bad', async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return 1
    })
    const holdfast = await space.open(bad)

    const handle = await holdfast.start(bad, undefined, { id: 'b' })
    const info = await eventually(async () => {
      const now = (await handle.info())!
      return now.status === 'suspended' && now
    })

    expect(info.error!.message).toMatch(
      /^instance "b" of workflow "bad" 1\.0\.0 waits for something that is not durable/,
    )
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a timer', () => new Promise((resolve) => setTimeout(resolve, 5))],
    ['an immediate', () => new Promise((resolve) => setImmediate(resolve))],
    ['a file', async () => (await import('node:fs/promises')).readFile('package.json')],
    ['a digest', () => crypto.subtle.digest('SHA-256', new Uint8Array(8))],
  ])('%s beside a durable wait suspends the instance at once', async (_, outside) => {
    await using space = await openSpace(kind)
    const bad = workflow('bad', async (returns: boolean, ctx) => {
      const timer = ctx.sleep('4s')
      await outside()
      if (!returns) await ctx.sleep(1)
      void timer
    })
    const holdfast = await space.open(bad)

    const handles = [await holdfast.start(bad, true), await holdfast.start(bad, false)]
    const infos = await Promise.all(
      handles.map((handle) =>
        eventually(async () => {
          const now = (await handle.info())!
          return now.status === 'suspended' && now
        }),
      ),
    )

    expect(infos[0]!.error!.message).toMatch(/returned outside any turn: it waited for something/)
    expect(infos[1]!.error!.message).toMatch(
      /called ctx\.sleep\(\) outside any turn: it waited for/,
    )
  })

  test('a promise shared between instances names both of them', async () => {
    await using space = await openSpace(kind)
    const shared = deferred()
    const waits = workflow('waits', async (_, ctx) => {
      const timer = ctx.sleep('4s')
      await shared.promise
      await ctx.sleep(1)
      void timer
    })
    const tells = workflow('tells', async (_, ctx) => {
      await ctx.step('one', () => 1)
      shared.resolve(undefined)
      await ctx.sleep(1)
    })
    const holdfast = await space.open([waits, tells])
    const handle = await holdfast.start(waits, undefined, { id: 'waiting' })

    await holdfast.run(tells, undefined, { id: 'telling' })
    const info = await eventually(async () => {
      const now = (await handle.info())!
      return now.status === 'suspended' && now
    })

    expect(info.error!.message).toMatch(
      /^instance "waiting" of .* called ctx\.sleep\(\) in the turn of instance "telling" of/,
    )
  })
})
