import { effects } from './items.ts'
import { type Contract, turnItem, turnRow } from './scene.ts'
import {
  asking,
  beat,
  beatOf,
  claimTasks,
  commandsOf,
  completed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
} from './task-items.ts'

/** Tasks as turns ask for them. */
export function describeTasks(contract: Contract): void {
  contract.describe('tasks', () => {
    describeAsking(contract)
    describeJudged(contract)
  })
}

function describeAsking({ test, expect, open }: Contract): void {
  test('a task is handed out as it was created, at once [test_worker_item_immediate_visibility]', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const asked = newTask(7, {
      activity: 'résumé "of" all\\',
      input: '{"a":"’"}',
      tag: 'gpu, large',
      session: `o'session`,
      options: '{"retry":[1,2]}',
      attempts: 2,
      startBy: (await scene.clock()) + 60_000,
      limit: { key: 'k', concurrency: 3, rate: { count: 5, perMs: 1_000 } },
    })
    const iid = await asking(owner, [asked], { id: 'order-7' })

    const { state, clock, tasks, nextDue } = await claimTasks(other, {
      activities: ['other', asked.activity],
      served: { untagged: true, tags: ['cpu', asked.tag] },
    })

    expect([state, nextDue]).toEqual(['ok', null])
    expect(Math.abs(clock - (await scene.clock()))).toBeLessThanOrEqual(10_000)
    expect(tasks).toEqual([
      {
        iid,
        execution: 1,
        command: 7,
        token: asked.token,
        id: 'order-7',
        workflow: 'order',
        activity: asked.activity,
        input: asked.input,
        tag: asked.tag,
        session: asked.session,
        options: asked.options,
        attempt: 3,
        deaths: 0,
        beat: null,
      },
    ])
  })

  test('one commit of several instances writes turns and tasks, and each instance shows its own', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)
    const fresh = await asking(runtime, [newTask(1)])

    await runtime.turns(
      turnItem(a!, {
        turn: turnRow(2),
        effects: effects({ tasks: [newTask(3), newTask(2, { attempts: 4 })] }),
      }),
      turnItem(b!, {
        turn: turnRow(2),
        effects: effects({ tasks: [newTask(3)] }),
        next: { kind: 'release', wakeAt: null },
      }),
    )
    await held(runtime, { limit: 1 })

    const tasks = async (iid: number) => (await scene.load(iid)).tasks
    expect(await tasks(fresh)).toEqual([{ command: 1, attempts: 1, isOwned: true }])
    expect(await tasks(a!)).toEqual([
      { command: 2, attempts: 4, isOwned: false },
      { command: 3, attempts: 0, isOwned: false },
    ])
    expect(await tasks(b!)).toEqual([{ command: 3, attempts: 0, isOwned: false }])
    expect((await held(runtime)).length).toBe(3)
  })

  test('a second task of a command is dropped, whether the first one waits or is owned', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await asking(runtime, [newTask(1, { input: '"first"' }), newTask(2)])
    const again = (turn: number) =>
      turnItem(iid, {
        turn: turnRow(turn),
        effects: effects({ tasks: [newTask(1, { input: '"second"', attempts: 5 })] }),
      })

    await runtime.turns(again(2))
    const [first] = await held(runtime, { limit: 1 })
    const verdicts = await runtime.turns(again(3))

    expect(verdicts).toEqual(['done'])
    expect(first).toMatchObject({ command: 1, attempt: 1, input: '"first"' })
    expect(await commandsOf(runtime)).toEqual([2])
    expect(await beat(runtime, beatOf(first!))).toEqual([true])
  })

  test('load sees a task as open or its result in the inbox, never both nor neither', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const reader = await scene.under.another()
    const count = 20
    const iid = await asking(owner, newTasks(count))
    const tasks = await held(owner)
    let done = false

    const finishing = (async () => {
      for (const task of tasks) await finish(owner, completed(task))
      done = true
    })()
    const sums: number[] = []
    while (!done) {
      const [loaded] = await reader.load([{ iid, after: 0 }])
      sums.push(loaded!.tasks.length + loaded!.inbox.length)
    }
    await finishing

    expect(new Set([...sums, count])).toEqual(new Set([count]))
    expect((await scene.load(iid)).tasks).toEqual([])
  })
}

function describeJudged({ test, expect, open }: Contract): void {
  test('a refused item neither creates nor drops tasks', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const iid = await asking(owner, newTasks(2))
    const task = await heldOne(owner, { limit: 1 })
    const before = await scene.state([iid], [owner])

    const change = effects({ tasks: [newTask(9)], dropsTasks: [1, 2] })
    const verdicts = [
      ...(await owner.turns(turnItem(iid, { epoch: 2, turn: turnRow(2), effects: change }))),
      ...(await owner.turns(turnItem(iid, { epoch: 2, effects: change }))),
      ...(await stranger.turns(turnItem(iid, { turn: turnRow(2), effects: change }))),
      ...(await stranger.turns(turnItem(iid, { effects: change }))),
    ]

    const [second] = await stranger.reserve(1)
    const id = (await scene.look(iid)).id
    const taken = stranger.startItem(second!, { id, effects: change })

    expect(verdicts).toEqual(['refused', 'refused', 'refused', 'refused'])
    expect(await stranger.starts(taken)).toEqual(['exists'])
    expect(await scene.state([iid], [owner])).toEqual(before)
    expect(await commandsOf(stranger)).toEqual([2])
    expect(await beat(owner, beatOf(task))).toEqual([true])
  })

  test('a batch that is sent again creates no task twice, even when the task is done by then', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [fresh] = await runtime.reserve(1)
    const iid = await runtime.ownOne()
    const batch = {
      starts: [runtime.startItem(fresh!, { effects: effects({ tasks: [newTask(1)] }) })],
      turns: [turnItem(iid, { turn: turnRow(2), effects: effects({ tasks: [newTask(1)] }) })],
    }
    await runtime.commit(batch)
    const tasks = await held(runtime)
    await finish(runtime, ...tasks.map((task) => completed(task)))

    const again = await runtime.commit(batch)

    expect(tasks.length).toBe(2)
    expect(again).toMatchObject({ state: 'ok', starts: ['done'], turns: ['done'] })
    expect(await held(runtime)).toEqual([])
    expect([(await scene.load(fresh!)).tasks, (await scene.load(iid)).tasks]).toEqual([[], []])
  })

  test('one that is sent again drops no task that came later', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const dropping = turnItem(iid, {
      turn: turnRow(2),
      effects: effects({ dropsTasks: [1] }),
    })
    const asks = effects({ tasks: [newTask(1)] })
    await runtime.turns(dropping)
    await runtime.turns(turnItem(iid, { turn: turnRow(3), effects: asks }))

    expect(await runtime.turns(dropping)).toEqual(['done'])

    expect(await commandsOf(runtime)).toEqual([1])
  })
}
