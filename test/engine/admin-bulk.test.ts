import { describe, expect, test } from 'vitest'

import {
  CancelledError,
  type Client,
  channel,
  ConflictError,
  NotFoundError,
  stateKey,
  workflow,
} from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const go = channel<string>('go')
const total = stateKey<number>('total')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
const quick = workflow('quick', async (n: number) => n)
const mark = workflow('mark', async (n: number) => n)
const parent = workflow('parent', async (id: string, ctx) => {
  const child = ctx.run(waits, undefined, { id: `${id}-child`, onParentClose: 'abandon' })
  child.catch(() => {})
  await ctx.receive(go)
})
const loops = workflow('loops', async (n: number, ctx): Promise<number> => {
  ctx.state.set(total, n)
  if (n < 4) return ctx.continueAsNew(n + 1)
  await ctx.receive(go)
  return n
})

describeOnStores('verbs for many instances', (kind) => {
  test('they reach what a filter means, and say how many', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, quick])
    const handles = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        holdfast.start(waits, undefined, {
          id: `w-${i}`,
          labels: { half: i < 6 ? 'first' : 'second' },
        }),
      ),
    )
    await holdfast.run(quick, 1)
    const client = space.connect()
    const { admin } = client

    expect(await admin.suspend({ workflow: waits }, 'incident')).toBe(12)
    expect(await handles[0]!.info()).toMatchObject({
      status: 'suspended',
      error: { message: 'suspended: incident' },
    })
    // What is suspended already keeps its reason.
    expect(await admin.suspend({ workflow: waits }, 'another')).toBe(12)
    expect(await admin.errors()).toMatchObject([{ message: 'suspended: incident', count: 12 }])
    expect(await admin.resume({ labels: { half: 'first' } })).toBe(6)
    expect(await admin.resume({})).toBe(6)
    expect(await admin.resume({})).toBe(0)
    expect(await admin.cancel({ labels: { half: 'first' } }, 'closed')).toBe(6)
    await expect(handles[0]!.result()).rejects.toThrow(CancelledError)
    expect(await admin.terminate({ workflow: waits }, 'enough')).toBe(6)
    await expect(handles[11]!.result()).rejects.toThrow('was terminated: enough')
    expect(await admin.terminate({})).toBe(0)
    await eventually(async () => (await admin.count({ status: 'cancelled' })) === 6)
    expect(await admin.count({ status: 'terminated' })).toBe(6)
  })

  test('terminating many is one warning, with the number, and a line of info for each', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    for (const id of ['a', 'b', 'c']) await client.start(waits, undefined, { id })

    expect(await client.admin.terminate({ workflow: waits }, 'enough')).toBe(3)
    expect(await client.admin.terminate({ workflow: waits })).toBe(0)

    const lines = space.log.lines.filter(({ message }) => message.includes('terminated'))
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: 'instances terminated', data: { count: 3, reason: 'enough' } },
    ])
    const infos = lines.filter(({ level }) => level === 'info')
    expect(infos.map(({ message, data }) => [message, data])).toMatchObject(
      ['c', 'b', 'a'].map((instanceId) => [
        'workflow terminated',
        { instanceId, reason: 'enough' },
      ]),
    )
  })

  test('they reach ids, and leave out what does not exist or has ended', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, quick])
    await holdfast.start(waits, undefined, { id: 'a' })
    await holdfast.run(quick, 1, { id: 'b' })

    expect(await holdfast.admin.suspend(['a', 'b', 'nobody', 'a'])).toBe(1)
    expect(await holdfast.admin.resume(['b', 'a'])).toBe(1)
    expect(await holdfast.admin.terminate(['a', 'nobody'])).toBe(1)
    expect(await holdfast.admin.cancel([])).toBe(0)
  })

  test('a forgotten argument does not mean everything', async () => {
    await using space = await openSpace(kind)
    const { admin } = space.connect()

    await expect(admin.terminate(undefined as never)).rejects.toThrow(
      'admin.terminate: needs a list of ids or a filter, got undefined',
    )
    await expect(admin.delete('x' as never)).rejects.toThrow('needs a list of ids or a filter')
    await expect(admin.delete({ id: 'x' } as never)).rejects.toThrow('unknown option "id"')
  })

  test('a variable that is not set does not mean everything', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits])
    await holdfast.start(waits, undefined, { id: 'w' })
    const { admin } = space.connect()
    const unset = undefined as never

    const refused = 'admin.terminate: workflow is undefined; leave it out to mean any'
    await expect(admin.terminate({ workflow: unset })).rejects.toThrow(refused)
    for (const verb of ['cancel', 'suspend', 'resume', 'delete'] as const) {
      await expect(admin[verb]({ idPrefix: unset })).rejects.toThrow('idPrefix is undefined')
    }
    await expect(admin.prune({ which: unset })).rejects.toThrow('which is undefined')
    await expect(admin.prune({ which: { status: unset } })).rejects.toThrow('status is undefined')
    await expect(admin.prune({ finishedBefore: unset })).rejects.toThrow('finishedBefore is')

    expect(await admin.count({ workflow: unset, status: ['scheduled', 'running'] })).toBe(1)
  })
})

