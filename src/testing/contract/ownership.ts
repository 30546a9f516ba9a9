import type { Iid } from '../../store/instances.ts'
import {
  type Actor,
  type Contract,
  ending,
  PAST_LEASE_MS,
  result,
  sorted,
  turnItem,
  turnRow,
} from './scene.ts'

/** What is owned belongs to one runtime, and what happens to it when that runtime is gone. */
export function describeOwnership({ describe, test, expect, open }: Contract): void {
  describe('ownership', () => {
    test('an owned instance cannot be claimed, not even by its owner [test_exclusive_instance_lock]', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const [claimed] = await scene.sleeping(owner.workflows[0]!, [0])
      const started = await owner.ownOne()
      await owner.claim()
      await scene.store.send([result(claimed!, 1), result(started, 1)])

      const hinted = [claimed!, started]
      expect(await other.claimed({ hinted })).toEqual([])
      expect(await owner.claimed({ hinted })).toEqual([])
      expect(await other.tick()).toMatchObject({ claimable: false, nextDue: null })
    })

    test('a claimed instance is hidden but kept until its owner is done with it [test_worker_peek_lock_semantics]', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const [iid] = await scene.sleeping(owner.workflows[0]!, [0])
      await owner.claim()

      expect(await other.claimed()).toEqual([])
      expect(await scene.turnsOf(iid!)).toEqual([1])
      await owner.turns(turnItem(iid!, { turn: turnRow(2), next: { kind: 'end', end: ending() } }))
      expect(await other.claimed({ hinted: [iid!] })).toEqual([])
    })

    test('mail for an owned instance waits, in order, for its next owner [test_completions_arriving_during_lock_blocked]', async () => {
      await using scene = await open()
      const silent = await scene.runtime()
      const other = await scene.otherRuntime()
      const iid = await silent.ownOne()

      for (const command of [1, 2, 3]) await scene.store.send([result(iid, command)])
      const during = await other.claimed({ hinted: [iid] })
      await scene.takeOver(silent, other)

      expect(during).toEqual([])
      expect((await scene.inboxOf(iid)).map(({ command }) => command)).toEqual([1, 2, 3])
    })

    test('two runtimes that claim at once never get the same instance [test_multi_threaded_no_duplicate_processing]', async () => {
      await using scene = await open()
      const actors = [await scene.runtime(), await scene.otherRuntime()]
      const iids = await scene.sleeping(
        actors[0]!.workflows[0]!,
        Array.from({ length: 60 }, () => 0),
      )
      await scene.store.send(iids.slice(0, 20).map((iid) => result(iid, 1)))

      const claimed = await Promise.all(actors.map((actor) => claimAll(actor, 7)))

      expect(sorted(claimed.flat())).toEqual(iids)
    })

    test('of many concurrent claims of one instance exactly one gets it [test_multi_threaded_lock_contention]', async () => {
      await using scene = await open()
      const other = await scene.under.another()
      const actors = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          scene.runtime({ store: i % 2 === 0 ? scene.store : other }),
        ),
      )
      const [iid] = await scene.sleeping(actors[0]!.workflows[0]!, [0])

      const claimed = await Promise.all(actors.map((actor) => actor.claimed({ hinted: [iid!] })))

      expect(claimed.flat()).toEqual([iid])
      const owned = await Promise.all(actors.map(({ store, runtime }) => store.owned(runtime)))
      expect(owned.flat().map(({ epoch }) => epoch)).toEqual([1])
    })

    test('many claims of one each get one each [test_concurrent_instance_fetching]', async () => {
      await using scene = await open()
      const other = await scene.under.another()
      const actors = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          scene.runtime({ store: i % 2 === 0 ? scene.store : other }),
        ),
      )
      const iids = await scene.sleeping(
        actors[0]!.workflows[0]!,
        Array.from({ length: 10 }, (_, i) => i),
      )

      // Some may find nothing because others have looked at the same rows; then they look again.
      const claimed = await Promise.all(actors.map((actor) => claimSome(actor)))

      expect(sorted(claimed.flat())).toEqual(iids)
    })

    test('a claim whose answer was lost is found again by its owner', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await scene.sleeping(runtime.workflows[0]!, [0, 1])
      const { claims } = await runtime.claim()

      const owned = await scene.store.owned(runtime.runtime)

      expect(owned).toEqual([...claims].toSorted((a, b) => a.iid - b.iid))
      expect(
        await runtime.turns(...iids.map((iid) => turnItem(iid, { turn: turnRow(2) }))),
      ).toEqual(['done', 'done'])
    })

    test('a claim whose owner forgot it comes back when that owner is dead [test_lost_lock_token_handling]', async () => {
      await using scene = await open()
      const forgetful = await scene.runtime()
      const other = await scene.otherRuntime()
      const [iid] = await scene.sleeping(forgetful.workflows[0]!, [0])
      await forgetful.claim()

      const early = await other.claimed()
      const late = await scene.takeOver(forgetful, other)

      expect(early).toEqual([])
      expect(late).toMatchObject([{ iid, epoch: 2, deaths: 1 }])
    })

    test('an owner that never writes loses the instance when its lease is over [test_multi_threaded_lock_expiration_recovery]', async () => {
      await using scene = await open()
      const silent = await scene.runtime()
      const iid = await silent.ownOne()
      const takers = [await scene.runtime(), await scene.otherRuntime()]
      await scene.under.advance(PAST_LEASE_MS)

      const claimed = await Promise.all(
        takers.map(async (taker) => {
          await taker.renew()
          await taker.tick()
          return taker.claimed({ hinted: [iid] })
        }),
      )

      const rest = await takers[0]!.claimed()
      expect([...claimed.flat(), ...rest]).toEqual([iid])
    })

    test('the first owner of an instance finds no deaths counted [orchestration_attempt_count_starts_at_one]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      await scene.sleeping(runtime.workflows[0]!, [0, 0])

      const { claims } = await runtime.claim()

      expect(claims.map(({ deaths }) => deaths)).toEqual([0, 0])
    })

    test('each takeover without progress is counted in the next claim [orchestration_attempt_count_increments_on_refetch]', async () => {
      await using scene = await open()
      let owner = await scene.runtime()
      const iid = await owner.ownOne()

      const counts: number[] = []
      for (let round = 0; round < 4; round++) {
        const next = await scene.runtime()
        const [claim] = await scene.takeOver(owner, next)
        counts.push(claim!.deaths)
        owner = next
      }

      expect(counts).toEqual([1, 2, 3, 4])
      expect(await owner.turns(turnItem(iid, { epoch: 5, turn: turnRow(2) }))).toEqual(['done'])
      expect(await scene.under.attempts(iid)).toBe(0)
    })

    test('deaths are counted for each instance by itself [attempt_count_is_per_message]', async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const taker = await scene.otherRuntime()
      const iid = await dead.ownOne()
      const [fresh] = await scene.sleeping(dead.workflows[0]!, [0])

      const claims = await scene.takeOver(dead, taker)

      const attempts = new Map(claims.map((claim) => [claim.iid, claim.deaths]))
      expect([attempts.get(iid), attempts.get(fresh!)]).toEqual([1, 0])
    })
  })
}

/** Claims until nothing is left. */
async function claimAll(actor: Actor, limit: number): Promise<Iid[]> {
  const all: Iid[] = []
  for (;;) {
    const claimed = await actor.claimed({ limit })
    if (claimed.length === 0) return all
    all.push(...claimed)
  }
}

/** Claims one, looking again as long as the store says that there is something. */
async function claimSome(actor: Actor): Promise<Iid[]> {
  for (;;) {
    const claimed = await actor.claimed({ limit: 1 })
    if (claimed.length > 0) return claimed
    const answer = await actor.tick()
    if (answer.state === 'ok' && !answer.claimable) return []
  }
}
