import { describe, expect, test } from 'vitest'
import { activity, type Client, workflow } from '../../src/index.ts'
import { readEvents } from '../../src/store/history.ts'
import type { Iid } from '../../src/store/instances.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { idOf, Scene, turnItem, turnRow } from '../../src/testing/contract/scene.ts'
import { deferred, eventually } from '../support/engine.ts'
import {
  connectionTo,
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  holdingStore,
  iidOf,
  lockIsWaitedFor,
  mailOf,
} from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// O6 of `docs/internals/races.md`: calls from outside against an owner whose commit is under way.

const VERBS = ['suspend', 'terminate', 'remove'] as const
type Verb = (typeof VERBS)[number]

describeRace('[O6] a verb while a commit of the owner is on its way', (openStore) => {
  /**
   * The result of the first step is on its way to the store when another process suspends,
   * terminates or restarts; if that commit is accepted, the owner begins the second step.
   */
  async function verbMeanwhile(verb: Verb, fence: 'epoch' | 'key alone') {
    await using under = await openStore()
    const { flow, step, calls, gates } = twoSteps()
    const ticking = countingStore(await under.another())
    const judging = fence === 'epoch' ? ticking.store : judgedByKeyAlone(ticking.store, under)
    const owning = holdingStore(judging, ({ turns }) => turns.some(({ turn }) => turn !== null))
    await using owner = await engineOn(owning.store, [flow, step], FREQUENT_TICKS)
    await owner.start(flow, 'x', { id: 'hot' })
    const iid = await iidOf(under, 'hot')
    gates[0]!.resolve()
    await owning.onItsWay

    const other = await under.another()
    const speaking = fence === 'epoch' ? other : endingWithoutTurn(other, under)
    await SPEAK[verb](connectTo(speaking), speaking)
    owning.letGo()
    if (fence === 'key alone') await eventually(() => calls.length > 1)
    await ticking.furtherTicks(2)

    const ran = [...calls]
    const events = await eventsOf(under, iid)
    gates[1]!.resolve()
    if (verb === 'suspend' && fence === 'epoch') {
      // What the owner has finished is handed over.
      await eventually(async () => (await mailOf(under, iid)).all > 0)
      const instance = connectTo(under.store).get('hot')
      await instance.resume()
      await instance.result()
    }
    return { ran, events, inTheEnd: calls }
  }

  test('[O6] suspend: commits under way are refused, and resume repeats nothing completed', async () => {
    expect(await verbMeanwhile('suspend', 'epoch')).toEqual({
      ran: [1],
      events: ['started', 'activity'],
      inTheEnd: [1, 2],
    })
  })

  test('[O6] suspend, by the key alone: the owner continues with a suspended instance', async () => {
    expect(await verbMeanwhile('suspend', 'key alone')).toMatchObject({
      ran: [1, 2],
      events: ['started', 'activity', 'completed', 'activity'],
    })
  })

  test('[O6] terminate: commits under way are refused, and the end is the last event', async () => {
    expect(await verbMeanwhile('terminate', 'epoch')).toMatchObject({
      ran: [1],
      events: ['started', 'activity', 'ended'],
    })
  })

  test('[O6] terminate, by the key alone: the owner continues with an ended instance', async () => {
    expect(await verbMeanwhile('terminate', 'key alone')).toMatchObject({
      ran: [1, 2],
      events: ['started', 'activity', 'completed', 'activity'],
    })
  })

  test('[O6] remove: commits under way are refused, and nothing is left', async () => {
    expect(await verbMeanwhile('remove', 'epoch')).toMatchObject({ ran: [1], events: [] })
  })

  test('[O6] remove, by the key alone: the owner continues, and writes for an instance that is gone', async () => {
    expect(await verbMeanwhile('remove', 'key alone')).toMatchObject({
      ran: [1, 2],
      events: ['completed', 'activity'],
    })
  })
})

