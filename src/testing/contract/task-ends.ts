import { continuing, effects, termination } from './items.ts'
import {
  type Actor,
  type Contract,
  ending,
  idOf,
  inTurn,
  named,
  type Scene,
  turnItem,
  turnRow,
} from './scene.ts'
import {
  asking,
  type Attempt,
  attemptAt,
  beat,
  beatOf,
  completed,
  failed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
} from './task-items.ts'

/** What happens to tasks when the instance that asked for them ends, continues or is suspended. */
export function describeTaskEnds(contract: Contract): void {
  contract.describe('the end of tasks', () => {
    describeEnding(contract)
    describeContinuing(contract)
    describeSettingAside(contract)
  })
}

function describeEnding({ test, expect, open }: Contract): void {
  test(
    named(
      'tasks of an instance that ends go with it, even those of its last turn, whichever runtime owns them',
      '[test_fetch_returns_terminal_state_when_orchestration_completed]',
      '[test_fetch_returns_terminal_state_when_orchestration_failed]',
      '[test_renew_returns_terminal_when_orchestration_completed]',
    ),
    async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const statuses = ['completed', 'failed', 'cancelled'] as const
      const iids = await inTurn(statuses, () => asking(owner, newTasks(2)))
      const neighbour = await asking(owner, newTasks(1))
      const tasks = await held(holder, { limit: 5 })

      await owner.turns(
        ...iids.map((iid, i) =>
          turnItem(iid, {
            turn: turnRow(2),
            effects: effects({ tasks: [newTask(3)] }),
            next: { kind: 'end', end: ending('"over"', statuses[i]) },
          }),
        ),
      )
      const atOnce = await asking(owner, newTasks(2), { end: ending() })

      expect(await beat(holder, ...tasks.map((task) => beatOf(task)))).toEqual(
        tasks.map(() => false),
      )
      for (const iid of [...iids, atOnce]) {
        expect(await verdictsOf(holder, iid, 3)).toEqual(['gone', 'gone', 'gone'])
        expect((await scene.load(iid)).tasks).toEqual([])
      }
      expect(await heldOne(holder)).toMatchObject({ iid: neighbour })
    },
  )

  test('tasks of a terminated or removed instance are gone, and their owner learns that [test_renew_returns_missing_when_instance_deleted]', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const holder = await scene.otherRuntime()
    const iid = await asking(owner, newTasks(2))
    const unowned = await asking(owner, newTasks(1), { owned: false })
    const [task] = await held(holder, { limit: 1 })

    const { hadTasks } = await scene.store.terminate([termination(iid), termination(unowned)])

    expect(hadTasks).toBe(true)
    expect(await beat(holder, beatOf(task!))).toEqual([false])
    expect(await held(holder)).toEqual([])
    await scene.store.remove([idOf(iid)])
    expect(await beat(holder, beatOf(task!))).toEqual([false])
    expect(await verdictsOf(holder, iid, 2)).toEqual(['gone', 'gone'])
    expect(await verdictsOf(holder, unowned, 1)).toEqual(['gone'])
    expect(await scene.under.rows(iid)).toMatchObject({ instances: 0, inbox: 0 })
  })

  test('the result of a task of an earlier instance with the same id is dropped [test_orphan_activity_after_instance_force_deletion]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const old = await asking(runtime, newTasks(2), { id: 'phoenix' })
    const task = await heldOne(runtime, { limit: 1 })
    await scene.store.terminate([{ id: 'phoenix', output: '""', events: 'terminated' }])
    await scene.store.remove(['phoenix'])
    const reborn = await asking(runtime, newTasks(1), { id: 'phoenix' })

    expect(await finish(runtime, completed(task), failed(task))).toEqual(['gone', 'gone'])

    expect(await heldOne(runtime)).toMatchObject({ iid: reborn, command: 1, attempt: 1 })
    expect(await scene.inboxOf(reborn)).toEqual([])
    expect(await scene.store.look([old])).toEqual([undefined])
  })
}

