import type { Found, InstanceQuery, SearchPosition } from '../../store/admin-store.ts'
import { search, searchAll } from './admin-items.ts'
import { childOf, continuing, early, endOf, termination } from './items.ts'
import {
  type Actor,
  type Contract,
  ending,
  idOf,
  type Scene,
  sorted,
  turnItem,
  turnRow,
} from './scene.ts'

/** Searches of instances. */
export function describeSearches(contract: Contract): void {
  contract.describe('searches', () => {
    describeOrder(contract)
    describeFilters(contract)
    describeLabels(contract)
  })
}

function describeOrder({ test, expect, open }: Contract): void {
  test('all instances are found, newest first or oldest first [test_list_instances]', async () => {
    await using scene = await open()
    const [a, b, c] = await oneByOne(scene, 3)

    expect((await search(scene.store)).iids).toEqual([c!, b!, a!])
    expect((await search(scene.store, { order: 'oldest' })).iids).toEqual([a!, b!, c!])
  })

  test('pages follow each other without gap or repetition, also within a millisecond', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iids = await runtime.own(25)

    for (const order of ['newest', 'oldest'] as const) {
      const found = await searchAll(scene.store, { order }, { limit: 4, scan: 7 })
      expect(found).toEqual(order === 'oldest' ? iids : iids.toReversed())
    }
  })

  test('what is started while someone pages through does not move what comes behind', async () => {
    await using scene = await open()
    const iids = await oneByOne(scene, 4)

    const first = await search(scene.store, {}, { limit: 2 })
    await oneByOne(scene, 3)
    const rest = await search(scene.store, {}, { limit: 10, after: first.next })

    expect([...first.iids, ...rest.iids]).toEqual(iids.toReversed())
  })

  test('the last page says so, also when it is full', async () => {
    await using scene = await open()
    await oneByOne(scene, 4)

    expect(await search(scene.store, {}, { limit: 4 })).toMatchObject({ matched: 4, next: null })
    expect((await search(scene.store, {}, { limit: 3 })).next === null).toBe(false)
  })

  test('a search examines no more rows than it is asked to, and says where to continue', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [rare] = await runtime.own(1)
    await scene.under.advance(10)
    await runtime.own(20)

    const query = { idPrefix: null, finishedFrom: 0 }
    await endOf(runtime, rare!)
    const first = await search(scene.store, query, { limit: 5, scan: 10 })

    expect(first.iids).toEqual([])
    expect(first.next === null).toBe(false)
    expect(await searchAll(scene.store, query, { limit: 5, scan: 10 })).toEqual([rare!])
  })

  test('instances of many workflows are merged in their order, however few rows are examined', async () => {
    await using scene = await open()
    const names = ['a', 'b', 'c', 'd', 'e']
    const runtimes = await Promise.all(names.map((name) => scene.runtime({ workflows: [name] })))
    const iids: number[] = []
    for (let i = 0; i < 15; i++) {
      // Of the first workflow there are most.
      iids.push(...(await runtimes[i % 3 === 0 ? (i / 3) % 5 : 0]!.own()))
      if (i % 2 === 0) await scene.under.advance(1)
    }

    for (const [limit, scan] of [
      [4, 3],
      [4, 100],
      [1_000, 7],
    ] as const) {
      for (const query of [{}, { version: '1' }]) {
        const newest = await searchAll(scene.store, query, { limit, scan })
        const oldest = await searchAll(scene.store, { ...query, order: 'oldest' }, { limit, scan })
        expect({ limit, scan, newest }).toEqual({ limit, scan, newest: iids.toReversed() })
        expect({ limit, scan, oldest }).toEqual({ limit, scan, oldest: iids })
      }
    }
    let count = 0
    let next: SearchPosition | null = null
    do {
      const found: Found = await search(scene.store, {}, { limit: 0, scan: 4, after: next })
      count += found.matched
      next = found.next
    } while (next !== null)
    expect(count).toBe(15)
  })

  test('with the limit 0, a search counts', async () => {
    await using scene = await open()
    await oneByOne(scene, 7)

    const first = await search(scene.store, {}, { limit: 0, scan: 5 })
    const rest = await search(scene.store, {}, { limit: 0, scan: 5, after: first.next })

    expect([first.matched, rest.matched, rest.next]).toEqual([5, 2, null])
    expect(first.iids).toEqual([])
  })

  test('what was never started is not an instance yet', async () => {
    await using scene = await open()
    await early(scene, 'to come')

    expect((await search(scene.store)).iids).toEqual([])
    expect((await search(scene.store, { idPrefix: 'to' })).matched).toBe(0)
  })
}

