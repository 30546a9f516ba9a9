import type { CommitAnswer, Next, Verdict } from '../../store/commits.ts'
import { childOf, continuing, effects, END, message } from './items.ts'
import {
  type Actor,
  type Contract,
  ending,
  idOf,
  judged,
  result,
  type Scene,
  turnItem,
  turnRow,
} from './scene.ts'
import { completed, finish, held, newTask } from './task-items.ts'

const RELEASE: Next = { kind: 'release', wakeAt: 0 }

/** Batches whose answer was lost, sent again. */
export function describeResends({ describe, test, expect, open }: Contract): void {
  describe('batches sent again', () => {
    test('a whole batch sent again is answered as before, and changes nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { batch, iids } = await fullBatch(scene, runtime)
      const first = judged(await scene.store.commit(batch))
      const before = await scene.state(iids, [runtime])

      const second = judged(await scene.store.commit(batch))

      expect(first.starts.concat(first.turns).every((verdict) => verdict === 'done')).toBe(true)
      expect([second.starts, second.turns]).toEqual([first.starts, first.turns])
      expect(await scene.state(iids, [runtime])).toEqual(before)
    })

    test('a whole batch sent twice at once is done once, and both are answered so [test_concurrent_ack_prevention]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.under.another()
      const { batch, iids } = await fullBatch(scene, runtime)

      const answers = await Promise.all([
        untilNotLocked(() => scene.store.commit(batch)),
        untilNotLocked(() => other.commit(batch)),
      ])

      for (const verdicts of answers) {
        expect(verdicts.filter((verdict) => verdict !== 'done')).toEqual([])
      }
      const loaded = await scene.store.load(iids.map((iid) => ({ iid, after: 0 })))
      for (const { history, inbox } of loaded) {
        expect(history.map(({ turn }) => turn)).toEqual(history.map((_, i) => i + 1))
        expect(inbox.length).toBeLessThanOrEqual(1)
      }
    })

    test('a task that was completed meanwhile is not made again', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const iid = await owner.ownOne()
      const item = turnItem(iid, { effects: effects({ tasks: [newTask(1), newTask(2)] }) })
      await owner.turns(item)
      const [first] = await held(other)
      await finish(other, completed(first!))

      expect(await owner.turns(item)).toEqual(['done'])

      expect(await scene.waitingFor(iid)).toEqual(['completed: "charged"'])
      expect(await held(other)).toEqual([])
      expect((await scene.store.ownedTasks(other.runtime)).map(({ command }) => command)).toEqual([
        2,
      ])
    })

    test('a turn that released stays done when another runtime has continued since', async () => {
      await using scene = await open()
      const first = await scene.runtime()
      const second = await scene.otherRuntime()
      const [iid] = await first.own()
      const item = turnItem(iid!, { turn: turnRow(2), next: RELEASE })
      await first.turns(item)
      await second.claim()
      await second.turns(turnItem(iid!, { epoch: 2, turn: turnRow(3) }))
      const before = await scene.state([iid!], [first, second])

      const again = await first.turns(item)

      expect(again).toEqual(['done'])
      expect(await scene.state([iid!], [first, second])).toEqual(before)
    })

    test('a turn that released does not release again when its own runtime claimed it back', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const item = turnItem(iid, { turn: turnRow(2), next: RELEASE })
      await runtime.turns(item)
      await runtime.claim()
      const before = await scene.state([iid], [runtime])

      expect(await runtime.turns(item)).toEqual(['done'])

      expect(await scene.state([iid], [runtime])).toEqual(before)
    })

    test('a release without a turn has no effect once another runtime has it', async () => {
      await using scene = await open()
      const first = await scene.runtime()
      const second = await scene.otherRuntime()
      const [iid] = await first.own()
      const item = turnItem(iid!, { next: RELEASE })
      await first.turns(item)
      await second.claim()
      const before = await scene.state([iid!], [first, second])

      await first.turns(item)

      expect(await scene.state([iid!], [first, second])).toEqual(before)
    })

    test('a turn that ended the instance stays done', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [withTurn, without] = await runtime.own(2)
      const items = [
        turnItem(withTurn!, { turn: turnRow(2), next: END }),
        turnItem(without!, { next: END }),
      ]
      await runtime.turns(...items)
      const before = await scene.state([withTurn!, without!], [runtime])

      expect(await runtime.turns(...items)).toEqual(['done', 'done'])

      expect(await scene.state([withTurn!, without!], [runtime])).toEqual(before)
    })

    test('a turn of another owner in the same place is not taken for the own one [test_duplicate_event_id_rejection]', async () => {
      await using scene = await open()
      const stale = await scene.runtime()
      const owner = await scene.runtime()
      const iid = await stale.ownOne()
      await stale.turns(turnItem(iid, { next: RELEASE }))
      await owner.claim()
      await owner.turns(turnItem(iid, { epoch: 2, turn: turnRow(2, { events: 'the owner’s' }) }))

      const verdicts = await stale.turns(
        turnItem(iid, { turn: turnRow(2, { events: 'the stale one’s' }) }),
      )

      expect(verdicts).toEqual(['refused'])
      const { history } = await scene.load(iid)
      expect(history.map(({ events }) => events)).toEqual(['event 1', 'the owner’s'])
    })

    test('done and new items may be in one batch', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [old, fresh] = await runtime.own(2)
      const done = turnItem(old!, { turn: turnRow(2) })
      await runtime.turns(done)

      const verdicts = await runtime.turns(done, turnItem(fresh!, { turn: turnRow(2) }))

      expect(verdicts).toEqual(['done', 'done'])
      expect([await scene.turnsOf(old!), await scene.turnsOf(fresh!)]).toEqual([
        [1, 2],
        [1, 2],
      ])
    })

    test('mail that came after a turn is not taken when the turn is sent again', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.store.send([result(iid, 1)])
      const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
      const item = turnItem(iid, { turn: turnRow(2), taken })
      await runtime.turns(item)
      await scene.store.send([result(iid, 2)])

      await runtime.turns(item)

      expect((await scene.inboxOf(iid)).map(({ command }) => command)).toEqual([2])
    })

    test('a start of a client sent again is recognised, even when the instance has gone on or ended', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.reserve(3)
      const [untouched, running, ended] = iids
      const items = iids.map((iid) => runtime.startItem(iid, { owned: false, wakeAt: 0 }))
      await scene.store.start(items)
      await runtime.claim({ hinted: [running!, ended!], limit: 2 })
      await runtime.turns(
        turnItem(running!, { turn: turnRow(2) }),
        turnItem(ended!, { turn: turnRow(2), next: END }),
      )
      const before = await scene.state(iids, [runtime])

      expect(await scene.store.start(items)).toEqual(['done', 'done', 'done'])

      expect(await scene.state(iids, [runtime])).toEqual(before)
      expect((await scene.look(untouched!)).status).toBe('scheduled')
    })

    test('an owned start sent again is refused once another runtime has taken the instance over', async () => {
      await using scene = await open()
      const stale = await scene.runtime()
      const taker = await scene.otherRuntime()
      const [iid] = await stale.reserve(1)
      const item = stale.startItem(iid!)
      await stale.starts(item)
      await scene.takeOver(stale, taker)
      // The sender finds itself dead, registers again, and sends what it has no answer for.
      const reborn = await scene.runtime()
      const before = await scene.state([iid!], [taker, reborn])

      const verdicts = await reborn.starts(item)

      expect(verdicts).toEqual(['refused'])
      expect(await scene.state([iid!], [taker, reborn])).toEqual(before)
    })

    test('an owned start sent again is refused while the instances of its dead sender are unclaimed', async () => {
      await using scene = await open()
      const stale = await scene.runtime()
      const [iid] = await stale.reserve(1)
      const item = stale.startItem(iid!)
      await stale.starts(item)
      await scene.under.kill(stale.runtime)
      const reborn = await scene.runtime()
      await reborn.tick()

      const verdicts = await reborn.starts(item)

      expect(verdicts).toEqual(['refused'])
      expect(await reborn.claimed()).toEqual([iid])
    })
  })
}

