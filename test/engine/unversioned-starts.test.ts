import { expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import {
  describeOnStoresAtOnce,
  eventually,
  openSpace,
  STORES_IN_BOTH_MODES,
} from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

const go = channel<string>('go')
/** The workflow as clients refer to it: by its name. */
const order = workflow<string, string>('order')
const version = (number: string) =>
  order.implement(async (input, ctx) => `${input} by ${ctx.info.version}`, { version: number })
const waits = workflow<string, string>('waits')
const code = (number: string) =>
  waits.implement(async (_, ctx) => `${await ctx.receive(go)} ${ctx.info.version}`, {
    version: number,
  })
const QUICK = { lease: 1_500 } as const

describeOnStoresAtOnce('a start that names no version', (kind) => {
  test('has none until a runtime claims it, and then the latest of that runtime', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const started = await client.start(order, 'a')
    const old = await client.start(version('1.0.0'), 'b')
    const before = await started.info()
    const exported = await started.export()
    await space.open([version('1.0.0'), version('2.0.0'), version('3.0.0-rc.1')], QUICK)

    expect(before).toMatchObject({ workflow: 'order', version: '' })
    expect(before!.waitingFor[0]).toBe(
      'a runtime that registers workflow "order" (no live runtime does)',
    )
    expect(await started.result({ timeout: '10s' })).toBe('a by 2.0.0')
    // A definition does not request its version; the start names one.
    expect(await old.result({ timeout: '10s' })).toBe('b by 2.0.0')
    const pinned = client.run(order, 'c', { version: '1.0.0', timeout: '10s' })
    expect(await pinned).toBe('c by 1.0.0')

    expect((await started.info())!.version).toBe('2.0.0')
    expect((await eventsOf(started))[0]).toMatchObject({ data: { version: '2.0.0' } })
    expect(await started.export()).toMatchObject({ version: '2.0.0' })
    expect(exported.version).toBe('')
    const imported = await client.import(exported, { id: 'imported' })
    expect(await imported.result({ timeout: '10s' })).toBe('a by 2.0.0')
    const forked = await started.fork({ at: 1 })
    expect(await forked.result({ timeout: '10s' })).toBe('a by 2.0.0')
  })

  test('gets its version when it is claimed, even when it is delayed or restarted', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const older = await space.open(code('1.0.0'), QUICK)
    // This runtime has the code, and could decide now.
    const later = await older.start(waits, 'x', { id: 'later', delay: 4_000 })
    const before = await later.info()
    await client.start(waits, 'x', { id: 'again' })
    await older.close()
    await space.open([code('1.0.0'), code('2.0.0')], QUICK)
    const again = await client.start(waits, 'x', { id: 'again', onConflict: 'restart' })
    for (const { id } of [later, again]) await client.get(id).send(go, 'gone')

    expect(before).toMatchObject({ version: '', status: 'scheduled' })
    expect(await client.get('later').result({ timeout: '10s' })).toBe('gone 2.0.0')
    expect(await again.result({ timeout: '10s' })).toBe('gone 2.0.0')
  })

  test('continues with the version it began with, whichever runtime takes it over', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const first = await space.open(code('1.0.0'), QUICK)
    const started = await client.start(waits, 'x')
    await eventually(async () => (await started.info())!.version === '1.0.0')
    await first.close()
    await space.open([code('1.0.0'), code('2.0.0')], QUICK)
    await started.send(go, 'gone')

    expect(await started.result({ timeout: '10s' })).toBe('gone 1.0.0')
  })

  test('is run as a child of a workflow whose runtime has only the contract', async () => {
    await using space = await openSpace(kind)
    const double = activity('double', async (n: number) => n * 2)
    const parent = workflow('parent', async (_: undefined, ctx) => {
      await ctx.run(double, 1)
      const other = await ctx.start(order, 'other', { id: 'other' })
      return [await ctx.run(order, 'child'), other.id]
    })
    const runtime = await space.open(parent, QUICK)
    await space.open([version('1.0.0'), version('4.0.0')], QUICK)

    const result = await runtime.run(parent, undefined, { timeout: '10s' })

    expect(result).toEqual(['child by 4.0.0', 'other'])
    expect(await runtime.get('other').result({ timeout: '10s' })).toBe('other by 4.0.0')
  })
})

describeOnStoresAtOnce(
  'while an older and a newer runtime are alive, a start that names no version',
  (kind) => {
    test('runs the newer version, whichever runtime claims it first', async () => {
      await using space = await openSpace(kind)
      const client = space.connect()
      const older = await space.open(version('1.0.0'), QUICK)
      const newer = await space.open([version('1.0.0'), version('2.0.0')], QUICK)

      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => client.run(order, `${i}`, { timeout: '10s' })),
      )

      expect(results).toEqual(results.map((_, i) => `${i} by 2.0.0`))
      // Each runtime starts at once what it registers, in its own latest version.
      expect(await older.run(order, 'here')).toBe('here by 1.0.0')
      await newer.close()
      expect(await client.run(order, 'after', { timeout: '10s' })).toBe('after by 1.0.0')
    })
  },
  STORES_IN_BOTH_MODES,
)
