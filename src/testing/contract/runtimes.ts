import type { AdminStore } from '../../store/admin-store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { queryFor, taskQuery } from './admin-items.ts'
import { stop } from './items.ts'
import {
  type Contract,
  errorOf,
  LEASE_MS,
  result,
  sorted,
  tickRequest,
  turnItem,
  turnRow,
} from './scene.ts'
import { taskRequest } from './task-items.ts'

/** Runtimes: registering, leaving, opening, closing. */
export function describeRuntimes(contract: Contract): void {
  contract.describe('runtimes', () => {
    describeRegistration(contract)
    describeClosing(contract)
  })
}

function describeRegistration({ test, expect, open }: Contract): void {
  test('each registration gets a number of its own', async () => {
    await using scene = await open()

    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    await a.store.unregister(a.runtime)
    const c = await scene.runtime()

    expect(new Set([a.runtime, b.runtime, c.runtime]).size).toBe(3)
    expect(b.server).toBe(a.server)
  })

  test('workflows are numbered by name and version, in the order given', async () => {
    await using scene = await open()
    const names = [
      { name: 'order', version: '1' },
      { name: 'order', version: '2' },
      { name: 'Order', version: '1' },
      { name: 'order', version: '1' },
    ]

    const first = await scene.store.workflowNumbers(names)
    const { workflows } = await scene.store.register({
      leaseMs: LEASE_MS,
      workflows: names.toReversed(),
      info: '',
    })

    expect(new Set(first).size).toBe(3)
    expect(first[3]).toBe(first[0])
    expect(workflows).toEqual(first.toReversed())
    expect(await scene.store.workflowNumbers([])).toEqual([])
  })

  test('two concurrent requests for the number of a new workflow get the same one', async () => {
    await using scene = await open()
    const other = await scene.under.another()
    const names = Array.from({ length: 20 }, (_, i) => ({ name: `workflow ${i}`, version: '1' }))

    const [a, b] = await Promise.all([
      scene.store.workflowNumbers(names),
      other.workflowNumbers(names.toReversed()),
    ])

    expect(b.toReversed()).toEqual(a)
  })

  test('reserved numbers are given out once, to any runtime', async () => {
    await using scene = await open()
    const other = await scene.under.another()
    const counts = [1, 10, 3, 1_000, 1, 7]

    const blocks = await Promise.all(
      counts.map(async (count, i) => {
        const first = await (i % 2 === 0 ? scene.store : other).reserve(count)
        return Array.from({ length: count }, (_, n) => first + n)
      }),
    )

    const numbers = blocks.flat()
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Math.min(...numbers)).toBeGreaterThan(0)
  })

  test('a runtime that leaves frees all it owns at once, and no death is counted [abandon_orchestration_item_ignore_attempt_decrements]', async () => {
    await using scene = await open()
    const leaving = await scene.runtime()
    const staying = await scene.otherRuntime()
    const iids = await leaving.own(3)
    const others = await staying.own(2)

    await leaving.store.unregister(leaving.runtime)

    const { claims } = await staying.claim()
    expect(sorted(claims.map(({ iid }) => iid))).toEqual(iids)
    expect(claims.every(({ epoch, deaths }) => epoch === 2 && deaths === 0)).toBe(true)
    expect((await staying.store.owned(staying.runtime)).length).toBe(iids.length + others.length)
  })

  test('a runtime that left can no longer write, claim or renew [test_worker_lock_renewal_after_ack]', async () => {
    await using scene = await open()
    const gone = await scene.runtime()
    const [iid] = await gone.own()
    await gone.store.unregister(gone.runtime)
    await gone.store.unregister(gone.runtime)

    const [fresh] = await gone.reserve(1)
    const answer = await gone.commit({
      starts: [gone.startItem(fresh!)],
      turns: [turnItem(iid!, { turn: turnRow(2) })],
    })

    expect(answer).toMatchObject({ state: 'dead' })
    expect(await gone.claim()).toMatchObject({ state: 'dead', claims: [] })
    expect(await gone.tick()).toMatchObject({ state: 'dead' })
    expect(await scene.store.look([fresh!])).toEqual([undefined])
    expect(await scene.turnsOf(iid!)).toEqual([1])
  })

  test('an unknown runtime is answered like a dead one [test_worker_lock_renewal_invalid_token]', async () => {
    await using scene = await open()
    const real = await scene.runtime()
    const iid = await real.ownOne()
    const runtime = real.runtime === 4_711 ? 4_712 : 4_711
    const { server, workflows } = real

    const turns = [turnItem(iid, { turn: turnRow(2) })]
    const committed = await scene.store.commit({ runtime, server, starts: [], turns })
    const ticked = await scene.store.tick(tickRequest(runtime, workflows))
    const claimed = await scene.store.claim({ runtime, workflows, limit: 10, hinted: [iid] })

    expect([committed.state, ticked.state, claimed.state]).toEqual(['dead', 'dead', 'dead'])
    expect(await scene.turnsOf(iid)).toEqual([1])
    await scene.store.unregister(runtime)
    expect(await scene.store.owned(runtime)).toEqual([])
  })
}

