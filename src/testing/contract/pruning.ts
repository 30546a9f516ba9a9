import { search } from './admin-items.ts'
import { continuing, setting } from './items.ts'
import { type Actor, type Contract, idOf, named, turnItem, turnRow } from './scene.ts'

/** Removing the histories of earlier executions. */
export function describePruning({ describe, test, expect, open }: Contract): void {
  describe('pruning', () => {
    test(
      named(
        'the latest executions stay, as many as asked for, and the current one always does',
        '[test_prune_options_combinations]',
        '[test_prune_safety]',
        '[test_list_executions]',
        '[test_prune_bulk]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const [kept, pruned, all] = await runtime.own(3)
        for (const iid of [kept!, pruned!, all!]) await goOn(runtime, iid, 4)
        const { admin } = scene.store
        const executions = async (iid: number): Promise<number[]> =>
          (await admin.executions(iid)).map(({ execution }) => execution)

        expect(await admin.prune({ iids: [pruned!], keep: 2, endedUntil: null })).toBe(2)
        expect(await admin.prune({ iids: [all!], keep: 0, endedUntil: null })).toBe(3)

        expect(await executions(kept!)).toEqual([1, 2, 3, 4])
        expect(await executions(pruned!)).toEqual([3, 4])
        expect(await executions(all!)).toEqual([4])
        expect(await admin.prune({ iids: [pruned!, all!, 4_711], keep: 2, endedUntil: null })).toBe(
          0,
        )
        expect((await search(scene.store, { minExecution: 4 })).matched).toBe(3)
      },
    )

    test('only executions that ended before a time are removed, if one is given', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await goOn(runtime, iid, 3)
      // The times of turns are those that the owner writes: see `goOn`.

      const { admin } = scene.store
      expect(await admin.prune({ iids: [iid], keep: 1, endedUntil: 2_000 })).toBe(1)
      expect((await admin.executions(iid)).map(({ execution }) => execution)).toEqual([2, 3])
      expect(await admin.prune({ iids: [iid], keep: 2, endedUntil: 9_000 })).toBe(0)
      expect(await admin.prune({ iids: [iid], keep: 1, endedUntil: 9_000 })).toBe(1)
    })

    test(
      named(
        'an instance that runs continues, with its state, after earlier executions are gone',
        '[test_prune_bulk_includes_running_instances]',
        '[test_kv_prune_preserves_overwritten]',
        '[test_kv_prune_preserves_all_keys]',
        '[test_kv_prune_current_execution_protected]',
        '[test_kv_execution_id_tracking]',
        '[test_kv_delta_prune_untouched_key_survives]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const iid = await runtime.ownOne()
        await runtime.turns(
          turnItem(iid, { turn: turnRow(2), effects: setting({ once: '1', twice: '1' }) }),
        )
        const next = continuing(runtime.workflows[0]!)
        await runtime.turns(turnItem(iid, { turn: turnRow(3), next }))
        await runtime.turns(
          turnItem(iid, { turn: turnRow(2, { execution: 2 }), effects: setting({ twice: '2' }) }),
        )

        await scene.store.admin.prune({ iids: [iid], keep: 1, endedUntil: null })

        expect(await scene.stateOf(iid, 'once', 'twice')).toEqual(['1', '2'])
        expect(await scene.turnsOf(iid)).toEqual([1, 2])
        await endOf2(runtime, iid)
        expect(await scene.look(iid)).toMatchObject({ status: 'completed', execution: 2 })
        expect(await scene.store.history(iid, 1)).toEqual([])
      },
    )

    test(
      named(
        'executions and usage tell how much there is [test_get_execution_info]',
        '[test_get_instance_stats_history]',
        '[test_get_instance_stats_kv]',
        '[test_get_instance_stats_kv_delta_only]',
        '[test_get_instance_stats_kv_merged]',
        '[test_get_instance_stats_carry_forward]',
        '[test_get_instance_stats_nonexistent]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const iid = await runtime.ownOne()
        const state = setting({ a: '12', b: '"ä"', c: null })
        await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: state }))
        // What an execution has set counts before it ends.
        expect(await scene.store.admin.usage(iid)).toMatchObject({ stateKeys: 2 })
        const next = continuing(runtime.workflows[0]!)
        await runtime.turns(turnItem(iid, { turn: turnRow(3), next }))
        const message = { kind: 'message', name: 'notes', replyTo: '', dedupeKey: '' } as const
        await scene.post({ ...message, id: idOf(iid), payload: '"ü"', capacity: null, iid: 0 })

        const { admin } = scene.store
        const executions = await admin.executions(iid)
        expect(executions).toMatchObject([
          { execution: 1, startedAt: 1_001, lastTurnAt: 1_003, turns: 3, events: 3 },
          { execution: 2, startedAt: 1_001, lastTurnAt: 1_001, turns: 1, events: 1 },
        ])
        const { stateBytes, messageBytes, ...counts } = await admin.usage(iid)
        expect(counts).toEqual({ stateKeys: 2, messages: 1, tasks: 0 })
        // As stored: more than the bytes of these texts where a transform adds to them.
        const sizes = [...executions.map(({ bytes }) => bytes), stateBytes, messageBytes]
        expect(sizes.map((size, i) => size >= [21, 6, 6, 4][i]!)).toEqual(sizes.map(() => true))
        expect(await admin.executions(4_711)).toEqual([])
        expect(await admin.usage(4_711)).toMatchObject({ stateKeys: 0, messages: 0 })
      },
    )
  })
}

/** Continues an instance until it is at an execution; each ends a second later than the one before. */
async function goOn(runtime: Actor, iid: number, until: number): Promise<void> {
  for (let execution = 1; execution < until; execution++) {
    const next = continuing(runtime.workflows[0]!, { execution: execution + 1 })
    const turn = turnRow(2, { execution, at: execution * 1_000 + 900 })
    await runtime.turns(turnItem(iid, { turn, next }))
  }
}

async function endOf2(runtime: Actor, iid: number): Promise<void> {
  const end = { status: 'completed', output: '1' } as const
  const turn = turnRow(3, { execution: 2 })
  await runtime.turns(turnItem(iid, { turn, next: { kind: 'end', end } }))
}
