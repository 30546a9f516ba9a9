import { expect, test } from 'vitest'

import type {
  ApiEvent,
  BulkJob,
  CountAnswer,
  ErrorAnswer,
  ErrorsAnswer,
  HistoryAnswer,
  InstanceAnswer,
  InstancesAnswer,
  OutputAnswer,
  OverviewAnswer,
  ReachAnswer,
  RuntimesAnswer,
  ScheduleAnswer,
  SchedulesAnswer,
  StateAnswer,
  TasksAnswer,
  TreeAnswer,
  WorkflowsAnswer,
} from '../../src/dashboard/api.ts'
import { activity, channel, stateKey, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace, type StoreKind } from '../support/engine.ts'
import { ask, query, written } from './shown.ts'

const go = channel<unknown>('go')
const charged = stateKey<number>('total')
const greet = activity('greet', async (name: string) => ({ hello: name, at: new Date(0) }))
const child = workflow('child', async (n: number) => n * 2)
const order = workflow('order', async (n: number, ctx) => {
  ctx.progress({ step: 'greeting', n })
  ctx.state.set(charged, 1)
  await ctx.run(greet, 'kim')
  ctx.state.set(charged, 2)
  await ctx.run(child, n, { id: `${ctx.info.id}-child` })
  return ctx.receive(go)
})
const fails = workflow('fails', async (n: number) => {
  throw new Error(`card ${n} was declined`)
})
const remote = activity('remote', { tag: 'gpu', startTimeout: '1h' }, async (n: number) => n)
const needsGpu = workflow('needs-gpu', async (n: number, ctx) => ctx.run(remote, n))

const REGISTERED = [order, child, fails, needsGpu]

async function openOrders(kind: StoreKind, count = 3) {
  const space = await openSpace(kind)
  const runtime = await space.open(REGISTERED)
  for (let i = 0; i < count; i++) {
    await runtime.start(order, i, { id: `order-${i}`, labels: { shop: i === 0 ? 'a' : 'b' } })
  }
  const asked = ask(space.connect())
  await eventually(async () => {
    const infos = await Promise.all(
      Array.from({ length: count }, (_, i) => runtime.get(`order-${i}`).info()),
    )
    return infos.every((info) => info?.waitingFor[0]?.includes('go'))
  })
  return {
    runtime,
    ...asked,
    async [Symbol.asyncDispose]() {
      await space[Symbol.asyncDispose]()
    },
  }
}