function describeContinuing({ test, expect, open }: Contract): void {
  for (const keep of [true, false]) {
    test(`tasks of an execution go with it, and those of the next one are its own (${keep ? 'kept' : 'released'}) [test_fetch_returns_terminal_state_when_orchestration_continued_as_new]`, async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const iid = await asking(owner, newTasks(2))
      const [task] = await held(holder, { limit: 1 })

      await owner.turns(
        turnItem(iid, {
          turn: turnRow(2),
          effects: effects({ tasks: [newTask(3)] }),
          next: continuing(owner.workflows[0]!, { keep }),
        }),
      )
      const between = [await beat(holder, beatOf(task!)), await held(holder)]
      const epoch = keep ? 1 : (await owner.claim()).claims[0]!.epoch
      await owner.turns(
        turnItem(iid, {
          epoch,
          turn: turnRow(2, { execution: 2 }),
          effects: effects({ tasks: [newTask(1)] }),
        }),
      )

      expect(between).toEqual([[false], []])
      expect((await scene.load(iid)).tasks).toEqual([{ command: 1, attempts: 0, isOwned: false }])
      expect(await verdictsOf(holder, iid, 3)).toEqual(['gone', 'gone', 'gone'])
      expect(await heldOne(holder)).toMatchObject({ iid, execution: 2, command: 1, attempt: 1 })
      expect(await scene.inboxOf(iid)).toEqual([])
    })
  }
}

function describeSettingAside({ test, expect, open }: Contract): void {
  const ways: Readonly<Record<string, (scene: Scene, owner: Actor, iid: number) => unknown>> = {
    'suspended from outside': (scene, _, iid) => scene.store.suspend([idOf(iid)], '"why"'),
    'held by its owner': (_, owner, iid) =>
      owner.turns(turnItem(iid, { next: { kind: 'suspend', report: '"why"' } })),
  }
  for (const [way, suspend] of Object.entries(ways)) {
    test(`tasks of an instance that is ${way} continue, and their results wait for it`, async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const iid = await asking(owner, newTasks(3))
      const [before] = await held(holder, { limit: 1 })

      await suspend(scene, owner, iid)
      const wanted = await beat(holder, beatOf(before!))
      const [during] = await held(holder, { limit: 1 })
      const verdicts = await scene.store.finishTasks(holder.runtime, [
        completed(before!),
        failed(during!),
      ])

      expect(wanted).toEqual([true])
      expect(verdicts).toEqual([
        { verdict: 'done', owner: null },
        { verdict: 'done', owner: null },
      ])
      expect(await scene.waitingFor(iid)).toEqual(['completed: "charged"', 'failed: "declined"'])
      expect(await owner.claimed({ hinted: [iid] })).toEqual([])
      expect(await scene.store.resume([idOf(iid)])).toBe(1)
      expect(await owner.claimed()).toEqual([iid])
      expect((await scene.load(iid)).tasks).toEqual([{ command: 3, attempts: 0, isOwned: false }])
      expect((await heldOne(holder)).command).toBe(3)
    })
  }

  test('tasks of an unowned instance are handed out, and continue when it is claimed [test_fetch_returns_running_state_for_active_orchestration]', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const holder = await scene.otherRuntime()
    const iid = await asking(owner, newTasks(2))
    await owner.turns(turnItem(iid, { next: { kind: 'release', wakeAt: 0 } }))

    const [task] = await held(holder, { limit: 1 })
    const claimed = await owner.claimed()
    const [later] = await held(holder)

    expect([claimed, task!.command, later!.command]).toEqual([[iid], 1, 2])
    expect(await beat(holder, beatOf(task!))).toEqual([true])
    expect(await finish(holder, completed(task!), completed(later!))).toEqual(['done', 'done'])
  })
}

/**
 * The answers to results of the commands 1 to `count` of the first execution, from a runtime that
 * owns no task.
 */
async function verdictsOf(runtime: Actor, iid: number, count: number): Promise<string[]> {
  const attempts: Attempt[] = Array.from({ length: count }, (_, i) => attemptAt(iid, i + 1))
  return finish(runtime, ...attempts.map((attempt) => completed(attempt)))
}
