import { describe, expect, onTestFinished, test } from 'vitest'
import type { Hint } from '../../src/store/hints.ts'
import type { Registered } from '../../src/store/runtimes.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { listenOn } from './listeners.ts'
import { allHeard, CLIENT, OTHER, owned, type Scene, scenesInOneSchema, unowned } from './scene.ts'

// Whom a hint reaches, on a real server.

const openScene = scenesInOneSchema()

describe('of mail', () => {
  test('the owner is told, and nobody else', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    store.hints!.tell({ kind: 'mail', iids: [iid] }, CLIENT)
    await allHeard(store, a, b)

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at: 0 }])
    expect(b.hints).toEqual([])
  })

  test('the owner that tells is not told', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)

    store.hints!.tell({ kind: 'mail', iids: [iid] }, { runtime: a.runtime, hasRoom: true })
    await allHeard(store, a, b)

    expect([...a.hints, ...b.hints]).toEqual([])
  })

  test('where there is no owner, one runtime is told that has the workflow', async () => {
    await using scene = openScene()
    const a = await scene.runtime()
    const b = await scene.runtime()
    const without = await scene.runtime([OTHER])
    const store = await scene.store()
    const iids = await unowned(store, a, 3)

    store.hints!.tell({ kind: 'mail', iids }, CLIENT)
    await allHeard(store, a, b, without)

    const heard = [...a.hints, ...b.hints]
    expect(heard).toEqual([{ kind: 'work', iids: expect.arrayContaining(iids), at: 0 }])
    expect(without.hints).toEqual([])
  })

  test('one that a tick of another runtime locked is told of again when the tick is done', async () => {
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
    await allHeard(store, a, without)

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

    store.hints!.tell({ kind: 'mail', iids: [aside, ended, 123_456] }, CLIENT)
    await allHeard(store, a)

    expect(a.hints).toEqual([])
  })

  test('more than fits into a notification means: look everywhere', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 2_000)

    store.hints!.tell({ kind: 'mail', iids }, CLIENT)
    await allHeard(store, a)

    expect(a.hints).toEqual([{ kind: 'work', iids: [], at: 0 }])
  })
})

describe('of what is due', () => {
  test('it is said when', async () => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const at = Date.now() + 5_000
    const [iid] = await unowned(store, a, 1, at)

    store.hints!.tell({ kind: 'due', iids: [iid!] }, CLIENT)
    await allHeard(store, a)

    expect(a.hints).toEqual([{ kind: 'work', iids: [iid], at }])
  })

  test('a runtime with room that has the workflow needs nobody else', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 1)

    store.hints!.tell({ kind: 'due', iids }, { runtime: a.runtime, hasRoom: true })
    await allHeard(store, a, b)

    expect([...a.hints, ...b.hints]).toEqual([])
  })

  test('a runtime without room, or without the workflow, has another one told', async () => {
    await using scene = openScene()
    const a = await scene.runtime()
    const b = await scene.runtime()
    const without = await scene.runtime([OTHER])
    const store = await scene.store()
    const [first, second] = (await unowned(store, a, 2)) as [number, number]

    store.hints!.tell({ kind: 'due', iids: [first] }, { runtime: a.runtime, hasRoom: false })
    await allHeard(store, a, b)
    expect(b.hints).toEqual([{ kind: 'work', iids: [first], at: 0 }])
    expect(a.hints).toEqual([])

    b.hints.length = 0
    store.hints!.tell({ kind: 'due', iids: [second] }, { runtime: without.runtime, hasRoom: true })
    await allHeard(store, a, b)
    expect([...a.hints, ...b.hints]).toEqual([{ kind: 'work', iids: [second], at: 0 }])
  })

  test('much of it is dealt out to all that can do it, each piece once', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    const iids = await unowned(store, a, 200)

    store.hints!.tell({ kind: 'due', iids }, CLIENT)
    await allHeard(store, a, b)

    const [ofA, ofB] = [a, b].map(({ hints }) =>
      hints.flatMap((hint) => (hint.kind === 'work' ? hint.iids : [])),
    ) as [number[], number[]]
    expect([...ofA, ...ofB].toSorted((x, y) => x - y)).toEqual(iids)
    expect(Math.min(ofA.length, ofB.length)).toBeGreaterThan(90)
  })

  test('only the living are chosen', async () => {
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

    store.hints!.tell({ kind: 'due', iids }, CLIENT)
    await allHeard(store, a, silent, closed)

    expect(a.hints).toMatchObject([{ kind: 'work', at: 0 }])
    expect([...silent.hints, ...closed.hints]).toEqual([])
  })

  test('one that has nothing to do comes first', async () => {
    await using scene = openScene()
    const { database } = scene
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await database.query('update runtimes set idle = runtime = $1', [b.runtime])

    for (const iid of await unowned(store, a, 8)) {
      store.hints!.tell({ kind: 'due', iids: [iid] }, CLIENT)
      await allHeard(store, a, b)
    }

    expect(b.hints).toHaveLength(8)
  })
})

