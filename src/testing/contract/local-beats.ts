import type { Beat } from '../../store/tasks.ts'
import { effects } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  bury,
  completed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  retried,
} from './task-items.ts'

/** Heartbeats of activities that run at the owner: the first one makes them a task. */
export function describeLocalBeats({ describe, test, expect, open }: Contract): void {
  describe('heartbeats at the owner', () => {
    test('the first heartbeat of a local activity makes it a task of the owner', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const iid = await owner.ownOne()
      const run = attemptAt(iid, 4, { attempt: 2 })

      const first = await beat(owner, beatOf(run, { ...local(1, 4), details: '"half"' }))
      const again = await beat(owner, beatOf(run, local(1, 4)))
      const plain = await beat(owner, beatOf(run))

      expect([first, again, plain]).toEqual([[true], [true], [true]])
      expect((await scene.load(iid)).tasks).toEqual([{ command: 4, attempts: 2, isOwned: true }])
      expect(await held(other)).toEqual([])
      await bury(scene, owner, other)
      expect(await heldOne(other)).toMatchObject({
        iid,
        command: 4,
        activity: 'charge',
        input: '"input 4"',
        attempt: 3,
        deaths: 1,
        beat: '"half"',
      })
    })

    test('a runtime that does not own the instance, or no longer, cannot', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const [owned, freed, aside, ended] = await owner.own(4)
      await owner.turns(
        turnItem(freed!, { next: { kind: 'release', wakeAt: null } }),
        turnItem(ended!, {
          turn: turnRow(2),
          next: { kind: 'end', end: { status: 'failed', output: '' } },
        }),
      )
      await scene.store.suspend([idOf(aside!)], '"why"')

      const foreign = await beat(other, at(owned!, 1))
      const answers = await beat(
        owner,
        at(owned!, 2),
        at(owned!, 0),
        at(freed!, 1),
        at(aside!, 1),
        at(aside!, 2),
        at(ended!, 1),
        at(123_456_789, 1),
        at(owned!, 1),
      )

      expect(foreign).toEqual([false])
      expect(answers).toEqual([false, false, false, false, false, false, false, true])
      for (const iid of [freed!, aside!, ended!]) expect((await scene.load(iid)).tasks).toEqual([])
    })

    test('an owner that is dead or was taken over cannot', async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const taker = await scene.otherRuntime()
      const [iid] = await dead.own()
      await bury(scene, dead, taker)

      const between = await beat(dead, beatOf(attemptAt(iid!, 1), local(1, 1)))
      await taker.claim()
      const after = await beat(dead, beatOf(attemptAt(iid!, 1), local(1, 1)))

      expect([between, after]).toEqual([[false], [false]])
      expect((await scene.load(iid!)).tasks).toEqual([])
      expect(await beat(taker, beatOf(attemptAt(iid!, 1), local(2, 1)))).toEqual([true])
    })

    test('where there is a task already, its holder decides', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const iid = await asking(owner, newTasks(2))
      const [task] = await held(holder, { limit: 1 })

      const answers = await beat(
        owner,
        beatOf(attemptAt(iid, 1), { ...local(1, 1), details: '"mine"' }),
        beatOf(attemptAt(iid, 2), { ...local(1, 2), details: '"mine"' }),
      )
      const own = await beat(holder, beatOf(task!, local(1, 1)))

      expect([answers, own]).toEqual([[false, false], [true]])
      expect((await scene.load(iid)).tasks).toEqual([
        { command: 1, attempts: 1, isOwned: true },
        { command: 2, attempts: 0, isOwned: false },
      ])
      expect(await heldOne(holder)).toMatchObject({ command: 2, attempt: 1, beat: null })
    })

    test('such a task is dropped, finished, taken over without heartbeats, and ends with its instance, like any other', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const [iid, ended] = await owner.own(2)
      await beat(
        owner,
        ...[1, 2, 3].map((command) => beatOf(attemptAt(iid!, command), local(1, command))),
        beatOf(attemptAt(iid!, 4), { ...local(1, 4), silentMs: 5_000 }),
        beatOf(attemptAt(ended!, 1), local(1, 1)),
      )

      await owner.turns(
        turnItem(iid!, { turn: turnRow(2), effects: effects({ dropsTasks: [1] }) }),
        turnItem(ended!, {
          turn: turnRow(2),
          next: { kind: 'end', end: { status: 'completed', output: '' } },
        }),
      )
      const verdicts = await finish(
        owner,
        completed(attemptAt(iid!, 1)),
        completed(attemptAt(iid!, 2)),
        retried(attemptAt(iid!, 3)),
        completed(attemptAt(ended!, 1)),
      )
      await scene.under.advance(6_000)

      expect(verdicts).toEqual(['gone', 'done', 'done', 'gone'])
      expect((await held(other)).map(({ command, attempt }) => [command, attempt])).toEqual([
        [3, 2],
        [4, 2],
      ])
    })
  })
}

/** What a heartbeat carries that makes a task of an activity at the owner. */
function local(epoch: number, command: number): Pick<Beat, 'local'> {
  return { local: { epoch, task: newTask(command) } }
}

/** The first heartbeat of an attempt of the first command. */
function at(iid: number, epoch: number): Beat {
  return beatOf(attemptAt(iid, 1), local(epoch, 1))
}