describeOnStores('deleting', (kind) => {
  test('what has ended is removed, and its id can be used again [test_delete_terminal_orchestrations] [test_identity_reuse_after_delete]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([quick])
    await holdfast.run(quick, 1, { id: 'x' })

    expect(await holdfast.admin.delete(['x', 'nobody'])).toBe(1)

    expect(await holdfast.get('x').info()).toBeUndefined()
    expect(await holdfast.run(quick, 2, { id: 'x' })).toBe(2)
  })

  test('what has not ended is refused unless forced, with all its descendants [test_delete_error_cases] [test_cascade_delete_real_sub_orchestrations]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([parent, waits, quick])
    await holdfast.run(quick, 1, { id: 'done' })
    const top = await holdfast.start(parent, 'p', { id: 'p' })
    await eventually(async () => (await holdfast.get('p-child').info())?.status === 'running')
    const { admin } = space.connect()

    const refused = await admin.delete(['done', 'p']).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConflictError)
    expect(refused).toMatchObject({ message: expect.stringContaining('pass { force: true }') })
    // All or none of the ids.
    expect(await holdfast.get('done').info()).toBeDefined()
    await holdfast.get('p-child').terminate()
    await expect(admin.delete(['p-child'], { force: true })).rejects.toThrow(
      'instance "p-child" was started by "p", which has not ended',
    )
    const result = top.result().catch((error: unknown) => error)

    expect(await admin.delete(['done', 'p'], { force: true })).toBe(3)
    expect(await admin.count()).toBe(0)
    expect(await result).toBeInstanceOf(Error)
  })

  test('nothing is terminated for the sake of what cannot be removed', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([parent, waits])
    for (const id of ['p', 'q']) await holdfast.start(parent, id, { id })
    await holdfast.start(waits, undefined, { id: 's' })
    for (const id of ['p-child', 'q-child']) {
      await eventually(async () => (await holdfast.get(id).info())?.status === 'running')
    }
    const { admin } = space.connect()

    await expect(admin.delete(['s', 'p-child'], { force: true })).rejects.toThrow(
      'instance "p-child" was started by "p", which has not ended',
    )
    expect(await admin.delete({ idPrefix: 'q-' }, { force: true })).toBe(0)
    expect(await admin.count({ status: 'running' })).toBe(5)

    expect(await admin.delete(['s', 'p-child', 'p'], { force: true })).toBe(3)
    expect(await admin.delete({ idPrefix: 'q' }, { force: true })).toBe(2)
    expect(await admin.count()).toBe(0)
  })

  test('what a workflow started independently goes with it when a filter means both', async () => {
    await using space = await openSpace(kind)
    const starts = workflow('starts', async (depth: number, ctx): Promise<void> => {
      if (depth > 0) await ctx.start(starts, depth - 1, { id: `${ctx.info.id}+` })
      await ctx.receive(go)
    })
    const holdfast = await space.open([starts])
    const start = async (): Promise<void> => {
      await holdfast.start(starts, 2, { id: 'x' })
      await eventually(async () => (await holdfast.admin.count({ status: 'running' })) === 3)
    }

    await start()
    expect(await holdfast.admin.delete({ workflow: starts }, { force: true })).toBe(3)
    await start()
    expect(await holdfast.admin.delete(['x++', 'x', 'x+'], { force: true })).toBe(3)
    await start()
    for (let i = 0; i < 60; i++) await holdfast.start(starts, 0, { id: `other-${i}` })
    // Its page is not the page of what started it.
    expect(await holdfast.admin.delete({ workflow: starts }, { force: true })).toBe(63)
    expect(await holdfast.admin.count()).toBe(0)
  })

  test('an abandoned child that still runs goes with its parent when forced', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([parent, waits])
    await holdfast.start(parent, 'p', { id: 'p' })
    await eventually(async () => (await holdfast.get('p-child').info())?.status === 'running')
    await holdfast.get('p').send(go, 'on')
    await holdfast.get('p').result()

    expect(await holdfast.admin.delete({ workflow: parent })).toBe(0)
    await expect(holdfast.admin.delete(['p'])).rejects.toThrow('one of its descendants')
    expect(await holdfast.admin.delete({ workflow: parent }, { force: true })).toBe(2)
    expect(await holdfast.admin.count()).toBe(0)
  })

  test('a filter removes what has ended and leaves the rest [test_delete_instance_bulk_filter_combinations] [test_delete_instance_bulk_completed_before_filter]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([quick, waits])
    for (let i = 0; i < 8; i++) await holdfast.run(quick, i, { id: `q-${i}` })
    const until = (await holdfast.get('q-3').info())!.finishedAt!
    await holdfast.start(waits, undefined, { id: 'w' })
    const { admin } = holdfast

    const before = await admin.count({ finishedBefore: until, workflow: quick })
    expect(await admin.delete({ finishedBefore: until, idPrefix: 'q' })).toBe(before)
    expect(await admin.delete({ workflow: quick, finishedBefore: new Date(0) })).toBe(0)
    expect(await admin.delete({})).toBe(8 - before)
    expect(await admin.delete({})).toBe(0)
    expect(await admin.count()).toBe(1)
  })

  test('what ended before a time goes, in any number and with its children, while work goes on [test_delete_instance_bulk_retention_policies]', async () => {
    await using space = await openSpace(kind)
    const family = workflow('family', async (n: number, ctx) => {
      await ctx.run(quick, n)
      return n
    })
    const holdfast = await space.open([quick, mark, family, waits])
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => holdfast.run(family, i, { id: `old-${i}` })),
    )
    // By the store's clock: after all that ended so far.
    const until = await timeOfNext(holdfast)
    await Promise.all([1, 2, 3].map((i) => holdfast.run(family, i, { id: `new-${i}` })))
    await holdfast.start(waits, undefined, { id: 'w' })
    const { admin } = space.connect()

    const old = { finishedBefore: until, workflow: family }
    expect(await admin.delete(['old-0', 'old-1', 'unknown'])).toBe(4)
    const running = holdfast.run(family, 4, { id: 'new-4' })
    expect(await admin.delete(old)).toBe(58 * 2)
    expect(await running).toBe(4)
    expect(await admin.delete(old)).toBe(0)
    expect(await admin.count({ workflow: family })).toBe(4)
    expect(await admin.count({ workflow: quick })).toBe(4)
    expect(await holdfast.get('w').info()).toMatchObject({ status: 'running' })
  })

  test('what runs, or has a descendant that does, is left alone and can be removed later [test_delete_instance_bulk_safety]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([quick, waits, parent])
    await holdfast.start(parent, 'p', { id: 'p' })
    await eventually(async () => (await holdfast.get('p-child').info())?.status === 'running')
    await holdfast.get('p').send(go, 'on')
    await holdfast.get('p').result()
    await holdfast.run(quick, 1, { id: 'q' })
    await holdfast.start(waits, undefined, { id: 'w' })
    const { admin } = space.connect()

    expect(await admin.delete({})).toBe(1)
    const left = await holdfast.list({}, { order: 'oldest' })
    expect(left.items.map(({ id }) => id)).toEqual(['p', 'p-child', 'w'])
    for (const id of ['p-child', 'w']) await holdfast.get(id).send(go, 'on')
    expect(await Promise.all(['p-child', 'w'].map((id) => holdfast.get(id).result()))).toEqual([
      'on',
      'on',
    ])
    expect(await admin.delete({})).toBe(3)
    expect(await admin.count()).toBe(0)
  })

  test('an activity that still runs for a deleted instance changes nothing of its successor [test_force_delete_in_flight_work] [test_dispatcher_resilience_after_delete]', async () => {
    await using space = await openSpace(kind)
    const gates = [deferred(), deferred()]
    let calls = 0
    const slow = workflow('slow', async (name: string, ctx) => {
      const said = await ctx.step('work', async () => {
        await gates[calls++]!.promise
        return name
      })
      return said
    })
    const holdfast = await space.open([slow])
    await holdfast.start(slow, 'old', { id: 'x' })
    await eventually(() => calls === 1)

    expect(await holdfast.admin.delete(['x'], { force: true })).toBe(1)
    const next = await holdfast.start(slow, 'new', { id: 'x' })
    await eventually(() => calls === 2)
    gates[0]!.resolve()
    gates[1]!.resolve()

    expect(await next.result()).toBe('new')
    const types: string[] = []
    for await (const { type } of next.history()) types.push(type)
    expect(types.filter((type) => type === 'completed')).toHaveLength(1)
  })

  test('calls that delete the same at once count each instance once [test_concurrent_delete_operations]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([quick])
    for (let i = 0; i < 20; i++) await holdfast.run(quick, i)
    const clients = [space.connect(), space.connect(), holdfast]

    const counts = await Promise.all(clients.map(({ admin }) => admin.delete({ workflow: quick })))

    expect(counts.reduce((a, b) => a + b)).toBe(20)
    expect(await holdfast.admin.count()).toBe(0)
  })
})

