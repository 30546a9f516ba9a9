import { expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const go = channel<string>('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
const render = activity<string, string>('render')
const films = workflow('films', async (name: string, ctx) => ctx.run(render, name, { tag: 'gpu' }))
const pays = workflow('pays', async (n: number) => {
  if (n >= 0) throw new RangeError(`card ${n} of "customer ${n}" was declined`)
  throw new TypeError('no amount')
})

describeOnStores('figures for people', (kind) => {
  test('runtimes, workflows and what no runtime serves are shown, with the reason', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, films])
    await holdfast.start(waits, undefined, { id: 'w' })
    await holdfast.start(films, 'a', { id: 'f' })
    const client = space.connect()
    const { admin } = client
    await eventually(async () => (await admin.tasks()).items.length === 1)

    const [runtime] = await admin.runtimes()
    expect(runtime).toMatchObject({
      pid: process.pid,
      state: 'alive',
      workflows: [{ name: 'films' }, { name: 'waits' }],
      tags: [],
      untagged: true,
      tasks: 0,
    })
    expect(runtime!.leaseUntil.getTime()).toBeGreaterThan(Date.now() - 60_000)
    expect(await admin.workflows()).toMatchObject([
      { name: 'films', running: 1, suspended: 0, servedBy: 1 },
      { name: 'waits', running: 1, suspended: 0, servedBy: 1 },
    ])
    expect(await admin.unserved()).toMatchObject(
      [{ kind: 'activity', name: 'render', tag: 'gpu', waiting: 1, reason: /serves tag/ }].map(
        ({ reason, ...rest }) => ({ ...rest, reason: expect.stringMatching(reason) }),
      ),
    )
    expect((await admin.tasks({ tag: 'gpu' })).items).toMatchObject([
      {
        instanceId: 'f',
        workflow: 'films',
        activity: 'render',
        tag: 'gpu',
        state: 'waiting',
        attempt: 1,
      },
    ])
    expect((await admin.tasks({ tag: '' })).items).toEqual([])

    await holdfast.close({ drain: 0 })
    expect(await admin.runtimes()).toEqual([])
    expect(await admin.unserved()).toMatchObject([
      { kind: 'workflow', name: 'films', reason: 'no live runtime registers workflow "films"' },
      { kind: 'workflow', name: 'waits', waiting: 1 },
      { kind: 'activity', name: 'render', reason: 'no live runtime serves tag "gpu"' },
    ])
  })

  test('stats and metrics count what there is to do [test_system_metrics] [test_queue_depths]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, films, pays])
    await holdfast.start(waits, undefined, { id: 'w' })
    await holdfast.start(waits, undefined, { id: 'later', delay: '1h' })
    await holdfast.get('w').suspend()
    await holdfast.get('w').send(go, 'early')
    await holdfast.start(films, 'a')
    await holdfast.run(pays, 1).catch(() => {})
    const { admin } = space.connect()
    await eventually(async () => (await admin.tasks()).items.length === 1)

    const stats = await admin.stats()
    expect(
      stats.instances.map(({ workflow: name, status, count }) => [name, status, count]),
    ).toEqual([
      ['films', 'running', 1],
      ['pays', 'failed', 1],
      ['waits', 'scheduled', 1],
      ['waits', 'suspended', 1],
    ])
    expect(stats.tasks).toMatchObject([{ activity: 'render', tag: 'gpu', waiting: 1, running: 0 }])
    expect(stats.suspended).toBe(1)
    expect(stats.messages.waiting + stats.messages.parked).toBe(1)
    expect(await admin.metrics()).toMatchObject({
      'instances.failed': 1,
      'instances.failed.pays': 1,
      'instances.running': 1,
      'instances.scheduled': 1,
      'instances.suspended': 1,
      'instances.cancelled': 0,
      'tasks.waiting': 1,
      'tasks.waiting.render': 1,
      'tasks.running': 0,
    })
  })

  test('errors are grouped by what went wrong, the most frequent first', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([pays, waits])
    for (const n of [1, 2, 3, -1]) {
      await holdfast.run(pays, n, { id: `p${n}` }).catch(() => {})
    }
    await holdfast.start(waits, undefined, { id: 'w' })
    await holdfast.get('w').suspend('look')

    const groups = await holdfast.admin.errors()
    expect(groups).toMatchObject([
      { workflow: 'pays', name: 'RangeError', count: 3, latestId: 'p3', suspended: 0 },
      { count: 1 },
      { count: 1 },
    ])
    expect(groups[0]!.ids).toEqual(['p3', 'p2', 'p1'])
    expect(groups[0]!.message).toContain('card 3 of "customer 3" was declined')
    expect(groups.find(({ suspended }) => suspended === 1)).toMatchObject({
      workflow: 'waits',
      message: 'suspended: look',
      latestId: 'w',
    })
    const [again] = await holdfast.admin.errors({ workflow: pays, status: 'failed' })
    expect(again!.fingerprint).toBe(groups[0]!.fingerprint)
    expect(await holdfast.admin.errors({}, { limit: 1 })).toHaveLength(2)
  })

  test('an activity that runs says where and since when', async () => {
    await using space = await openSpace(kind)
    const finish = deferred()
    const slow = render.implement(async (name) => {
      await finish.promise
      return name
    })
    const holdfast = await space.open([films])
    await space.open([slow], { tags: ['gpu'] })
    const handle = await holdfast.start(films, 'a', { id: 'f' })
    await eventually(
      async () => (await holdfast.admin.tasks({ state: 'running' })).items.length === 1,
    )

    const { items } = await holdfast.admin.tasks({ instanceId: 'f' })
    const owner = (await holdfast.admin.runtimes()).find(({ tasks }) => tasks === 1)
    expect(items).toMatchObject([{ state: 'running', attempt: 1, runtime: owner!.id }])
    expect(items[0]!.since).toBeInstanceOf(Date)
    expect(owner).toMatchObject({ tags: ['gpu'], activities: ['render'] })
    finish.resolve()
    expect(await handle.result()).toBe('a')
  })
})
