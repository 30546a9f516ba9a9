import { search } from './admin-items.ts'
import { childOf, continuing, END, endOf, message, setting, termination } from './items.ts'
import {
  type Actor,
  type Contract,
  ending,
  idOf,
  named,
  sorted,
  turnItem,
  turnRow,
} from './scene.ts'

const NOTHING = { instances: 0, runs: 0, history: 0, inbox: 0, posted: 0, state: 0 }
const ALONE = { together: false }
const TOGETHER = { together: true }

/** Instances with their descendants, and their removal. */
export function describeTrees(contract: Contract): void {
  contract.describe('trees', () => {
    describeMembers(contract)
    describeRemoval(contract)
    describeRefusals(contract)
  })
}

function describeMembers({ test, expect, open }: Contract): void {
  test(
    named(
      'a tree has all descendants, each after its parent, from any member or from the root',
      '[test_delete_get_instance_tree]',
      '[test_delete_get_parent_id]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { root, left, right, leaf } = await family(runtime)
      await runtime.ownChildren(childOf(root, { command: 9, onClose: 'independent' }))
      const from = (iid: number, fromRoot = false): Promise<readonly number[]> =>
        scene.store.admin.tree(iid, { fromRoot, limit: 100 })

      expect(await from(root)).toEqual([root, left, right, leaf])
      expect(await from(left)).toEqual([left, leaf])
      expect(await from(leaf)).toEqual([leaf])
      expect(await from(leaf, true)).toEqual([root, left, right, leaf])
      expect(await from(4_711)).toEqual([])
      expect(await scene.store.admin.tree(root, { fromRoot: false, limit: 3 })).toEqual([
        root,
        left,
        right,
      ])
    },
  )
}

function describeRemoval({ test, expect, open }: Contract): void {
  test(
    named(
      'an instance that has ended is removed with everything there is of it, and its id can be used again',
      '[test_delete_terminal_instances]',
      '[test_delete_cleans_queues_and_locks]',
      '[test_kv_delete_instance_cascades]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid, next] = await runtime.reserve(2)
      await runtime.starts(runtime.startItem(iid!, { id: 'x', labels: '{"k":"v"}' }))
      await runtime.turns(turnItem(iid!, { turn: turnRow(2), effects: setting({ a: '1' }) }))
      await scene.post(message('x', '1', { dedupeKey: 'key' }))
      const end = ending('""', 'failed')
      await runtime.turns(turnItem(iid!, { turn: turnRow(3), next: { kind: 'end', end } }))

      expect(await scene.store.admin.removeTrees([iid!], ALONE)).toEqual([
        { verdict: 'removed', count: 1 },
      ])

      expect(await scene.under.rows(iid!)).toEqual(NOTHING)
      expect((await search(scene.store, { labels: [['k', 'v']] })).matched).toBe(0)
      expect((await search(scene.store, { statuses: ['failed'] })).matched).toBe(0)
      expect(await runtime.starts(runtime.startItem(next!, { id: 'x' }))).toEqual(['done'])
      expect(await scene.store.admin.removeTrees([iid!, 4_711], ALONE)).toEqual([
        { verdict: 'unknown', count: 0 },
        { verdict: 'unknown', count: 0 },
      ])
    },
  )

  test(
    named(
      'descendants of all levels go with it, and nobody else',
      '[test_cascade_delete_hierarchy]',
      '[test_kv_delete_instance_with_children]',
      '[test_delete_instance_bulk_cascades_to_children]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { root, left, right, leaf } = await family(runtime)
      const other = await family(runtime)
      const [free] = await runtime.ownChildren(
        childOf(root, { command: 9, onClose: 'independent' }),
      )
      await runtime.turns(turnItem(leaf, { turn: turnRow(2), effects: setting({ a: '1' }) }))
      await runtime.turns(turnItem(leaf, { turn: turnRow(3), next: END }))
      for (const iid of [left, right, root]) await endOf(runtime, iid)

      expect(await scene.store.admin.removeTrees([root], ALONE)).toEqual([
        { verdict: 'removed', count: 4 },
      ])

      for (const iid of [root, left, right, leaf]) {
        expect(await scene.under.rows(iid)).toEqual(NOTHING)
      }
      const { iids } = await search(scene.store)
      expect(sorted(iids)).toEqual(sorted([...Object.values(other), free!]))
    },
  )

  test('members that are named, too, are counted once [test_delete_instances_atomic]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const { root, left, right, leaf } = await family(runtime)
    for (const iid of [leaf, left, right, root]) await endOf(runtime, iid)

    const removals = await scene.store.admin.removeTrees([left, root, leaf], TOGETHER)

    expect(removals).toEqual([
      { verdict: 'removed', count: 2 },
      { verdict: 'removed', count: 2 },
      { verdict: 'removed', count: 0 },
    ])
    expect((await search(scene.store)).matched).toBe(0)
  })
}