describeOnStores('instances over HTTP', (kind) => {
  test('they are listed by filter, in pages that neither repeat nor skip', async () => {
    await using shown = await openOrders(kind, 5)

    const all = await shown.get<InstancesAnswer>('api/instances?workflow=order')
    const pages: string[][] = []
    let after = ''
    do {
      const page = await shown.get<InstancesAnswer>(
        `api/instances?${query({ workflow: 'order', limit: 2, after })}`,
      )
      pages.push(page.items.map(({ id }) => id))
      after = page.next ?? ''
    } while (after !== '')

    expect(all.items.map(({ id }) => id)).toEqual(pages.flat())
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(all.items[4]).toMatchObject({
      id: 'order-0',
      status: 'running',
      labels: { shop: 'a' },
      progress: { shown: { step: 'greeting', n: 0 }, truncated: false },
    })
    for (const [filter, ids] of [
      ['label=shop%3Da', ['order-0']],
      ['idPrefix=order-1', ['order-1-child', 'order-1']],
      ['parentId=order-2', ['order-2-child']],
      ['status=completed&status=failed&idPrefix=order-0', ['order-0-child']],
      [query({ createdAfter: '2100-01-01T00:00:00Z' }), []],
    ] as const) {
      const found = await shown.get<InstancesAnswer>(`api/instances?${filter}`)
      expect(found.items.map(({ id }) => id)).toEqual(ids)
    }
    const twoValues = await shown.fetch('api/instances?label=shop%3Da&label=shop%3Db')
    expect(twoValues.status).toBe(400)
    expect(await twoValues.text()).toContain('no instance has two values of one label')
    expect(await shown.get<CountAnswer>('api/instances/count?workflow=order')).toEqual({
      count: 5,
      isMore: false,
    })
    expect(await shown.get<CountAnswer>('api/instances/count?limit=3')).toEqual({
      count: 3,
      isMore: true,
    })
  })

  test('those that a bulk change would reach are counted, and no others', async () => {
    await using shown = await openOrders(kind, 3)
    await shown.runtime.get('order-1').suspend()

    const reached = await Promise.all(
      ['cancel', 'resume', 'delete'].map((verb) =>
        shown.get<ReachAnswer>(`api/instances/reach?idPrefix=order-&verb=${verb}`),
      ),
    )

    expect(reached.map(({ count }) => count)).toEqual([3, 1, 3])
    expect(
      await shown.get<ReachAnswer>('api/instances/reach?status=completed&verb=cancel'),
    ).toEqual({ count: 0 })
    expect((await shown.fetch('api/instances/reach?idPrefix=order-')).status).toBe(400)
  })

  test('one shows what it waits for, its tree, its history, its state and its result', async () => {
    await using shown = await openOrders(kind, 1)

    const { instance, executions, usage } =
      await shown.get<InstanceAnswer>('api/instance?id=order-0')
    expect(instance.waitingFor).toEqual(['message on channel "go"'])
    expect(usage).toMatchObject({ executions: 1, stateKeys: 1 })
    const tree = await shown.get<TreeAnswer>('api/instance/tree?id=order-0-child')
    expect(tree.items.map(({ id }) => id)).toEqual(['order-0', 'order-0-child'])

    const history = await shown.get<HistoryAnswer>('api/instance/history?id=order-0')
    expect(history.items.length).toBe(executions[0]!.events)
    expect(history.items.map(({ type, name }) => `${type} ${name ?? ''}`)).toContain(
      'activity greet',
    )
    const answered = history.items.find(({ type }) => type === 'completed')!
    expect(answered.data!.shown).toMatchObject({
      value: { hello: 'kim', at: { $: 'date', v: '1970-01-01T00:00:00.000Z' } },
    })
    const paged: ApiEvent[] = []
    let next: number | undefined = 0
    while (next !== undefined) {
      const page: HistoryAnswer = await shown.get(
        `api/instance/history?${query({ id: 'order-0', after: next, limit: 3, execution: 1 })}`,
      )
      expect(page.items.length).toBeLessThanOrEqual(3)
      paged.push(...page.items)
      next = page.next
    }
    expect(paged).toEqual(history.items)
    expect(
      await shown.get(`api/instance/event?${query({ id: 'order-0', seq: answered.seq })}`),
    ).toEqual(answered)
    const slim = await shown.get<HistoryAnswer>('api/instance/history?id=order-0&values=none')
    expect(slim.items.every((event) => event.data === undefined)).toBe(true)

    const state = await shown.get<StateAnswer>('api/instance/state?id=order-0')
    expect(state).toMatchObject({ at: history.items.length, items: [{ key: 'total' }] })
    expect(state.items[0]!.value.shown).toBe(2)
    const before = await shown.get<StateAnswer>(
      `api/instance/state?${query({ id: 'order-0', at: answered.seq - 1 })}`,
    )
    expect(before.items[0]!.value.shown).toBe(1)

    await shown.post('api/instance/send', { id: 'order-0', channel: 'go', data: { ok: true } })
    await shown.runtime.get('order-0').result()
    const output = await shown.get<OutputAnswer>('api/instance/output?id=order-0')
    expect(output.output).toEqual({ shown: { ok: true }, truncated: false })
    const exported = await shown.fetch('api/instance/export?id=order-0')
    expect(exported.headers.get('content-disposition')).toBe('attachment')
    expect(await exported.json()).toMatchObject({ holdfast: 1, id: 'order-0', workflow: 'order' })
  })

  test('one can be sent to, and forked from an event', async () => {
    await using shown = await openOrders(kind, 1)

    const forked = await shown.post<{ id: string }>('api/instance/fork', {
      id: 'order-0',
      at: 1,
      newId: 'again',
    })
    await shown.post('api/instance/send', { id: 'again', channel: 'go', data: [1], dedupeKey: 'k' })
    await shown.post('api/instance/send', { id: 'again', channel: 'go', data: [2], dedupeKey: 'k' })

    expect(forked).toEqual({ id: 'again' })
    expect(await shown.runtime.get('again').result()).toEqual([1])
  })

  test('many are changed by ids or by a filter, with progress', async () => {
    await using shown = await openOrders(kind, 4)

    const suspended = await shown.post<BulkJob>('api/instances/suspend', {
      filter: { workflow: 'order', label: ['shop=b'] },
      reason: 'incident',
    })
    expect(suspended).toMatchObject({ state: 'done', total: 3, seen: 3, changed: 3, refused: [] })
    const twoValues = written({ filter: { label: ['shop=a', 'shop=b'] } })
    expect((await shown.fetch('api/instances/terminate', twoValues)).status).toBe(400)
    expect(await shown.get('api/instances?status=suspended')).toMatchObject({
      items: [{ error: { message: 'suspended: incident' } }, {}, {}],
    })
    expect(await shown.post('api/instances/resume', { filter: {} })).toMatchObject({ changed: 3 })
    const refused = await shown.post<BulkJob>('api/instances/delete', {
      ids: ['order-0', 'order-0-child', 'nobody'],
    })
    expect(refused).toMatchObject({ state: 'done', total: 3, changed: 0 })
    expect(refused.refused.map(({ id }) => id)).toEqual(['order-0', 'order-0-child'])
    expect(await shown.post('api/instances/cancel', { ids: ['order-1'] })).toMatchObject({
      changed: 1,
    })
    await eventually(
      async () => (await shown.runtime.get('order-1').info())?.status === 'cancelled',
    )
    expect(await shown.post('api/instances/terminate', { ids: ['order-2'] })).toMatchObject({
      changed: 1,
    })
    expect(
      await shown.post('api/instances/delete', { filter: { idPrefix: 'order-' }, force: true }),
    ).toMatchObject({ state: 'done', total: 8 })
    expect(await shown.get('api/instances?idPrefix=order-')).toEqual({ items: [] })
    const { items } = await shown.get<{ items: BulkJob[] }>('api/bulks')
    expect(items.map(({ verb }) => verb)).toEqual([
      'delete',
      'terminate',
      'cancel',
      'delete',
      'resume',
      'suspend',
    ])
    expect(await shown.get(`api/bulk?job=${items[0]!.job}`)).toEqual(items[0])
    expect(await shown.post('api/bulk/stop', { job: items[0]!.job })).toEqual(items[0])
  })
})