describeRace('[O6] suspend by the process that owns, during a commit', (openStore) => {
  /** The copy is thrown away at once, and with it the result that was to be written. */
  async function ownVerb(refused: 'handed over' | 'thrown away') {
    await using under = await openStore()
    const { flow, step, calls, gates } = twoSteps()
    const inner = await under.another()
    const sent = deferred()
    const sending = withMethods(inner, {
      async send(deliveries) {
        if (refused === 'handed over') await inner.send(deliveries)
        sent.resolve()
      },
    })
    const owning = holdingStore(sending, ({ turns }) => turns.some(({ turn }) => turn !== null))
    await using owner = await engineOn(owning.store, [flow, step])
    const instance = await owner.start(flow, 'x', { id: 'hot' })
    for (const gate of gates) gate.resolve()
    await owning.onItsWay

    await instance.suspend()
    owning.letGo()
    await sent.promise
    await instance.resume()
    await instance.result()
    return calls
  }

  test('[O6] finished results are handed over, and their activities not run again', async () => {
    expect(await ownVerb('handed over')).toEqual([1, 2])
  })

  test('[O6] dropped with the cached instance, the activity runs again', async () => {
    expect(await ownVerb('thrown away')).toEqual([1, 1, 2])
  })
})

describeRace('[O6] terminate, whose place in history the owner takes meanwhile', (openStore) => {
  /** The end is the turn after the last one; the owner commits that turn. */
  async function sameTurn(by: 'one transaction' | 'two statements') {
    await using under = await openStore()
    const scene = new Scene(under)
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    const commit = () => owner.turns(turnItem(iid, { turn: turnRow(2) }))

    if (by === 'one transaction') {
      await commit()
      await terminate(under.store, idOf(iid))
    } else await terminateInTwo(under, iid, commit)

    const turns = await under.store.history(iid, 1)
    return { status: (await scene.look(iid)).status, events: turns.map(({ events }) => events) }
  }

  test('[O6] it ends after the turn', async () => {
    expect(await sameTurn('one transaction')).toEqual({
      status: 'terminated',
      events: ['event 1', 'event 2', 'ended'],
    })
  })

  test('[O6] having looked before, it ends without a trace in history', async () => {
    expect(await sameTurn('two statements')).toEqual({
      status: 'terminated',
      events: ['event 1', 'event 2'],
    })
  })
})

// SQLite has one writer at a time: a commit is wholly before a verb, or refused.
describe('[O6] a verb while a commit is in its transaction, on PostgreSQL', () => {
  test('[O6] terminate waits for the commit, and ends after its turn', async () => {
    await using scene = await midCommit()

    const answer = terminate(scene.under.store, scene.id)
    await lockIsWaitedFor(scene.under, 'advisory')
    await scene.commit()

    expect(await answer).toEqual([true])
    expect(await scene.events()).toEqual(['event 1', 'event 2', 'ended'])
  })

  test('[O6] terminate without the lock of the owner collides with the turn', async () => {
    await using scene = await midCommit()
    await lockNoRow(scene.under)

    const answer = terminate(scene.under.store, scene.id).catch((error: unknown) => error)
    await lockIsWaitedFor(scene.under, 'transactionid')
    await scene.commit()

    expect(String(await answer)).toContain('duplicate key')
    expect(await scene.events()).toEqual(['event 1', 'event 2'])
  })

  test('[O6] suspend waits for the commit, and when it has answered no turn follows', async () => {
    await using scene = await midCommit()

    const answer = scene.under.store.suspend([scene.id], '"why"')
    await lockIsWaitedFor(scene.under, 'advisory')
    await scene.commit()

    expect(await answer).toEqual([true])
    expect(await scene.events()).toEqual(['event 1', 'event 2'])
  })

  test('[O6] suspend without the lock of the owner answers, and a turn follows', async () => {
    await using scene = await midCommit()
    await lockNoRow(scene.under)

    const answer = await scene.under.store.suspend([scene.id], '"why"')
    const then = await scene.events()
    await scene.commit()

    expect(answer).toEqual([true])
    expect(then).toEqual(['event 1'])
    expect(await scene.events()).toEqual(['event 1', 'event 2'])
  })
})