function describeRefusals({ test, expect, open }: Contract): void {
  test(
    named(
      'what has not ended stays, and so does what has a descendant that has not',
      '[test_delete_running_rejected_force_succeeds]',
      '[test_delete_instance_bulk_safety_and_limits]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { root, left, right, leaf } = await family(runtime)
      const suspended = await runtime.ownOne()
      await scene.store.suspend([idOf(suspended)], '"why"')
      for (const iid of [left, right, root]) await endOf(runtime, iid)
      const before = await scene.state([root, left, right, leaf, suspended], [runtime])

      expect(await scene.store.admin.removeTrees([root, leaf, suspended], ALONE)).toEqual([
        { verdict: 'running', count: 0 },
        { verdict: 'running', count: 0 },
        { verdict: 'running', count: 0 },
      ])
      expect(await scene.state([root, left, right, leaf, suspended], [runtime])).toEqual(before)
      await scene.store.terminate([termination(leaf)])
      expect(await scene.store.admin.removeTrees([root], ALONE)).toMatchObject([{ count: 4 }])
    },
  )

  test('a child stays while the execution that started it runs, whether it has ended or not', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const { root, left, right, leaf } = await family(runtime)
    // Not `running`: the caller must not end it, since it could not be removed then.
    expect(await scene.store.admin.removeTrees([left, right], ALONE)).toEqual([
      { verdict: 'wanted', count: 0 },
      { verdict: 'wanted', count: 0 },
    ])
    await endOf(runtime, leaf)
    await endOf(runtime, left)

    expect(await scene.store.admin.removeTrees([left], ALONE)).toEqual([
      { verdict: 'wanted', count: 0 },
    ])
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(root, { turn: turnRow(2), next }))
    expect(await scene.store.admin.removeTrees([left], ALONE)).toEqual([
      { verdict: 'removed', count: 2 },
    ])
  })

  test(
    named(
      'together, all are removed or none is',
      '[test_delete_instances_atomic_force]',
      '[test_delete_instances_atomic_orphan_detection]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [ended, running] = await runtime.own(2)
      await endOf(runtime, ended!)

      expect(await scene.store.admin.removeTrees([ended!, running!], TOGETHER)).toEqual([
        { verdict: 'removed', count: 0 },
        { verdict: 'running', count: 0 },
      ])
      expect(await scene.look(ended!)).toMatchObject({ status: 'completed' })
      await scene.store.terminate([termination(running!)])
      expect(await scene.store.admin.removeTrees([ended!, running!], TOGETHER)).toMatchObject([
        { count: 1 },
        { count: 1 },
      ])
    },
  )

  test(
    named(
      'what an owner still sends about a removed instance has no effect, also after its id was used again',
      '[test_force_delete_prevents_ack_recreation]',
      '[test_stale_activity_after_delete_recreate]',
    ),
    async () => {
      await using scene = await open()
      const stale = await scene.runtime()
      const [iid, next] = await stale.reserve(2)
      await stale.starts(stale.startItem(iid!, { id: 'x' }))
      await scene.store.terminate([{ ...termination(iid!), id: 'x' }])
      await scene.store.admin.removeTrees([iid!], ALONE)
      await stale.starts(stale.startItem(next!, { id: 'x' }))

      expect(
        await stale.turns(turnItem(iid!, { turn: turnRow(2), effects: setting({ a: '1' }) })),
      ).toEqual(['refused'])

      expect(await scene.under.rows(iid!)).toEqual(NOTHING)
      expect(await scene.turnsOf(next!)).toEqual([1])
      expect(await scene.store.readState([{ id: 'x', key: 'a' }])).toEqual([undefined])
    },
  )
}

/** A root with two children, and a child of the first of them. */
async function family(
  runtime: Actor,
): Promise<Readonly<Record<'root' | 'left' | 'right' | 'leaf', number>>> {
  const root = await runtime.ownOne()
  const [left, right] = await runtime.ownChildren(childOf(root), childOf(root, { command: 2 }))
  const [leaf] = await runtime.ownChildren(childOf(left!))
  return { root, left: left!, right: right!, leaf: leaf! }
}