/** A batch with every kind of item once, not yet sent. */
async function fullBatch(scene: Scene, runtime: Actor) {
  const starts = await runtime.reserve(4)
  const workflow = runtime.workflows[0]!
  const nexts: readonly Next[] = [
    { kind: 'keep' },
    { kind: 'release', wakeAt: null },
    { kind: 'suspend', report: '"report"' },
    END,
    continuing(workflow),
    continuing(workflow, { keep: false }),
  ]
  // The last two only make sense with a turn.
  const kinds = [...nexts, ...nexts.slice(0, 4)]
  const turns = await runtime.own(kinds.length)
  const [child] = await runtime.ownChildren(childOf(turns[3]!))
  await scene.store.send(turns.map((iid) => result(iid, 1)))
  await scene.post(...turns.map((iid) => message(idOf(iid), 'parked')))
  const loaded = await scene.store.load(turns.map((iid) => ({ iid, after: 0 })))
  const batch = runtime.batch({
    starts: [
      runtime.startItem(starts[0]!, { messages: [{ name: 'notes', payload: '1' }] }),
      runtime.startItem(starts[1]!, { owned: false, wakeAt: 0 }),
      runtime.startItem(starts[2]!, { end: ending() }),
      runtime.startItem(starts[3]!, { parent: childOf(turns[0]!), end: ending() }),
    ],
    turns: kinds.map((next, i) => {
      const [first, second] = loaded[i]!.inbox
      const withTurn = i < nexts.length
      return turnItem(turns[i]!, {
        turn: withTurn ? turnRow(2) : null,
        taken: [first!.id],
        effects: effects({
          parked: [second!.id],
          closes: 'all',
          state: [{ key: 'a', value: `${i}` }],
          // Without a turn nothing is recognised: progress would be recorded again, at a later
          // time.
          progress: withTurn ? `${i}` : null,
        }),
        next,
      })
    }),
  })
  return { batch, iids: [...starts, ...turns, child!] }
}

/** Sends a batch again while the other one has an id of it locked, as the engine does. */
async function untilNotLocked(send: () => Promise<CommitAnswer>): Promise<readonly Verdict[]> {
  for (;;) {
    const { starts, turns } = judged(await send())
    const verdicts = [...starts, ...turns]
    if (!verdicts.some((verdict) => verdict === 'locked' || verdict === 'untried')) return verdicts
  }
}
