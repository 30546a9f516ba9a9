import type { RuntimeRow, TaskRow } from '../../store/admin-store.ts'
import { taskQuery } from './admin-items.ts'
import { END, message } from './items.ts'
import { type Contract, ending, idOf, LEASE_MS, named, turnItem, turnRow } from './scene.ts'
import { asking, heldOne, newTask, retried, finish } from './task-items.ts'

/** Figures for people: depths, runtimes, tasks. */
export function describeFigures(contract: Contract): void {
  contract.describe('figures', () => {
    describeDepths(contract)
    describeFleet(contract)
    describeTaskLists(contract)
  })
}

function describeDepths({ test, expect, open }: Contract): void {
  test(
    named(
      'depths count what is unfinished and what failed, and the messages that wait',
      '[test_get_system_metrics]',
      '[test_get_queue_depths]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const empty = await scene.store.admin.depths()
      const [running, suspended, failed, completed] = await runtime.own(4)
      const clock = await scene.clock()
      await scene.sleeping(runtime.workflows[0]!, [clock - 5_000, clock + 3_600_000])
      await scene.store.suspend([idOf(suspended!)], '"why"')
      const failure = { kind: 'end', end: ending('""', 'failed') } as const
      await runtime.turns(
        turnItem(failed!, { turn: turnRow(2), next: failure }),
        turnItem(completed!, { turn: turnRow(2), next: END }),
      )
      await scene.post(message(idOf(running!), '1'), message('nobody yet', '1'))

      const depths = await scene.store.admin.depths()

      expect({ ...empty, clock: 0 }).toEqual({
        clock: 0,
        workflows: [],
        tasks: [],
        oldestDueAt: null,
        messages: { waiting: 0, parked: 0 },
      })
      const order = { name: 'order', version: '1' }
      expect(depths.workflows).toEqual([
        { ...order, status: 'failed', count: 1 },
        { ...order, status: 'running', count: 1 },
        { ...order, status: 'scheduled', count: 2 },
        { ...order, status: 'suspended', count: 1 },
      ])
      expect(depths.oldestDueAt).toBe(clock - 5_000)
      expect(depths.messages).toEqual({ waiting: 1, parked: 1 })
    },
  )

  test('a start without a delay is due since it was made', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const before = await scene.clock()
    await scene.sleeping(runtime.workflows[0]!, [0])

    const { clock, oldestDueAt } = await scene.store.admin.depths()

    expect(oldestDueAt).toBeGreaterThanOrEqual(before)
    expect(oldestDueAt).toBeLessThanOrEqual(clock)
  })

  test('an instance that was released to be continued at once is due since its last turn', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [released] = await runtime.own(1)
    const turn = turnRow(2)
    await runtime.turns(turnItem(released!, { turn, next: { kind: 'release', wakeAt: 0 } }))
    await scene.sleeping(runtime.workflows[0]!, [0])

    const { oldestDueAt } = await scene.store.admin.depths()

    expect(oldestDueAt).toBe(turn.at)
  })

  test('depths count tasks by activity and tag', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    await asking(owner, [newTask(1), newTask(2), newTask(3, { tag: 'gpu' })])
    const task = await heldOne(owner, { limit: 1 })
    await finish(owner, retried(task, 60_000, '"boom"'))

    const { tasks } = await scene.store.admin.depths()

    const charge = { activity: 'charge', oldestAt: 1_001 }
    expect(tasks).toEqual([
      { ...charge, tag: '', waiting: 1, delayed: 1, running: 0 },
      { ...charge, tag: 'gpu', waiting: 1, delayed: 0, running: 0 },
    ])
  })
}