/** The owner of an instance has written its second turn and not committed yet. */
async function midCommit() {
  const under = await openPostgres({ prefix: 'race' })
  const owner = await new Scene(under).runtime()
  const iid = await owner.ownOne()
  const committing = await connectionTo(under)
  await committing.query('begin')
  await committing.query('select enter($1)', [owner.runtime])
  await committing.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values ($1, 1, 2, 1, 0, 2, 1, 'event 2')`,
    [iid],
  )
  return {
    under,
    id: idOf(iid),
    commit: () => committing.query('commit'),
    events: async () => (await under.store.history(iid, 1)).map(({ events }) => events),
    async [Symbol.asyncDispose]() {
      // First, so that nothing waits for its transaction any more.
      await committing[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    },
  }
}

/** Verbs go ahead whatever the owner is doing. */
async function lockNoRow(under: OpenedStore): Promise<void> {
  await under.sql(
    `create or replace function lock_owners(p_iids bigint[]) returns void
    language plpgsql volatile set search_path from current
    as 'begin end'`,
  )
}

/** How another process does it. A running instance cannot be removed: it is terminated first. */
const SPEAK: Record<Verb, (client: Client, store: WorkflowStore) => Promise<unknown>> = {
  suspend: (client) => client.get('hot').suspend(),
  terminate: (client) => client.get('hot').terminate(),
  async remove(client, store) {
    await client.get('hot').terminate()
    return store.remove(['hot'])
  },
}

async function terminate(store: WorkflowStore, id: string): Promise<readonly boolean[]> {
  return (await store.terminate([{ id, output: '"why"', events: 'ended' }])).ended
}

/** A workflow of two steps, each of which waits until the test lets it go. */
function twoSteps() {
  const calls: number[] = []
  const gates = [deferred(), deferred()]
  const step = activity('step', async (n: number) => {
    calls.push(n)
    await gates[n - 1]!.promise
  })
  const flow = workflow('two', async (_: string, ctx) => {
    await ctx.run(step, 1)
    await ctx.run(step, 2)
  })
  return { flow, step, calls, gates }
}

async function eventsOf({ store }: OpenedStore, iid: Iid): Promise<string[]> {
  const turns = await store.history(iid, 1)
  return turns.flatMap(({ events }) => readEvents(events)).map(({ type }) => type)
}

/** As the first draft had it: a turn is refused when its place is taken, and never otherwise. */
function judgedByKeyAlone(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      if (answer.state !== 'ok') return answer
      const turns = [...answer.turns]
      for (const [i, { iid, epoch, turn }] of batch.turns.entries()) {
        if (turn === null || turns[i] !== 'refused') continue
        const added = await under.sql(
          `insert into history (iid, execution, turn, epoch, at, first, count, events)
          values (?, ?, ?, ?, ?, ?, ?, ?)
          on conflict do nothing
          returning iid`,
          iid,
          turn.execution,
          turn.turn,
          epoch,
          turn.at,
          turn.first,
          turn.count,
          turn.events,
        )
        if (added.length > 0) turns[i] = 'done'
      }
      return { ...answer, turns }
    },
  })
}

/** The end is a status, not a turn: nothing is appended that would stop an owner. */
function endingWithoutTurn(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async terminate(terminations) {
      const rows = await inner.find(terminations.map(({ id }) => id))
      const answer = await inner.terminate(terminations)
      for (const row of rows) {
        if (row === undefined) continue
        await under.sql(
          `delete from history
          where iid = ? and turn = (select max(last.turn) from history as last where last.iid = ?)`,
          row.iid,
          row.iid,
        )
      }
      return answer
    },
  })
}

/** Looks for the last turn, and writes the end behind it in a second step. */
async function terminateInTwo(
  under: OpenedStore,
  iid: Iid,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const [last] = await under.sql<{ turn: number }>(
    'select max(turn) as turn from history where iid = ?',
    iid,
  )
  await meanwhile()
  await under.sql(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values (?, 1, ?, 1, 0, 0, 1, 'ended')
    on conflict do nothing`,
    iid,
    last!.turn + 1,
  )
  const terminated = under.store.kind === 'sqlite' ? 'terminated' : 5
  await under.sql('delete from runs where iid = ?', iid)
  await under.sql('update instances set status = ? where iid = ?', terminated, iid)
}