describeOnStores('the store over HTTP', (kind) => {
  test('the overview has backlog, runtimes, throughput and latency', async () => {
    await using shown = await openOrders(kind, 2)
    const failed = await shown.runtime.start(fails, 7)
    await failed.result().catch(() => {})

    const overview = await shown.get<OverviewAnswer>('api/overview')

    expect(overview.runtimes).toEqual({ alive: 1, silent: 0, dead: 0 })
    expect(overview.stats.instances).toContainEqual({
      workflow: 'order',
      version: '1.0.0',
      status: 'running',
      count: 2,
    })
    const { recent } = overview
    const sum = (of: 'started' | 'completed' | 'failed'): number =>
      recent.buckets.reduce((total, bucket) => total + bucket[of], 0)
    expect([recent.sample, sum('started'), sum('completed'), sum('failed')]).toEqual([5, 5, 2, 1])
    expect(recent.workflows.find((one) => one.workflow === 'child')).toMatchObject({
      started: 2,
      completed: 2,
      p50Ms: expect.any(Number),
    })
    expect(overview).not.toHaveProperty('outbox')
    const { metrics } = await shown.get<{ metrics: Record<string, number> }>('api/metrics')
    expect(metrics['instances.running']).toBe(2)
  })

  test('workflows, runtimes, tasks and errors are what the administration says', async () => {
    await using shown = await openOrders(kind, 1)
    for (const n of [7, 8]) {
      await (await shown.runtime.start(fails, n, { id: `fails-${n}` })).result().catch(() => {})
    }
    await shown.runtime.start(needsGpu, 1, { id: 'gpu-1' })
    const tasks = await eventually(async () => {
      const found = await shown.get<TasksAnswer>('api/tasks?tag=gpu&state=waiting')
      return found.items.length > 0 && found
    })

    expect(tasks).toMatchObject({
      items: [{ instanceId: 'gpu-1', activity: 'remote', tag: 'gpu', state: 'waiting' }],
      totals: [{ activity: 'remote', tag: 'gpu', waiting: 1 }],
    })
    expect(await shown.get('api/tasks?instanceId=order-0')).toMatchObject({ items: [] })
    const { items, unserved } = await shown.get<WorkflowsAnswer>('api/workflows')
    expect(items.map(({ name, running }) => [name, running])).toEqual([
      ['child', 0],
      ['fails', 0],
      ['needs-gpu', 1],
      ['order', 1],
    ])
    expect(unserved).toMatchObject([{ kind: 'activity', name: 'remote', tag: 'gpu', waiting: 1 }])
    const runtimes = await shown.get<RuntimesAnswer>('api/runtimes')
    expect(runtimes.items).toMatchObject([{ state: 'alive', pid: process.pid, instances: 2 }])
    expect(runtimes).not.toHaveProperty('here')
    const inside = await ask(shown.runtime).get<RuntimesAnswer>('api/runtimes')
    expect(inside.here!.workers.map(({ name }) => name)).toContain('turns')
    const errors = await shown.get<ErrorsAnswer>('api/errors?workflow=fails')
    expect(errors.items).toMatchObject([{ workflow: 'fails', name: 'Error', count: 2 }])
    expect(errors.items[0]).not.toHaveProperty('ids')
  })

  test('an error shows the instances behind it, and all of them can be reached', async () => {
    await using shown = await openOrders(kind, 0)
    for (const n of [7, 8]) {
      await (await shown.runtime.start(fails, n, { id: `fails-${n}` })).result().catch(() => {})
    }
    const { items } = await shown.get<ErrorsAnswer>('api/errors')
    const { fingerprint } = items[0]!

    const { group, ids, instances } = await shown.get<ErrorAnswer>(
      `api/error?${query({ fingerprint })}`,
    )

    expect(group).toEqual(items[0])
    expect(ids).toEqual(['fails-8', 'fails-7'])
    expect(instances).toMatchObject([
      { id: 'fails-8', status: 'failed', error: { message: expect.stringContaining('card 8') } },
      { id: 'fails-7', status: 'failed' },
    ])
    expect(await shown.post<BulkJob>('api/instances/delete', { ids })).toMatchObject({ changed: 2 })
    expect((await shown.fetch(`api/error?${query({ fingerprint })}`)).status).toBe(404)
  })

  test('schedules show when they run next and what they started, and can be controlled', async () => {
    await using shown = await openOrders(kind, 0)
    await shown.runtime.schedule('nightly', { cron: '0 3 * * *' }, child, 4)

    const { id } = await shown.post<{ id: string }>('api/schedules/trigger', { name: 'nightly' })
    await shown.runtime.get(id).result()
    await shown.post('api/schedules/pause', { name: 'nightly' })
    const paused = await shown.get<SchedulesAnswer>('api/schedules')
    expect(paused.items).toMatchObject([{ name: 'nightly', paused: true, nextRuns: [] }])
    await shown.post('api/schedules/resume', { name: 'nightly' })

    const one = await shown.get<ScheduleAnswer>('api/schedule?name=nightly')
    expect(one.schedule).toMatchObject({ workflow: 'child', cron: '0 3 * * *', started: 1 })
    expect(one.schedule.nextRuns.length).toBe(5)
    expect(one.runs).toMatchObject([{ id, status: 'completed' }])
    await shown.post('api/schedules/delete', { name: 'nightly' })
    expect((await shown.fetch('api/schedule?name=nightly')).status).toBe(404)
  })
})
