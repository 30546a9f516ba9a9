import { expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { idOf, Scene, turnItem, turnRow } from '../../src/testing/contract/scene.ts'
import { childOf, continuing, endOf, termination } from '../../src/testing/contract/items.ts'
import { deferred, eventually } from '../support/engine.ts'
import { connectTo, describeRace, engineOn, holdingStore, iidOf } from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'

// Calls that change many instances, or remove them, while their owners are at work.

const go = channel<string>('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

describeRace('[O6] a forced delete while a commit of the owner is on its way', (openStore) => {
  test('[O6] the commit is refused, and nothing of the instance comes back', async () => {
    await using under = await openStore()
    const gate = deferred()
    const slow = workflow('slow', async (_: string, ctx) => {
      await ctx.step('work', () => gate.promise)
      await ctx.receive(go)
    })
    const owning = holdingStore(await under.another(), ({ turns }) =>
      turns.some(({ turn }) => turn !== null),
    )
    await using owner = await engineOn(owning.store, [slow])
    await owner.start(slow, 'x', { id: 'hot' })
    const iid = await iidOf(under, 'hot')
    gate.resolve()
    await owning.onItsWay

    const client = connectTo(await under.another())
    expect(await client.admin.delete(['hot'], { force: true })).toBe(1)
    owning.letGo()
    await owner.start(slow, 'y', { id: 'hot' })
    const next = await iidOf(under, 'hot')

    await eventually(async () => (await under.store.history(next, 1)).length > 1)
    expect(next).not.toBe(iid)
    expect(await under.rows(iid)).toEqual({
      instances: 0,
      runs: 0,
      history: 0,
      inbox: 0,
      posted: 0,
      state: 0,
    })
  })
})

describeRace('a delete of an instance whose child is just started', (openStore) => {
  test('the child is found and the tree stays, or it is asked to end: nothing runs unseen', async () => {
    await using under = await openStore()
    const scene = new Scene(under)
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    for (let round = 0; round < 20; round++) {
      const [parent] = await runtime.own()
      const [child] = await runtime.reserve(1)
      await endOf(runtime, parent!)

      const [[removal], [verdict]] = await Promise.all([
        other.store.admin.removeTrees([parent!], { together: false }),
        runtime.starts(runtime.startItem(child!, { parent: childOf(parent!) })),
      ])

      expect(verdict).toBe('done')
      // It is asked to end in any case, since its parent had ended.
      expect(await scene.waitingFor(child!)).toEqual(['cancel: "parent closed"'])
      const [stays] = await scene.store.look([parent!])
      expect(removal!.verdict).toBe(stays === undefined ? 'removed' : 'running')
      await scene.store.terminate([termination(child!)])
    }
  })
})

describeRace('pruning while an instance continues as new', (openStore) => {
  test('the current execution is whole, whichever comes first', async () => {
    await using under = await openStore()
    const scene = new Scene(under)
    const runtime = await scene.runtime()
    const other = await under.another()
    const iid = await runtime.ownOne()
    for (let execution = 1; execution <= 20; execution++) {
      const next = continuing(runtime.workflows[0]!, { execution: execution + 1 })
      const turn = turnRow(2, { execution })
      await Promise.all([
        other.admin.prune({ iids: [iid], keep: 1, endedUntil: null }),
        runtime.turns(turnItem(iid, { turn, next })),
      ])

      expect(await scene.turnsOf(iid)).toEqual([1])
      expect(await scene.look(iid)).toMatchObject({ execution: execution + 1 })
    }
    await other.admin.prune({ iids: [iid], keep: 1, endedUntil: null })
    expect((await other.admin.executions(iid)).map(({ execution }) => execution)).toEqual([21])
  })
})

describeRace('a bulk terminate while others start instances', (openStore) => {
  test('all that was there when it began is reached, and what comes later may run on', async () => {
    await using under = await openStore()
    await using owner = await engineOn(await under.another(), [waits])
    const before = await Promise.all(
      Array.from({ length: 40 }, (_, i) => owner.start(waits, undefined, { id: `before-${i}` })),
    )
    const client = connectTo(await under.another())
    let isOver = false
    const starting = (async () => {
      for (let i = 0; !isOver; i++) await owner.start(waits, undefined, { id: `meanwhile-${i}` })
    })()

    const count = await client.admin.terminate({ workflow: waits }, 'incident')
    isOver = true
    await starting

    expect(count).toBeGreaterThanOrEqual(40)
    for (const handle of before) {
      expect(await handle.info()).toMatchObject({ status: 'terminated' })
    }
    const rest = await client.admin.terminate({ workflow: waits })
    expect(await client.admin.count({ status: 'terminated' })).toBe(count + rest)
    expect(await client.admin.count({ status: ['running', 'scheduled'] })).toBe(0)
  })

  test('a call that was cut off can be repeated: it reaches the rest, and nothing twice', async () => {
    await using under = await openStore()
    const scene = new Scene(under)
    const runtime = await scene.runtime()
    const iids = await runtime.own(30)
    let calls = 0
    const inner = await under.another()
    const failing = withMethods(inner, {
      async terminate(items) {
        const answer = await inner.terminate(items.slice(0, 10))
        if (++calls === 1) throw new TypeError('the process died here')
        return answer.ended.length === items.length ? answer : inner.terminate(items)
      },
    })

    await expect(connectTo(failing).admin.terminate(iids.map(idOf))).rejects.toThrow('died here')
    expect(await connectTo(inner).admin.terminate({})).toBe(20)
    expect((await under.store.look(iids)).every((row) => row?.status === 'terminated')).toBe(true)
  })
})
