import type { Effects } from '../../store/commits.ts'
import { childOf, continuing, effects, END, setting } from './items.ts'
import { type Contract, ending, idOf, turnItem, turnRow } from './scene.ts'

const CLEAR = effects({ clearsState: true })

/** Which instance a value belongs to, and how long it lasts. */
export function describeStateScope(contract: Contract): void {
  contract.describe('scope of state', () => {
    describeApartness(contract)
    describeExecutions(contract)
  })
}

function describeApartness({ test, expect, open }: Contract): void {
  test('a key that was never set has no value [test_kv_get_nonexistent]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: setting({ a: '1' }) }))

    expect(await scene.stateOf(iid, 'b', 'a', 'b')).toEqual([undefined, '1', undefined])
    expect(await scene.store.readState([])).toEqual([])
  })

  test('an instance that never existed has no values [test_kv_get_unknown_instance]', async () => {
    await using scene = await open()

    expect(await scene.store.readState([{ id: 'nobody', key: 'a' }])).toEqual([undefined])
  })

  test('the same key of two instances is two values [test_kv_instance_isolation]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)

    await runtime.turns(
      turnItem(a!, { turn: turnRow(2), effects: setting({ k: 'a' }) }),
      turnItem(b!, { turn: turnRow(2), effects: setting({ k: 'b' }) }),
    )

    const wanted = [b!, a!].map((iid) => ({ id: idOf(iid), key: 'k' }))
    expect(await scene.store.readState(wanted)).toEqual(['b', 'a'])
  })

  test('clearing one instance spares another [test_kv_clear_isolation]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)
    await runtime.turns(
      ...[a!, b!].map((iid) => turnItem(iid, { effects: setting({ k: `${iid}` }) })),
    )

    await runtime.turns(turnItem(a!, { turn: turnRow(2), effects: CLEAR }), turnItem(b!))

    expect([await scene.stateOf(a!, 'k'), await scene.stateOf(b!, 'k')]).toEqual([
      [undefined],
      [`${b}`],
    ])
  })

  test('values go with the instance that is removed [test_kv_delete_instance_cascades]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [gone, kept] = await runtime.own(2)
    const item = { turn: turnRow(2), effects: setting({ k: '1' }), next: END }
    await runtime.turns(turnItem(gone!, item), turnItem(kept!, item))

    await scene.store.remove([idOf(gone!)])

    expect([await scene.stateOf(gone!, 'k'), await scene.stateOf(kept!, 'k')]).toEqual([
      [undefined],
      ['1'],
    ])
    expect((await scene.under.rows(gone!)).state).toBe(0)
  })

  test('values of a parent and its children go with them [test_kv_delete_instance_with_children]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const children = await runtime.ownChildren(childOf(parent), childOf(parent, { command: 2 }))
    const family = [...children, parent]
    const item = { turn: turnRow(2), effects: setting({ k: '1' }), next: END }
    await runtime.turns(...family.map((iid) => turnItem(iid, item)))

    expect(await scene.store.remove(family.map(idOf))).toBe(3)

    for (const iid of family) expect((await scene.under.rows(iid)).state).toBe(0)
  })

  test('one that is started again under its id begins without values [test_kv_delta_delete_instance_cascades]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(
      turnItem(iid, { turn: turnRow(2), effects: setting({ k: '1' }), next: END }),
    )
    await scene.store.remove([idOf(iid)])
    const [reborn] = await runtime.reserve(1)
    await runtime.starts(runtime.startItem(reborn!, { id: idOf(iid) }))

    expect(await scene.stateOf(iid, 'k')).toEqual([undefined])
  })
}