function describeFilters({ test, expect, open }: Contract): void {
  test('each status finds what has it [test_list_instances_by_status]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [running, suspended, completed, failed, cancelled, terminated] = await runtime.own(6)
    const [scheduled] = await scene.sleeping(runtime.workflows[0]!, [9_999_999_999_999])
    await scene.store.suspend([idOf(suspended!)], '"why"')
    await endOf(runtime, completed!)
    for (const [iid, status] of [
      [failed!, 'failed'],
      [cancelled!, 'cancelled'],
    ] as const) {
      const next = { kind: 'end', end: ending('""', status) } as const
      await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))
    }
    await scene.store.terminate([termination(terminated!)])

    const expected = {
      running,
      suspended,
      scheduled,
      completed,
      failed,
      cancelled,
      terminated,
    } as const
    for (const [status, iid] of Object.entries(expected)) {
      const statuses = [status as keyof typeof expected]
      expect({ status, found: (await search(scene.store, { statuses })).iids }).toEqual({
        status,
        found: [iid!],
      })
    }
    const mixed = await search(scene.store, { statuses: ['running', 'failed', 'completed'] })
    expect(sorted(mixed.iids)).toEqual(sorted([running!, failed!, completed!]))
    expect((await search(scene.store, { statuses: [] })).iids).toEqual([])
  })

  test('the workflow and its version restrict a search', async () => {
    await using scene = await open()
    const orders = await scene.runtime({ workflows: ['order'] })
    const bills = await scene.runtime({ workflows: ['bill'] })
    const [order] = await orders.own()
    const [bill] = await bills.own()

    expect((await search(scene.store, { workflow: 'order' })).iids).toEqual([order!])
    expect((await search(scene.store, { workflow: 'bill', version: '1' })).iids).toEqual([bill!])
    expect((await search(scene.store, { workflow: 'bill', version: '2' })).iids).toEqual([])
    expect((await search(scene.store, { version: '1' })).matched).toBe(2)
    expect((await search(scene.store, { workflow: 'unknown' })).iids).toEqual([])
  })

  test('a workflow and a status restrict a search together, also beside labels', async () => {
    await using scene = await open()
    const orders = await scene.runtime({ workflows: ['order'] })
    const bills = await scene.runtime({ workflows: ['bill'] })
    const [failedOrder, cancelledOrder, runningOrder] = await orders.own(3)
    const [failedBill] = await bills.own()
    await endAs(orders, failedOrder!, 'failed')
    await endAs(orders, cancelledOrder!, 'cancelled')
    await endAs(bills, failedBill!, 'failed')
    const found = async (query: Partial<InstanceQuery>): Promise<readonly number[]> =>
      sorted((await search(scene.store, query)).iids)

    expect(await found({ workflow: 'order', statuses: ['failed'] })).toEqual([failedOrder!])
    expect(await found({ statuses: ['failed'] })).toEqual(sorted([failedOrder!, failedBill!]))
    expect(await found({ workflow: 'order', statuses: ['failed', 'cancelled'] })).toEqual(
      sorted([failedOrder!, cancelledOrder!]),
    )
    expect(await found({ workflow: 'bill', statuses: ['cancelled', 'terminated'] })).toEqual([])
    expect(await found({ workflow: 'order', statuses: ['failed', 'running'] })).toEqual(
      sorted([failedOrder!, runningOrder!]),
    )
    expect(await found({ statuses: ['failed'], labels: [['tenant', 'nobody']] })).toEqual([])
  })

  test('times of creation and of the end restrict a search: from one, before the other', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [early_, late] = await oneByOne(scene, 2, runtime)
    const { createdAt } = await scene.look(late!)

    expect((await search(scene.store, { createdFrom: createdAt })).iids).toEqual([late!])
    expect((await search(scene.store, { createdUntil: createdAt })).iids).toEqual([early_!])

    await endOf(runtime, early_!)
    await scene.under.advance(1_000)
    await endOf(runtime, late!)
    const { finishedAt } = await scene.look(late!)
    expect((await search(scene.store, { finishedFrom: finishedAt })).iids).toEqual([late!])
    expect((await search(scene.store, { finishedUntil: finishedAt })).iids).toEqual([early_!])
  })

  test('a parent finds its children, running or not, and not what it started independently [test_list_children]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [parent, other] = await runtime.own(2)
    const [running, ended, independent] = await runtime.ownChildren(
      childOf(parent!),
      childOf(parent!, { command: 2, onClose: 'abandon' }),
      childOf(parent!, { command: 3, onClose: 'independent' }),
    )
    await endOf(runtime, ended!)
    const [grandchild] = await runtime.ownChildren(childOf(running!))

    expect(sorted((await search(scene.store, { parent: idOf(parent!) })).iids)).toEqual(
      sorted([running!, ended!]),
    )
    expect((await search(scene.store, { parent: idOf(running!) })).iids).toEqual([grandchild!])
    expect((await search(scene.store, { parent: idOf(other!) })).iids).toEqual([])
    expect((await search(scene.store, { parent: 'nobody' })).iids).toEqual([])
    expect((await search(scene.store, { parent: idOf(independent!) })).iids).toEqual([])
  })

  test('a prefix finds the ids that begin with it, whatever characters it has', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const ids = ['a_1', 'a%1', 'ab1', 'ä-1', 'a\u{10FFFF}1', 'b']
    const iids = await runtime.reserve(ids.length)
    await runtime.starts(...iids.map((iid, i) => runtime.startItem(iid, { id: ids[i]! })))

    const found = async (idPrefix: string): Promise<number[]> =>
      sorted((await search(scene.store, { idPrefix })).iids)
    expect(await found('a_')).toEqual([iids[0]!])
    expect(await found('a%')).toEqual([iids[1]!])
    expect(await found('a')).toEqual([iids[0]!, iids[1]!, iids[2]!, iids[4]!])
    expect(await found('ä')).toEqual([iids[3]!])
    expect(await found('c')).toEqual([])
  })

  test('instances at a later execution are found by its number', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [first, second] = await runtime.own(2)
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(second!, { turn: turnRow(2), next }))

    expect((await search(scene.store, { minExecution: 2 })).iids).toEqual([second!])
    expect((await search(scene.store, { minExecution: 3 })).iids).toEqual([])
    expect((await search(scene.store)).iids).toEqual([second!, first!])
  })
}

