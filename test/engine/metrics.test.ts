import { expect, test } from 'vitest'

import { activity, channel, open, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { MemoryMetrics } from '../support/metrics.ts'
import { testSchema } from '../support/postgres.ts'

const broken = (): never => {
  throw new Error('broken sink')
}

const TWICE = { maxAttempts: 2, delay: 1, jitter: false }

describeOnStores('metrics', (kind) => {
  test('count starts, ends, turns, commits and attempts, each once', async () => {
    await using space = await openSpace(kind)
    const metrics = new MemoryMetrics()
    let calls = 0
    const flaky = activity('flaky', { retry: TWICE }, async () => {
      if (calls++ === 0) throw new Error('not yet')
    })
    const hopeless = activity('hopeless', { retry: { maxAttempts: 1 } }, async () => {
      throw new Error('never')
    })
    const good = workflow('good', async (_: undefined, ctx) => {
      await ctx.run(flaky)
      await ctx.step('note', () => 1)
    })
    const bad = workflow('bad', async (_: undefined, ctx) => ctx.run(hopeless))
    const runtime = await space.open([good, bad], { metrics })

    await runtime.run(good)
    await runtime.run(bad).catch(() => {})

    expect(metrics.sum('holdfast_instances_started', { workflow: 'good' })).toBe(1)
    expect(metrics.sum('holdfast_instances_started')).toBe(2)
    const ends = metrics.counts.filter(({ name }) => name === 'holdfast_instances_ended')
    expect(ends.map(({ labels }) => labels)).toEqual([
      { workflow: 'good', status: 'completed' },
      { workflow: 'bad', status: 'failed' },
    ])
    expect(metrics.values('holdfast_instance_ms')).toHaveLength(2)
    expect(metrics.values('holdfast_first_turn_delay_ms', { workflow: 'good' })).toHaveLength(1)
    expect(metrics.values('holdfast_turn_ms', { workflow: 'bad' })).toHaveLength(2)
    expect(metrics.values('holdfast_commit_ms').length).toBeGreaterThanOrEqual(4)
    expect(Math.min(...metrics.values('holdfast_commit_items'))).toBeGreaterThanOrEqual(1)
    const attempts = metrics.records.filter(({ name }) => name === 'holdfast_activity_ms')
    expect(attempts.map(({ labels }) => labels)).toEqual([
      { activity: 'flaky', outcome: 'retried' },
      { activity: 'flaky', outcome: 'completed' },
      { activity: 'note', outcome: 'completed' },
      { activity: 'hopeless', outcome: 'failed' },
    ])
    expect(metrics.latest('holdfast_runtime_instances')).toBe(0)
  })

  test('tell an instance that is replayed from one that is in memory, and count nothing twice', async () => {
    await using space = await openSpace(kind)
    const metrics = new MemoryMetrics()
    const go = channel<string>('go')
    const note = activity('note', async (text: string) => text)
    const waits = workflow('waits', async (_: undefined, ctx) => {
      await ctx.run(note, 'before')
      return ctx.run(note, (await ctx.receive(go)) ?? '')
    })
    const first = await space.open(waits, { metrics })
    const instance = await first.start(waits)
    await eventually(async () => metrics.values('holdfast_activity_ms').length === 1)
    await first.idle()
    await first.close()
    const started = metrics.sum('holdfast_instances_started')
    const second = await space.open(waits, { metrics })

    await second.get(instance.id).send(go, 'after')

    expect(await second.get(waits, instance.id).result()).toBe('after')
    expect(metrics.sum('holdfast_instances_claimed', { from: 'history' })).toBe(1)
    expect(metrics.sum('holdfast_takeovers')).toBe(0)
    expect(metrics.sum('holdfast_instances_started')).toBe(started)
    // One for each attempt: none for what was replayed.
    expect(metrics.values('holdfast_activity_ms')).toHaveLength(2)
    expect(metrics.values('holdfast_first_turn_delay_ms')).toHaveLength(1)
  })

  test('count due times of schedules, with how late they were', async () => {
    await using space = await openSpace(kind)
    const metrics = new MemoryMetrics()
    const hello = workflow('hello', async () => 'hi')
    const runtime = await space.open(hello, { metrics })

    await runtime.schedule('often', { every: '1s', overlap: 'allow' }, hello)

    const labels = { schedule: 'often', outcome: 'started' }
    await eventually(() => metrics.sum('holdfast_schedule_due_times', labels) > 0)
    const [delay] = metrics.values('holdfast_schedule_delay_ms', { schedule: 'often' })
    expect(delay).toBeGreaterThanOrEqual(0)
    expect(metrics.sum('holdfast_instances_started')).toBeGreaterThan(0)
  })

  test('count starts from a client without a runtime, suspensions and executions', async () => {
    await using space = await openSpace(kind)
    const metrics = new MemoryMetrics()
    const loops = workflow('loops', async (left: number, ctx) => {
      if (left > 0) return ctx.continueAsNew(left - 1)
      return 'done'
    })
    const strays = workflow('strays', async () => new Promise<void>(() => {}))
    const runtime = await space.open([loops, strays], { metrics })
    const client = space.connect({ metrics })

    const loop = await client.start(loops, 2)
    const stray = await client.start(strays)

    expect(await runtime.get(loops, loop.id).result()).toBe('done')
    await eventually(
      () => metrics.sum('holdfast_instances_suspended', { workflow: 'strays' }) === 1,
    )
    expect(metrics.sum('holdfast_instances_started')).toBe(2)
    expect(metrics.sum('holdfast_instances_continued', { workflow: 'loops' })).toBe(2)
    expect(metrics.values('holdfast_first_turn_delay_ms', { workflow: 'strays' })).toEqual([])
    await runtime.get(stray.id).terminate('test')
    const terminated = { workflow: 'strays', status: 'terminated' }
    expect(metrics.sum('holdfast_instances_ended', terminated)).toBe(1)
  })
})

test('metrics count notifications between processes', async () => {
  await using space = await openSpace('postgres')
  const [sends, receives] = [new MemoryMetrics(), new MemoryMetrics()]
  const go = channel<string>('go')
  const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
  const owner = await space.open(waits, { metrics: receives })
  const other = await space.open(waits, { metrics: sends })
  const { id } = await owner.start(waits)

  await other.get(id).send(go, 'now')
  await other.get(id).result()

  expect(sends.sum('holdfast_hints', { direction: 'sent' })).toBeGreaterThan(0)
  await eventually(() => receives.sum('holdfast_hints', { direction: 'received' }) > 0)
})

test('metrics count the items that the store did not take', async () => {
  await using space = await openSpace('memory')
  const metrics = new MemoryMetrics()
  const hello = workflow('hello', async () => 'hi')
  const runtime = await space.open(hello, { metrics })

  await runtime.run(hello, undefined, { id: 'one' })
  await runtime.run(hello, undefined, { id: 'one' })

  expect(metrics.sum('holdfast_commit_items_rejected', { verdict: 'exists' })).toBe(1)
})

test('a sink that throws affects nothing, and is logged once', async () => {
  await using space = await openSpace('memory')
  const hello = workflow('hello', async () => 'hi')
  const runtime = await space.open(hello, {
    metrics: { count: broken, record: broken, gauge: broken },
  })

  expect(await runtime.run(hello)).toBe('hi')

  const lines = space.log.lines.filter(({ message }) => message.startsWith('a metrics sink threw'))
  expect(lines).toHaveLength(1)
})

test('a sink of open() also receives the calls of a store that is given as a URL', async () => {
  // A URL means the schema that other tests may use, too: in a database of its own.
  await using server = await testSchema('metrics')
  await server.query(`create database ${server.schema}`)
  const url = new URL(server.url)
  url.pathname = `/${server.schema}`
  const metrics = new MemoryMetrics()
  const hello = workflow('hello', async () => 'hi')
  const runtime = await open(url.href, { register: hello, metrics })

  await runtime.run(hello)

  await runtime.close()
  await server.query(`drop database ${server.schema}`)
  expect(metrics.sum('holdfast_db_calls', { procedure: 'commit_batch' })).toBeGreaterThan(0)
  expect(metrics.sum('holdfast_instances_ended')).toBe(1)
})
