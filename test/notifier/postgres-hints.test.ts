import { describe, expect, onTestFinished, test } from 'vitest'
import type { Hint } from '../../src/store/hints.ts'
import type { Registered } from '../../src/store/runtimes.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { listenOn } from './listeners.ts'
import {
  allReceived,
  CLIENT,
  OTHER,
  owned,
  type Scene,
  scenesInOneSchema,
  unowned,
} from './scene.ts'

// Which listeners a hint reaches, on a real server.

const openScene = scenesInOneSchema()

describe('of mail', () => {
  test('the owner gets the hint, and no other listener', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    store.hints!.announce({ kind: 'mail', iids: [iid] }, CLIENT)
    await allReceived(store, a, b)

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at: 0 }])
    expect(b.hints).toEqual([])
  })

  test('an owner that announces gets no hint itself', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    store.hints!.announce({ kind: 'mail', iids: [iid] }, { runtime: a.runtime, hasRoom: true })
    await allReceived(store, a, b)

    expect([...a.hints, ...b.hints]).toEqual([])
  })

  test('without an owner, one runtime that has the workflow gets the hint', async () => {
    await using scene = openScene()
    const a = await scene.runtime()
    const b = await scene.runtime()
    const without = await scene.runtime([OTHER])
    const store = await scene.store()
    const iids = await unowned(store, a, 3)

    store.hints!.announce({ kind: 'mail', iids }, CLIENT)
    await allReceived(store, a, b, without)

    const received = [...a.hints, ...b.hints]
    expect(received).toEqual([{ kind: 'work', iids: expect.arrayContaining(iids), at: 0 }])
    expect(without.hints).toEqual([])
  })

  test('an instance that a tick of another runtime locked is announced again after the tick', async () => {
    await using scene = openScene()
    const [a, without] = [await scene.runtime(), await scene.runtime([OTHER])]
    const [store, { database }] = [await scene.store(), scene]
    const [iid] = (await unowned(store, a, 1, null)) as [number]
    const rest = { name: 'go', payload: '1', replyTo: '', dedupeKey: '', capacity: null } as const
    await store.post([{ id: `order-${iid}`, kind: 'message', iid: 0, ...rest }])
    const ticking = await database.connect()
    await ticking.query('begin')
    await ticking.query(
      `select tick($1, null, $2, '', 0, '', 0, false, '{}', '{}', '{}', '{}', false, '', 0)`,
      [without.runtime, without.workflows],
    )

    const { runtime, workflows } = a
    const claim = { runtime, workflows, limit: 100, hinted: [iid] }
    const during = await store.claim(claim)
    await ticking.query('commit')
    await allReceived(store, a, without)

    expect(during.claims.map((claimed) => claimed.iid)).not.toContain(iid)
    expect(a.hints).toMatchObject([{ kind: 'work', iids: [iid] }])
    expect(without.hints).toEqual([])
    expect((await store.claim({ ...claim, hinted: [] })).claims).toMatchObject([{ iid }])
  })

  test('no hint is sent about what is suspended, ended or unknown', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const [aside, ended] = (await unowned(store, a, 2)) as [number, number]
    await store.suspend([`order-${aside}`], '')
    await store.terminate([{ id: `order-${ended}`, output: '', events: 'x' }])

    store.hints!.announce({ kind: 'mail', iids: [aside, ended, 123_456] }, CLIENT)
    await allReceived(store, a)

    expect(a.hints).toEqual([])
  })

  test('more than fits into a notification means: look everywhere', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 2_000)

    store.hints!.announce({ kind: 'mail', iids }, CLIENT)
    await allReceived(store, a)

    expect(a.hints).toEqual([{ kind: 'work', iids: [], at: 0 }])
  })
})

describe('of what is due', () => {
  test('the hint says when it is due', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const at = Date.now() + 5_000
    const [iid] = await unowned(store, a, 1, at)

    store.hints!.announce({ kind: 'due', iids: [iid!] }, CLIENT)
    await allReceived(store, a)

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at }])
  })

  test('a runtime with room that has the workflow needs no other', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 1)

    store.hints!.announce({ kind: 'due', iids }, { runtime: a.runtime, hasRoom: true })
    await allReceived(store, a, b)

    expect([...a.hints, ...b.hints]).toEqual([])
  })

  test('a runtime without room, or without the workflow, passes the hint to another', async () => {
    await using scene = openScene()
    const a = await scene.runtime()
    const b = await scene.runtime()
    const without = await scene.runtime([OTHER])
    const store = await scene.store()
    const [first, second] = (await unowned(store, a, 2)) as [number, number]

    store.hints!.announce({ kind: 'due', iids: [first] }, { runtime: a.runtime, hasRoom: false })
    await allReceived(store, a, b)
    expect(b.hints).toEqual([{ kind: 'work', iids: [first], at: 0 }])
    expect(a.hints).toEqual([])

    b.hints.length = 0
    store.hints!.announce(
      { kind: 'due', iids: [second] },
      { runtime: without.runtime, hasRoom: true },
    )
    await allReceived(store, a, b)
    expect([...a.hints, ...b.hints]).toEqual([{ kind: 'work', iids: [second], at: 0 }])
  })

  test('much of it is spread over all runtimes that can do it, each instance once', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 200)

    store.hints!.announce({ kind: 'due', iids }, CLIENT)
    await allReceived(store, a, b)

    const [ofA, ofB] = [a, b].map(({ hints }) =>
      hints.flatMap((hint) => (hint.kind === 'work' ? hint.iids : [])),
    ) as [number[], number[]]
    expect([...ofA, ...ofB].toSorted((x, y) => x - y)).toEqual(iids)
    expect(Math.min(ofA.length, ofB.length)).toBeGreaterThan(90)
  })

  test('only live runtimes are chosen', async () => {
    await using scene = openScene()
    const { database } = scene
    const [a, silent, closed] = [
      await scene.runtime(),
      await scene.runtime(),
      await scene.runtime(),
    ]
    const store = await scene.store()
    await store.unregister(closed.runtime)
    await database.query('update runtimes set lease_until = 0 where runtime = $1', [silent.runtime])
    const iids = await unowned(store, a, 100)

    store.hints!.announce({ kind: 'due', iids }, CLIENT)
    await allReceived(store, a, silent, closed)

    expect(a.hints).toMatchObject([{ kind: 'work', at: 0 }])
    expect([...silent.hints, ...closed.hints]).toEqual([])
  })

  test('an idle runtime comes first', async () => {
    await using scene = openScene()
    const { database } = scene
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await database.query('update runtimes set idle = runtime = $1', [b.runtime])

    for (const iid of await unowned(store, a, 8)) {
      store.hints!.announce({ kind: 'due', iids: [iid] }, CLIENT)
      await allReceived(store, a, b)
    }

    expect(b.hints).toHaveLength(8)
  })
})

