import { expect, test } from 'vitest'

import { channel, type Filter, type InstanceInfo, type Page, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const go = channel<string>('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
const quick = workflow('quick', async (n: number) => n)
const broken = workflow('broken', async () => {
  throw new Error('out of paper')
})
const parent = workflow('parent', async (_: undefined, ctx) => {
  await ctx.run(quick, 1, { id: 'child-a' })
  await ctx.run(quick, 2, { id: 'child-b' })
})

const idsOf = (items: readonly InstanceInfo[]): string[] => items.map(({ id }) => id)

describeOnStores('lists of instances', (kind) => {
  test('they have what the instances are, newest first [test_instance_discovery] [test_instance_info]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, quick, broken])
    await holdfast.run(quick, 42, { id: 'done', labels: { tenant: 'acme' } })
    await holdfast.run(broken, undefined, { id: 'failed' }).catch(() => {})
    await holdfast.start(waits, undefined, { id: 'later', delay: '1h' })
    const client = space.connect()

    const { items, next } = await client.list()

    expect(items).toMatchObject([
      { id: 'later', workflow: 'waits', status: 'scheduled' },
      {
        id: 'failed',
        status: 'failed',
        error: { message: 'workflow "broken" failed: out of paper' },
      },
      { id: 'done', status: 'completed', output: 42, labels: { tenant: 'acme' }, execution: 1 },
    ])
    expect(items[0]!.waitingFor).toEqual([expect.stringMatching(/^its start at /)])
    expect(items[2]!.finishedAt).toBeInstanceOf(Date)
    expect(next).toBeUndefined()
    expect(await client.admin.count()).toBe(3)
  })

  test('filters restrict them, and count counts the same [test_management_all_status_types]', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([waits, quick, parent])
    const begin = new Date()
    await holdfast.run(parent, undefined, { id: 'parent' })
    await holdfast.run(quick, 1, { id: 'order-1', labels: { tenant: 'a', region: 'eu' } })
    await holdfast.run(quick, 2, { id: 'order-2', labels: { tenant: 'a', region: 'us' } })
    const stuck = await holdfast.start(waits, undefined, { id: 'stuck' })
    await stuck.suspend('look at it')
    const found = async (filter: Filter): Promise<string[]> => {
      const ids = idsOf((await holdfast.list(filter)).items)
      expect(await holdfast.admin.count(filter)).toBe(ids.length)
      return ids.toSorted()
    }

    expect(await found({ workflow: quick })).toEqual(['child-a', 'child-b', 'order-1', 'order-2'])
    expect(await found({ workflow: 'waits' })).toEqual(['stuck'])
    expect(await found({ status: 'suspended' })).toEqual(['stuck'])
    expect(await found({ status: ['suspended', 'completed'], workflow: parent })).toEqual([
      'parent',
    ])
    expect(await found({ labels: { tenant: 'a' } })).toEqual(['order-1', 'order-2'])
    expect(await found({ labels: { tenant: 'a', region: 'us' } })).toEqual(['order-2'])
    expect(await found({ parentId: 'parent' })).toEqual(['child-a', 'child-b'])
    expect(await found({ idPrefix: 'order-' })).toEqual(['order-1', 'order-2'])
    expect(await found({ createdBefore: new Date(begin.getTime() - 60_000) })).toEqual([])
    expect(await found({ createdAfter: new Date(begin.getTime() - 60_000) })).toHaveLength(6)
    expect(await found({ finishedAfter: new Date(begin.getTime() + 3_600_000) })).toEqual([])
    expect(await found({ version: 'unknown' })).toEqual([])
  })

  test('pages follow each other, while others start instances', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    const ids = Array.from({ length: 25 }, (_, i) => `i-${String(i).padStart(2, '0')}`)
    for (const id of ids) await holdfast.run(quick, 1, { id })

    const seen: string[] = []
    let page: Page = { limit: 7 }
    for (;;) {
      const { items, next } = await holdfast.list({ idPrefix: 'i-' }, page)
      seen.push(...idsOf(items))
      await holdfast.run(quick, 1, { id: `i-new-${seen.length}` })
      if (next === undefined) break
      page = { limit: 7, after: next }
    }
    const oldest = await holdfast.list({}, { order: 'oldest', limit: 3 })
    const more = await holdfast.list({}, { order: 'oldest', limit: 2, after: oldest.next! })

    expect(seen.toSorted()).toEqual(ids)
    expect(idsOf([...oldest.items, ...more.items]).toSorted()).toEqual(ids.slice(0, 5))
  })

  test('what is missing, wrong or misspelt is refused, with a guess', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const refused = async (filter: unknown, page?: unknown): Promise<string> =>
      client.list(filter as Filter, page as Page).then(
        () => 'accepted',
        (error: Error) => `${error.name}: ${error.message}`,
      )

    expect(await refused({ workflows: 'x' })).toBe(
      'TypeError: list: unknown option "workflows", did you mean "workflow"?',
    )
    expect(await refused({ state: 'running' })).toContain('did you mean "status"?')
    expect(await refused({ status: 'runing' })).toContain("status must be one of 'scheduled'")
    expect(await refused({ createdAfter: 'today' })).toContain(
      'createdAfter must be a valid Date, got "today"',
    )
    expect(await refused({ createdAfter: new Date(Number.NaN) })).toContain(
      'must be a valid Date, got an invalid Date',
    )
    expect(await refused({ labels: { a: 1 } })).toContain('labels.a must be a string')
    expect(await refused({ workflow: go })).toContain('needs a workflow')
    expect(await refused({}, { limit: 0 })).toContain(
      'limit must be a whole number, from 1 to 1000',
    )
    expect(await refused({}, { after: 'x' })).toContain('after must be the next of an earlier page')
  })

  test('the place in one order is not one in the other', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    await holdfast.run(quick, 1)
    await holdfast.run(quick, 2)

    const { next } = await holdfast.list({}, { limit: 1 })
    const wrong = holdfast.list({}, { limit: 1, order: 'oldest', after: next! })

    await expect(wrong).rejects.toThrow("which is of a list in the order 'newest'")
    await eventually(async () => (await holdfast.admin.count()) === 2)
  })
})