describe('of tasks', () => {
  const HINT = { kind: 'tasks', activities: ['sh"ip'], at: 0 }

  test('as many are told as there are tasks, of those who have the activity, the idle first', async () => {
    await using scene = openScene()
    const [busy, idle, without] = [
      await scene.runtime(),
      await scene.runtime(),
      await scene.runtime(),
    ]
    const store = await scene.store()
    await makeAble(scene, busy, false)
    await makeAble(scene, idle, true)

    tell(store, 1, false)
    await allHeard(store, busy, idle, without)
    expect([busy.hints, idle.hints, without.hints]).toEqual([[], [HINT], []])

    tell(store, 5, false)
    await allHeard(store, busy, idle, without)
    expect([busy.hints, idle.hints, without.hints]).toEqual([[HINT], [HINT, HINT], []])
  })

  test('where a tag or a session decides, everybody gets a hint', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]

    tell(store, 1, true)
    await allHeard(store, a, b)

    expect([a.hints, b.hints]).toEqual([[HINT], [HINT]])
  })

  test('a thousand at once are one notification for each recipient', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await makeAble(scene, a, true)
    await makeAble(scene, b, true)

    for (let i = 0; i < 1_000; i++) tell(store, 1, false)
    await allHeard(store, a, b)

    expect([a.hints, b.hints]).toEqual([[HINT], [HINT]])
  })

  test('who made them is not told', async () => {
    await using scene = openScene()
    const [a, b, store] = [await scene.runtime(), await scene.runtime(), await scene.store()]
    await makeAble(scene, a, true)
    await makeAble(scene, b, false)

    tell(store, 1, false, a.runtime)
    await allHeard(store, a, b)

    expect([a.hints, b.hints]).toEqual([[], [HINT]])
  })
})

describe('those who wait', () => {
  test('are heard of by everybody else, and told by their name', async () => {
    await using scene = openScene()
    const [a, b] = [await scene.runtime(), await scene.runtime()]
    const store = await scene.store()
    const client = await listenOn(store, 0)
    onTestFinished(() => client.listening.close())

    store.hints!.tell({ kind: 'waiting', iids: [7, 8] }, CLIENT)
    const [waiting] = await a.until(1)
    expect(waiting).toEqual({ kind: 'waiting', iids: [7, 8], to: expect.any(String) })
    expect(client.hints).toEqual([])

    const { to } = waiting as Extract<Hint, { kind: 'waiting' }>
    const other = await scene.store()
    other.hints!.tell({ kind: 'changed', to, iids: [8] }, CLIENT)
    expect(await client.until(1)).toEqual([{ kind: 'changed', iids: [8] }])
    expect(b.hints).toEqual([waiting])
  })
})

describe('inside a transaction of the user', () => {
  test.each(['commit', 'rollback'] as const)('what is told is heard with its %s', async (end) => {
    await using scene = openScene()
    const [a, store] = [await scene.runtime(), await scene.store()]
    const iid = await owned(store, a)
    const user = await scene.database.connect()

    await user.query('begin')
    await user.query('select tell_work(array[$1::bigint], false, 0, false)', [iid])
    await allHeard(store, a)
    expect(a.hints).toEqual([])
    await user.query(end)
    await allHeard(store, a)

    expect(a.hints).toHaveLength(end === 'commit' ? 1 : 0)
  })
})

function tell(store: WorkflowStore, count: number, pinned: boolean, runtime = 0): void {
  const activities = [{ activity: 'sh"ip', count, pinned }]
  store.hints!.tell({ kind: 'tasks', activities }, { runtime, hasRoom: true })
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