describe('of tasks', () => {
  const HINT = { kind: 'tasks', activities: ['sh"ip'], at: 0 }

  test('as many runtimes get a hint as there are tasks, of those that have the activity, the idle first', async () => {
    await using scene = openScene()
    const [busy, idle, without] = [
      await scene.runtime(),
      await scene.runtime(),
      await scene.runtime(),
    ]
    const store = await scene.store()
    await makeAble(scene, busy, false)
    await makeAble(scene, idle, true)

    announceTasks(store, 1, false)
    await allReceived(store, busy, idle, without)
    expect([busy.hints, idle.hints, without.hints]).toEqual([[], [HINT], []])

    announceTasks(store, 5, false)
    await allReceived(store, busy, idle, without)
    expect([busy.hints, idle.hints, without.hints]).toEqual([[HINT], [HINT, HINT], []])
  })

  test('where a tag or a session decides, every runtime gets a hint', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]

    announceTasks(store, 1, true)
    await allReceived(store, a, b)

    expect([a.hints, b.hints]).toEqual([[HINT], [HINT]])
  })

  test('a thousand at once are one notification for each recipient', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await makeAble(scene, a, true)
    await makeAble(scene, b, true)

    for (let i = 0; i < 1_000; i++) announceTasks(store, 1, false)
    await allReceived(store, a, b)

    expect([a.hints, b.hints]).toEqual([[HINT], [HINT]])
  })

  test('the runtime that created them gets no hint', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await makeAble(scene, a, true)
    await makeAble(scene, b, false)

    announceTasks(store, 1, false, a.runtime)
    await allReceived(store, a, b)

    expect([a.hints, b.hints]).toEqual([[], [HINT]])
  })
})

describe('callers that wait', () => {
  test('are announced to every other process, and notified by name', async () => {
    await using scene = openScene()
    const [a, b] = [await scene.runtime(), await scene.runtime()]
    const store = await scene.store()
    const client = await listenOn(store, 0)
    onTestFinished(() => client.listening.close())

    store.hints!.announce({ kind: 'waiting', iids: [7, 8] }, CLIENT)
    const [waiting] = await a.until(1)
    expect(waiting).toEqual({ kind: 'waiting', iids: [7, 8], to: expect.any(String) })
    expect(client.hints).toEqual([])

    const { to } = waiting as Extract<Hint, { kind: 'waiting' }>
    const other = await scene.store()
    other.hints!.announce({ kind: 'changed', to, iids: [8] }, CLIENT)
    expect(await client.until(1)).toEqual([{ kind: 'changed', iids: [8] }])
    expect(b.hints).toEqual([waiting])
  })
})

describe('inside a transaction of the user', () => {
  test.each(['commit', 'rollback'] as const)('announcements arrive with its %s', async (end) => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    const user = await scene.database.connect()

    await user.query('begin')
    await user.query('select tell_work(array[$1::bigint], false, 0, false)', [iid])
    await allReceived(store, a)
    expect(a.hints).toEqual([])
    await user.query(end)
    await allReceived(store, a)

    expect(a.hints).toHaveLength(end === 'commit' ? 1 : 0)
  })
})

function announceTasks(store: WorkflowStore, count: number, pinned: boolean, runtime = 0): void {
  const activities = [{ activity: 'sh"ip', count, pinned }]
  store.hints!.announce({ kind: 'tasks', activities }, { runtime, hasRoom: true })
}

/** The runtime has the code of that activity. */
async function makeAble(
  { database }: Scene,
  { runtime }: Registered,
  idle: boolean,
): Promise<void> {
  await database.query(
    `update runtimes set activities = '{"sh\\"ip"}', idle = $2 where runtime = $1`,
    [runtime, idle],
  )
}