function describeFleet({ test, expect, open }: Contract): void {
  test('the fleet has live and dead runtimes, with what they serve and own', async () => {
    await using scene = await open()
    const serves = { untagged: true, tags: ['gpu'], activities: ['charge'] } as const
    const { runtime } = await scene.store.register({
      leaseMs: LEASE_MS,
      workflows: [{ name: 'bill', version: '2' }],
      info: 'host 42 1.2.3',
      serves,
    })
    const owner = await scene.runtime()
    await owner.own(2)
    await asking(owner, [newTask(1)])
    await heldOne(owner)
    const victim = await scene.runtime()
    await scene.under.kill(victim.runtime)
    const leaving = await scene.runtime()
    await leaving.store.unregister(leaving.runtime)

    const silent = await scene.store.admin.fleet()
    await owner.tick()
    const { clock, runtimes } = await scene.store.admin.fleet()

    expect(find(runtimes, runtime)).toMatchObject({
      info: 'host 42 1.2.3',
      state: 'alive',
      instances: 0,
      tasks: 0,
      workflows: [{ name: 'bill', version: '2' }],
      serves,
    })
    expect(find(runtimes, owner.runtime)).toMatchObject({ instances: 3, tasks: 1 })
    const before = find(silent.runtimes, victim.runtime)!
    expect([before.state, before.leaseUntil <= silent.clock]).toEqual(['alive', true])
    expect(find(runtimes, victim.runtime)).toMatchObject({ state: 'dead' })
    expect(find(runtimes, leaving.runtime)).toBe(undefined)
    expect(find(runtimes, owner.runtime)!.registeredAt! <= clock).toBe(true)
  })
}

function describeTaskLists({ test, expect, open }: Contract): void {
  test('tasks are found by what they wait for, page by page', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const first = await asking(owner, [newTask(1), newTask(2, { tag: 'gpu', session: 's' })])
    const second = await asking(owner, [newTask(1, { activity: 'mail' }), newTask(2)])
    const task = await heldOne(owner, { limit: 1 })
    const page = { after: null, limit: 10, scan: 100 }
    const found = async (given: Parameters<typeof taskQuery>[0]): Promise<string[]> =>
      keys((await scene.store.admin.findTasks(taskQuery(given), page)).tasks)

    expect(await found({})).toEqual([`${first}/1`, `${first}/2`, `${second}/1`, `${second}/2`])
    expect(await found({ tag: 'gpu' })).toEqual([`${first}/2`])
    expect(await found({ tag: '' })).toEqual([`${first}/1`, `${second}/1`, `${second}/2`])
    expect(await found({ session: 's' })).toEqual([`${first}/2`])
    expect(await found({ activity: 'mail' })).toEqual([`${second}/1`])
    expect(await found({ instance: idOf(second) })).toEqual([`${second}/1`, `${second}/2`])
    expect(await found({ instance: 'nobody' })).toEqual([])
    expect(await found({ state: 'running' })).toEqual([`${task.iid}/${task.command}`])
    await finish(owner, retried(task, 60_000, '"boom"'))
    expect(await found({ state: 'delayed' })).toEqual([`${task.iid}/${task.command}`])

    const paged: string[] = []
    let after = null as Awaited<ReturnType<typeof scene.store.admin.findTasks>>['next']
    do {
      const { tasks, next } = await scene.store.admin.findTasks(taskQuery({ activity: 'charge' }), {
        after,
        limit: 1,
        scan: 2,
      })
      paged.push(...keys(tasks))
      after = next
    } while (after !== null)
    expect(paged).toEqual([`${first}/1`, `${first}/2`, `${second}/2`])
  })

  test('a task says who runs it, since when, and what went wrong', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await asking(owner, [newTask(1, { session: 's' })])
    await finish(owner, retried(await heldOne(owner), 0, '"boom"'))
    await heldOne(owner)

    const { tasks } = await scene.store.admin.findTasks(taskQuery(), {
      after: null,
      limit: 10,
      scan: 100,
    })

    expect(tasks).toMatchObject([
      {
        id: idOf(iid),
        workflow: 'order',
        activity: 'charge',
        session: 's',
        sessionOf: owner.runtime,
        attempts: 2,
        deaths: 0,
        owner: owner.runtime,
        visibleAt: null,
        error: '"boom"',
      },
    ])
    expect(typeof tasks[0]!.ownedSince).toBe('number')
  })
}

function find(rows: readonly RuntimeRow[], number: number): RuntimeRow | undefined {
  return rows.find((row) => row.runtime === number)
}

function keys(tasks: readonly TaskRow[]): string[] {
  return tasks.map(({ iid, command }) => `${iid}/${command}`)
}