/** When an instance was created that no other was created or ended at the same time as. */
async function timeOfNext(holdfast: Client): Promise<Date> {
  let last = 0
  for (let i = 0; ; i++) {
    const { createdAt, finishedAt } = (await (await holdfast.start(mark, i)).info())!
    if (last > 0 && createdAt.getTime() > last) return createdAt
    last = Math.max(last, (finishedAt ?? createdAt).getTime())
  }
}

describeOnStores('pruning and trees', (kind) => {
  test('earlier executions go, and the instance carries on with its state [test_prune_continue_as_new_chain] [test_prune_during_active_continue_as_new] [test_prune_bulk_operations]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([loops, quick])
    const handle = await holdfast.start(loops, 1, { id: 'l' })
    const other = await holdfast.start(loops, 1, { id: 'other' })
    await holdfast.run(quick, 1)
    for (const one of [handle, other]) {
      await eventually(async () => (await one.info())?.execution === 4)
    }
    const { admin } = space.connect()

    expect(await admin.executions('l')).toMatchObject([
      { execution: 1, status: 'continued' },
      { execution: 2, status: 'continued' },
      { execution: 3, status: 'continued' },
      { execution: 4, status: 'running' },
    ])
    expect(await admin.prune({ which: ['l'], keepExecutions: 3 })).toBe(1)
    expect(await admin.prune({ finishedBefore: new Date(0) })).toBe(0)
    expect(await admin.prune({ keepExecutions: 0 })).toBe(5)
    expect(await admin.prune()).toBe(0)
    expect(await admin.executions('l')).toMatchObject([{ execution: 4, status: 'running' }])

    await handle.send(go, 'on')
    expect(await handle.result()).toBe(4)
    expect(await handle.readState(total)).toBe(4)
    expect(await admin.usage('l')).toMatchObject({ executions: 1, stateKeys: 1, messages: 0 })
    expect((await admin.executions('l'))[0]!.finishedAt).toBeInstanceOf(Date)
  })

  test('a tree is found from its root and from any member [test_management_get_instance_tree] [test_get_instance_tree] [test_list_children_primitive] [test_get_parent_id_primitive]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([parent, waits])
    await holdfast.start(parent, 'p', { id: 'p' })
    await eventually(async () => (await holdfast.get('p-child').info())?.status === 'running')
    const { admin } = space.connect()
    const tree = async (...args: Parameters<typeof admin.tree>): Promise<unknown> =>
      (await admin.tree(...args)).map(({ id, parentId }) => [id, parentId])

    const whole = [
      ['p', undefined],
      ['p-child', 'p'],
    ]
    expect(await tree('p')).toEqual(whole)
    expect(await tree('p-child')).toEqual([['p-child', 'p']])
    expect(await tree('p-child', { from: 'root' })).toEqual(whole)
    await expect(admin.tree('nobody')).rejects.toThrow(NotFoundError)
    await expect(admin.executions('nobody')).rejects.toThrow(NotFoundError)
    await expect(admin.usage('nobody')).rejects.toThrow(NotFoundError)
  })
})

describe('options', () => {
  test('unknown ones are refused, with a guess', async () => {
    await using space = await openSpace('memory')
    const { admin } = space.connect()

    await expect(admin.prune({ keep: 1 } as never)).rejects.toThrow('unknown option "keep"')
    await expect(admin.prune({ keepExecutions: -1 })).rejects.toThrow('keepExecutions must be')
    await expect(admin.delete([], { forced: true } as never)).rejects.toThrow(
      'did you mean "force"?',
    )
    await expect(admin.tree('x', { from: 'top' } as never)).rejects.toThrow('from must be one of')
    await expect(admin.suspend({}, 1 as never)).rejects.toThrow('reason must be a string')
  })
})
