import { continuing } from './items.ts'
import { type Actor, type Contract, named, type Scene, sorted, turnItem, turnRow } from './scene.ts'

/** What a runtime can run: workflows by name and version, each a number of its own. */
export function describeVersions({ describe, test, expect, open }: Contract): void {
  describe('versions', () => {
    test(
      named(
        'a version that is served is claimed, an older one is passed by and left to others at once',
        '[test_fetch_with_compatible_filter_returns_item]',
        '[test_fetch_filter_skips_incompatible_selects_compatible]',
        '[test_fetch_filter_does_not_lock_skipped_instances]',
      ),
      async () => {
        await using scene = await open()
        const { runtime, one, two } = await twoVersions(scene)
        const other = await scene.otherRuntime()
        const ones = await scene.sleeping(one, [1, 2])
        const [iid] = await scene.sleeping(two, [3])

        const served = await runtime.claimed({ workflows: [two], limit: 1, hinted: ones })
        const { claims } = await other.claim({ workflows: [one] })

        expect(served).toEqual([iid])
        expect(claims).toMatchObject(ones.map((old) => ({ iid: old, epoch: 1, deaths: 0 })))
      },
    )

    test(
      named(
        'the version is written with the start, and turns leave it as it is',
        '[test_pinned_version_stored_via_ack_metadata]',
        '[test_pinned_version_immutable_across_ack_cycles]',
      ),
      async () => {
        await using scene = await open()
        const { runtime, one, two } = await twoVersions(scene)
        const [iid] = await runtime.reserve(1)
        await runtime.starts(runtime.startItem(iid!, { workflow: two }))
        const next = { kind: 'release', wakeAt: 0 } as const

        for (const epoch of [1, 2, 3]) {
          expect((await scene.look(iid!)).workflow.version).toBe('2')
          await runtime.turns(turnItem(iid!, { epoch, turn: turnRow(epoch + 1), next }))
          expect(await runtime.claimed({ workflows: [one], hinted: [iid!] })).toEqual([])
          expect(await runtime.claimed({ workflows: [two] })).toEqual([iid])
        }
      },
    )

    test(
      named(
        'the next execution has the version it is given, kept or not',
        '[test_continue_as_new_execution_gets_own_pinned_version]',
        '[test_provider_updates_pinned_version_when_told]',
      ),
      async () => {
        await using scene = await open()
        const { runtime, one, two } = await twoVersions(scene)
        const [freed, kept] = await runtime.own(2)

        await runtime.turns(
          turnItem(freed!, { turn: turnRow(2), next: continuing(two, { keep: false }) }),
          turnItem(kept!, { turn: turnRow(2), next: continuing(two) }),
        )

        expect(await runtime.claimed({ workflows: [one], hinted: [freed!] })).toEqual([])
        expect(await runtime.claimed({ workflows: [two] })).toEqual([freed])
        expect((await scene.load(kept!)).workflow).toEqual({ name: 'order', version: '2' })
        expect((await scene.look(kept!)).workflow.version).toBe('2')
      },
    )

    test('two concurrent claims of different versions get nothing twice [test_concurrent_filtered_fetch_no_double_lock]', async () => {
      await using scene = await open()
      const { runtime, one, two } = await twoVersions(scene)
      const other = await scene.otherRuntime()
      const ones = await scene.sleeping(one, [0, 0, 0])
      const twos = await scene.sleeping(two, [0, 0, 0])

      const [mixed, only] = await Promise.all([
        runtime.claimed({ workflows: [one, two], limit: 3 }),
        other.claimed({ workflows: [two] }),
      ])
      const rest = await runtime.claimed({ workflows: [one, two] })

      const claimed = [...mixed, ...only, ...rest]
      expect(only.every((iid) => twos.includes(iid))).toBe(true)
      expect(sorted(claimed)).toEqual(sorted([...ones, ...twos]))
    })

    test('a damaged history does not affect a runtime without its version, and is claimed by one that has it [test_fetch_corrupted_history_filtered_vs_unfiltered]', async () => {
      await using scene = await open()
      const { runtime, one, two } = await twoVersions(scene)
      const [iid] = await scene.sleeping(two, [0])
      await scene.under.corrupt(iid!)

      expect(await runtime.claimed({ workflows: [one], hinted: [iid!] })).toEqual([])
      expect(await runtime.claimed({ workflows: [one, two] })).toEqual([iid])
    })
  })
}

/** A runtime with the numbers of two versions of its workflow. */
async function twoVersions(scene: Scene): Promise<{ runtime: Actor; one: number; two: number }> {
  const runtime = await scene.runtime()
  const [two] = await scene.store.workflowNumbers([{ name: 'order', version: '2' }])
  return { runtime, one: runtime.workflows[0]!, two: two! }
}