function describeClosing({ test, expect, open }: Contract): void {
  test('opening again is harmless, and so is closing again', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()

    await scene.store.open()
    expect(await runtime.tick()).toMatchObject({ state: 'ok' })
    await scene.store.close()
    await scene.store.close()
  })

  test('every call on a closed store fails with `closed`, and other connections continue', async () => {
    await using scene = await open()
    const other = await scene.otherRuntime()
    const iid = await other.ownOne()
    await scene.store.close()
    const closed = scene.store

    for (const [name, call] of Object.entries({ ...CALLS, ...ADMIN_CALLS })) {
      const error = await errorOf(call(closed, iid, other.workflows[0]!))
      const code = error instanceof StoreError ? error.code : `not a StoreError: ${String(error)}`
      expect({ name, code }).toEqual({ name, code: 'closed' })
    }
    expect(await errorOf(closed.schedules.read())).toMatchObject({ code: 'closed' })
    expect(await other.turns(turnItem(iid, { turn: turnRow(2) }))).toEqual(['done'])
  })
}

/** One call of every method that goes to the database by itself. */
const CALLS: Readonly<
  Record<
    Exclude<
      keyof WorkflowStore,
      | 'kind'
      | 'hints'
      | 'schedules'
      | 'admin'
      | 'withoutTransactions'
      | 'close'
      | 'within'
      | 'keepLease'
      | 'onPromotion'
      | 'outbox'
    >,
    (store: WorkflowStore, iid: number, workflow: number) => Promise<unknown>
  >
> = {
  open: (store) => store.open(),
  register: (store) => store.register({ leaseMs: LEASE_MS, workflows: [], info: '' }),
  unregister: (store) => store.unregister(1),
  now: (store) => store.now(),
  reserve: (store) => store.reserve(1),
  workflowNumbers: (store) => store.workflowNumbers([{ name: 'order', version: '1' }]),
  start: (store) => store.start([]),
  commit: (store) => store.commit({ runtime: 1, server: '', starts: [], turns: [] }),
  claim: (store, iid, workflow) =>
    store.claim({ runtime: 1, workflows: [workflow], limit: 1, hinted: [iid] }),
  load: (store, iid) => store.load([{ iid, after: 0 }]),
  whereabouts: (store, iid) => store.whereabouts(iid),
  send: (store, iid) => store.send([result(iid, 1)]),
  post: (store) => store.post([stop('nobody', 'cancel')]),
  renewLease: (store) => store.renewLease(1, LEASE_MS),
  tick: (store, _, workflow) => store.tick(tickRequest(1, [workflow])),
  ownedTasks: (store) => store.ownedTasks(1),
  aboutTo: (store, iid) => store.aboutTo(1, iid, 1, 'a step'),
  transact: (store, iid) =>
    store.transact({
      runtime: 1,
      iid,
      execution: 1,
      command: 1,
      by: { epoch: 1, turn: 1 },
      code: () => '"never run"',
    }),
  claimTasks: (store) => store.claimTasks(taskRequest(1)),
  finishTasks: (store) => store.finishTasks(1, []),
  beat: (store) => store.beat(1, []),
  verify: (store) => store.verify(1, []),
  suspend: (store) => store.suspend(['nobody'], '"why"'),
  resume: (store) => store.resume(['nobody']),
  terminate: (store) => store.terminate([{ id: 'nobody', output: '""', events: '' }]),
  remove: (store) => store.remove(['nobody']),
  removeExpired: (store) => store.removeExpired(),
  setLimitKeys: (store, iid) => store.setLimitKeys([{ iid, key: 'a' }]),
  import: (store, iid, workflow) =>
    store.import({ iid, id: 'new', workflow, labels: '{}', turns: [turnRow(1)], state: [] }),
  owned: (store) => store.owned(1),
  find: (store) => store.find(['nobody']),
  look: (store, iid) => store.look([iid]),
  history: (store, iid) => store.history(iid, 1),
  readState: (store) => store.readState([{ id: 'nobody', key: 'a' }]),
  replies: (store) => store.replies(['nobody']),
}

/** One call of every method of administration. */
const ADMIN_CALLS: Readonly<
  Record<keyof AdminStore, (store: WorkflowStore, iid: number) => Promise<unknown>>
> = {
  search: ({ admin }) => admin.search(queryFor(), { after: null, limit: 1, scan: 10 }),
  tree: ({ admin }, iid) => admin.tree(iid, { fromRoot: true, limit: 10 }),
  executions: ({ admin }, iid) => admin.executions(iid),
  usage: ({ admin }, iid) => admin.usage(iid),
  removeTrees: ({ admin }, iid) => admin.removeTrees([iid], { together: true }),
  prune: ({ admin }, iid) => admin.prune({ iids: [iid], keep: 1, endedUntil: null }),
  depths: ({ admin }) => admin.depths(),
  fleet: ({ admin }) => admin.fleet(),
  findTasks: ({ admin }) => admin.findTasks(taskQuery(), { after: null, limit: 1, scan: 10 }),
}