function describeLabels({ test, expect, open }: Contract): void {
  test('labels find the instances that have all of them', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const labels = [
      { tenant: 'a', region: 'eu' },
      { tenant: 'a', region: 'us' },
      { tenant: 'b', region: 'eu' },
      {},
    ]
    const iids = await runtime.reserve(labels.length)
    await runtime.starts(
      ...iids.map((iid, i) => runtime.startItem(iid, { labels: JSON.stringify(labels[i]) })),
    )
    const found = async (wanted: Record<string, string>): Promise<number[]> =>
      sorted((await search(scene.store, { labels: Object.entries(wanted) })).iids)

    expect(await found({ tenant: 'a' })).toEqual([iids[0]!, iids[1]!])
    expect(await found({ tenant: 'a', region: 'eu' })).toEqual([iids[0]!])
    expect(await found({ region: 'eu' })).toEqual([iids[0]!, iids[2]!])
    expect(await found({ tenant: 'eu' })).toEqual([])
    const paged = { labels: [['tenant', 'a']] as const, order: 'oldest' } as const
    expect(await searchAll(scene.store, paged, { limit: 1, scan: 1 })).toEqual(iids.slice(0, 2))
  })

  test('labels are found for starts by clients, for imports, and for those that messages came first', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const workflow = runtime.workflows[0]!
    const labels = '{"k":"v"}'
    const awaited = await early(scene, 'awaited')
    await runtime.starts(runtime.startItem(awaited, { id: 'awaited', labels }))
    const [started, imported] = await runtime.reserve(2)
    await scene.store.start([runtime.startItem(started!, { labels, owned: false, wakeAt: 1 })])
    await scene.store.import({
      iid: imported!,
      id: 'imported',
      workflow,
      labels,
      turns: [turnRow(1)],
      state: [],
    })

    const { iids } = await search(scene.store, { labels: [['k', 'v']] })
    expect(sorted(iids)).toEqual(sorted([awaited, started!, imported!]))
  })

  test('what was removed is not found by its labels or its failure, nor is the next with its id', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [iid, next] = await runtime.reserve(2)
    await runtime.starts(runtime.startItem(iid!, { id: 'x', labels: '{"k":"v"}' }))
    await runtime.turns(
      turnItem(iid!, { turn: turnRow(2), next: { kind: 'end', end: ending('""', 'failed') } }),
    )
    await scene.store.remove(['x'])
    await runtime.starts(runtime.startItem(next!, { id: 'x' }))

    expect((await search(scene.store, { labels: [['k', 'v']] })).matched).toBe(0)
    expect((await search(scene.store, { statuses: ['failed'] })).matched).toBe(0)
    expect((await search(scene.store)).iids).toEqual([next!])
  })

  test('names and values may have any length and any characters', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const long = '\u{1F600}'.repeat(250)
    const [iid] = await runtime.reserve(1)
    const labels = { [long]: long, 'a"b\\': "it's %_", '': '' }
    await runtime.starts(runtime.startItem(iid!, { labels: JSON.stringify(labels) }))

    for (const label of Object.entries(labels)) {
      expect((await search(scene.store, { labels: [label] })).iids).toEqual([iid!])
    }
    expect((await search(scene.store, { labels: [[long, 'other']] })).iids).toEqual([])
  })
}

/** Starts instances, each later than the one before. */
async function oneByOne(scene: Scene, count: number, by?: Actor): Promise<number[]> {
  const runtime = by ?? (await scene.runtime())
  const iids: number[] = []
  for (let i = 0; i < count; i++) {
    iids.push(await runtime.ownOne())
    await scene.under.advance(10)
  }
  return iids
}

async function endAs(runtime: Actor, iid: number, status: 'failed' | 'cancelled'): Promise<void> {
  const next = { kind: 'end', end: ending('""', status) } as const
  await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))
}