function describeExecutions({ test, expect, open }: Contract): void {
  test('values outlive the end [test_kv_delta_merged_on_completion]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iids = await runtime.own(3)
    await runtime.turns(...iids.map((iid) => turnItem(iid, { effects: setting({ a: '1' }) })))

    await runtime.turns(
      turnItem(iids[0]!, { turn: turnRow(2), effects: setting({ b: '2' }), next: END }),
      turnItem(iids[1]!, { turn: turnRow(2), next: { kind: 'end', end: ending('', 'failed') } }),
    )
    await scene.store.terminate([{ id: idOf(iids[2]!), output: '"x"', events: 'terminated' }])

    expect(await scene.stateOf(iids[0]!, 'a', 'b')).toEqual(['1', '2'])
    expect(await scene.stateOf(iids[1]!, 'a')).toEqual(['1'])
    expect(await scene.stateOf(iids[2]!, 'a')).toEqual(['1'])
  })

  test('values outlive an execution [test_kv_delta_merged_on_can]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: setting({ a: '1' }) }))

    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: setting({ b: '2' }), next }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual(['1', '2'])
  })

  test('a later execution sees its own values over those of before [test_kv_delta_client_reads_merged]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)
    const before = setting({ kept: '1', changed: '1', gone: '1' })
    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: before, next }))

    const turn = turnRow(2, { execution: 2 })
    const after = setting({ changed: '2', gone: null, added: '2' })
    await runtime.turns(turnItem(iid, { turn, effects: after }))

    const keys = ['kept', 'changed', 'gone', 'added']
    expect(await scene.stateOf(iid, ...keys)).toEqual(['1', '2', undefined, '2'])
  })

  test('a key of an earlier execution that is unset is gone at once [test_kv_delta_tombstone_overrides_store]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)
    const before = setting({ a: '1', b: '1' })
    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: before, next }))

    const turn = turnRow(2, { execution: 2 })
    await runtime.turns(turnItem(iid, { turn, effects: setting({ a: null }) }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual([undefined, '1'])
  })

  test('keys of earlier executions that are cleared are gone at once [test_kv_delta_clear_all_tombstones_store]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)
    const before = setting({ a: '1', b: '1' })
    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: before, next }))

    const turn = turnRow(2, { execution: 2 })
    await runtime.turns(turnItem(iid, { turn, effects: CLEAR }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual([undefined, undefined])
  })

  for (const { title, turns, found } of OVER_EXECUTIONS) {
    test(title, async () => {
      await using scene = await open()
      const actors = [await scene.runtime(), await scene.otherRuntime()]
      const iid = await actors[0]!.ownOne()

      for (const [i, change] of turns.entries()) {
        const owner = actors[i % 2]!
        if (i > 0) await owner.claim()
        const turn = turnRow(2, { execution: i + 1 })
        const next = continuing(owner.workflows[0]!, { execution: i + 2, keep: false })
        const item = turnItem(iid, { epoch: i + 1, turn, effects: change, next })
        expect(await owner.turns(item)).toEqual(['done'])
      }

      expect(await scene.stateOf(iid, ...Object.keys(found))).toEqual(Object.values(found))
      const kept = Object.values(found).filter((value) => value !== undefined)
      expect((await scene.under.rows(iid)).state).toBe(kept.length)
    })
  }
}

/** What each of several executions changes, and what the one after them finds. */
const OVER_EXECUTIONS: readonly {
  readonly title: string
  readonly turns: readonly Effects[]
  readonly found: Readonly<Record<string, string | undefined>>
}[] = [
  {
    title: 'the next execution finds what was set [test_kv_snapshot_in_fetch]',
    turns: [setting({ a: '1', b: '2' })],
    found: { a: '1', b: '2' },
  },
  {
    title: 'the next execution finds nothing where nothing was set [test_kv_snapshot_empty]',
    turns: [effects({})],
    found: { a: undefined },
  },
  {
    title: 'a key that was unset is not found [test_kv_snapshot_after_clear_single]',
    turns: [setting({ a: '1', b: '1' }), setting({ a: null })],
    found: { a: undefined, b: '1' },
  },
  {
    title: 'nothing is found after all was cleared [test_kv_snapshot_after_clear_all]',
    turns: [setting({ a: '1', b: '1' }), CLEAR],
    found: { a: undefined, b: undefined },
  },
  {
    title: 'keys of all executions are found [test_kv_snapshot_cross_execution]',
    turns: [setting({ a: '1' }), setting({ b: '2' }), setting({ c: '3' })],
    found: { a: '1', b: '2', c: '3' },
  },
  {
    title: 'a value set anew in a later execution wins [test_kv_cross_execution_overwrite]',
    turns: [setting({ a: '1' }), setting({ a: '2' })],
    found: { a: '2' },
  },
  {
    title: 'a key may be set, cleared and set again [test_kv_cross_execution_remove_readd]',
    turns: [setting({ a: '1' }), setting({ a: null }), setting({ a: '3' })],
    found: { a: '3' },
  },
  {
    title:
      'an execution that ended is found whole [test_kv_delta_snapshot_includes_completed_execution]',
    turns: [setting({ a: '1' }), effects({}), effects({})],
    found: { a: '1' },
  },
]
