import type { StateChange } from '../../store/commits.ts'
import { effects, setting } from './items.ts'
import { type Contract, ending, idOf, turnItem, turnRow } from './scene.ts'

const CLEAR = effects({ clearsState: true })

/** The values that instances keep for others to read. */
export function describeState(contract: Contract): void {
  contract.describe('state', () => {
    describeChanges(contract)
    describeRefusal(contract)
  })
}

function describeChanges({ test, expect, open }: Contract): void {
  test('a value that was set can be read by any client [test_kv_set_and_get]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.under.another()
    const iid = await runtime.ownOne()

    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: setting({ a: '1', b: '"x"' }) }))

    const wanted = ['b', 'a'].map((key) => ({ id: idOf(iid), key }))
    expect(await other.readState(wanted)).toEqual(['"x"', '1'])
    expect((await scene.under.rows(iid)).state).toBe(2)
  })

  test('a start sets values too', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [owned, ended] = await runtime.reserve(2)

    await runtime.starts(
      runtime.startItem(owned!, { effects: setting({ a: '1' }) }),
      runtime.startItem(ended!, { effects: setting({ a: '2' }), end: ending() }),
    )

    expect(await scene.stateOf(owned!, 'a')).toEqual(['1'])
    expect(await scene.stateOf(ended!, 'a')).toEqual(['2'])
  })

  test('the newest value counts, even within one turn [test_kv_overwrite]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    await runtime.turns(turnItem(iid, { effects: setting({ a: 'first', b: 'kept' }) }))
    const state: readonly StateChange[] = [
      { key: 'a', value: 'second' },
      { key: 'a', value: null },
      { key: 'a', value: 'third' },
    ]
    await runtime.turns(turnItem(iid, { effects: effects({ state }) }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual(['third', 'kept'])
  })

  test('a key that was unset is gone, the others stay [test_kv_clear_single]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: setting({ a: '1', b: '2' }) }))

    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: setting({ a: null }) }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual([undefined, '2'])
    expect((await scene.under.rows(iid)).state).toBe(1)
  })

  test('clearing takes all keys [test_kv_clear_all]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: setting({ a: '1', b: '2' }) }))

    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: CLEAR }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual([undefined, undefined])
    expect((await scene.under.rows(iid)).state).toBe(0)
  })

  test('values that are set in the turn that clears stay [test_kv_set_after_clear]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: setting({ a: '1', b: '2' }) }))

    await runtime.turns(turnItem(iid, { effects: { ...setting({ b: '3' }), clearsState: true } }))

    expect(await scene.stateOf(iid, 'a', 'b')).toEqual([undefined, '3'])
  })

  test('unsetting what is not there is harmless [test_kv_clear_nonexistent_key]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    const nothing = { ...setting({ a: null }), clearsState: true }
    const verdicts = await runtime.turns(turnItem(iid, { effects: nothing }))

    expect(verdicts).toEqual(['done'])
    expect(await scene.stateOf(iid, 'a')).toEqual([undefined])
  })

  test('an empty value is a value [test_kv_empty_value]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    await runtime.turns(turnItem(iid, { effects: setting({ a: '', '': 'empty key' }) }))

    expect(await scene.stateOf(iid, 'a', '')).toEqual(['', 'empty key'])
  })

  test('a large value comes back whole [test_kv_large_value]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const large = 'x'.repeat(64 * 1_024)

    await runtime.turns(turnItem(iid, { effects: setting({ a: large, b: `${large}y` }) }))

    const [a, b] = await scene.stateOf(iid, 'a', 'b')
    expect([a === large, b === `${large}y`]).toEqual([true, true])
  })

  test('keys may be any text, and look-alikes are different ones [test_kv_special_chars_in_key]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const keys = ['a b', 'a.b', 'a/b', 'ключ', '🔑', 'é', 'e\u0301', 'A', 'a', 'a ', '%', "'", '"']

    await runtime.turns(
      turnItem(iid, { effects: setting(Object.fromEntries(keys.map((key, i) => [key, `${i}`]))) }),
    )

    expect(await scene.stateOf(iid, ...keys)).toEqual(keys.map((_, i) => `${i}`))
    expect(await scene.stateOf(iid, '_', 'B')).toEqual([undefined, undefined])
  })

  test('a thousand changes of one turn are applied in order', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const state = Array.from({ length: 1_000 }, (_, i) => ({
      key: `k${i % 10}`,
      value: i % 10 === 3 ? null : `${i}`,
    }))

    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ state }) }))

    expect(await scene.stateOf(iid, 'k0', 'k3', 'k9')).toEqual(['990', undefined, '999'])
  })
}

function describeRefusal({ test, expect, open }: Contract): void {
  test('a refused item changes no value', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const iid = await owner.ownOne()
    await owner.turns(turnItem(iid, { effects: setting({ a: '1', b: '1' }) }))
    const change = { ...setting({ a: '2', c: '2' }), clearsState: true }
    const [taken] = await owner.reserve(1)

    const verdicts = [
      ...(await stranger.turns(turnItem(iid, { turn: turnRow(2), effects: change }))),
      ...(await owner.turns(turnItem(iid, { epoch: 2, effects: change }))),
      ...(await owner.starts(owner.startItem(taken!, { id: idOf(iid), effects: change }))),
    ]

    expect(verdicts).toEqual(['refused', 'refused', 'exists'])
    expect(await scene.stateOf(iid, 'a', 'b', 'c')).toEqual(['1', '1', undefined])
    expect((await scene.under.rows(taken!)).state).toBe(0)
  })

  test('an item that was done before changes no value', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [iid] = await runtime.reserve(1)
    const start = runtime.startItem(iid!, { effects: setting({ a: 'started' }) })
    const first = turnItem(iid!, { turn: turnRow(2), effects: setting({ a: 'first' }) })
    await runtime.starts(start)
    await runtime.turns(first)
    await runtime.turns(turnItem(iid!, { turn: turnRow(3), effects: setting({ a: 'second' }) }))

    const again = await runtime.commit({ starts: [start], turns: [first] })

    expect(again).toMatchObject({ starts: ['done'], turns: ['done'] })
    expect(await scene.stateOf(iid!, 'a')).toEqual(['second'])
  })
}
