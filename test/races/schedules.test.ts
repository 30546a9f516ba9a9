import { expect, test } from 'vitest'
import { channel, type Client, workflow } from '../../src/index.ts'
import type { Firing, ScheduleStore } from '../../src/store/schedules.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import { connectTo, describeRace, engineOn } from '../support/race.ts'
import type { OpenedStore } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// S1 of `docs/internals/races.md`: a runtime has read that a schedule is due, and a client changes, pauses,
// deletes or triggers it, or another runtime fires it, before that runtime does.

const noted = workflow('noted', async (text: string) => text)
const finish = channel<string>('finish')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(finish))
const FAR = { cron: '0 0 1 1 *' }

/** A store whose schedules are changed in part. */
function withSchedules(inner: WorkflowStore, changed: Partial<ScheduleStore>): WorkflowStore {
  return withMethods(inner, { schedules: { ...inner.schedules, ...changed } })
}

/** A store that holds back the first firing until it is let go. */
function holdingFirings(
  inner: WorkflowStore,
  judged: (firings: readonly Firing[]) => Promise<readonly Firing[]>,
) {
  const onItsWay = deferred()
  const letGo = deferred()
  const done = deferred()
  const store = withSchedules(inner, {
    async fire(firings) {
      onItsWay.resolve()
      await letGo.promise
      const verdicts = await inner.schedules.fire(await judged(firings))
      done.resolve()
      return verdicts
    },
  })
  return { store, onItsWay: onItsWay.promise, letGo: letGo.resolve, done: done.promise }
}

/** What a store without a comparison would do: whatever the firing has read, it is applied. */
const uncompared =
  ({ schedules }: WorkflowStore) =>
  async (firings: readonly Firing[]): Promise<readonly Firing[]> => {
    const rows = await schedules.read()
    return firings.map((firing) => {
      const row = rows.find(({ name }) => name === firing.name)
      return row === undefined ? firing : { ...firing, revision: row.revision, due: row.nextAt }
    })
  }

const anotherHour = (client: Client) => client.schedule('due', FAR, noted, 'old')

async function startedIds(under: OpenedStore): Promise<string[]> {
  return (await under.sql<{ id: string }>('select id from instances')).map(({ id }) => id)
}

describeRace('[S1] a schedule that is changed while a firing is on its way', (openStore) => {
  /** Changes a schedule between the look at it and the firing. Returns what was started. */
  async function changedMeanwhile(
    change: (client: Client) => Promise<unknown>,
    compares = true,
  ): Promise<string[]> {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const inner = await under.another()
    const held = holdingFirings(inner, compares ? async (firings) => firings : uncompared(inner))
    await client.schedule('due', { every: '1s' }, noted, 'old')
    const runtime = await engineOn(held.store, noted)
    await held.onItsWay

    await change(client)
    held.letGo()
    await held.done

    const started = await startedIds(under)
    await runtime.close({ drain: 0 })
    await client.close()
    return started
  }

  test('[S1] another hour: nothing starts at the old one', async () => {
    const started = await changedMeanwhile(anotherHour)

    expect(started).toEqual([])
  })

  test('[S1] without the comparison, an instance starts at the old hour', async () => {
    expect((await changedMeanwhile(anotherHour, false)).length).toBe(1)
  })

  test('[S1] pause and delete: nothing starts after they have resolved', async () => {
    expect(await changedMeanwhile((client) => client.schedules.pause('due'))).toEqual([])
    expect(await changedMeanwhile((client) => client.schedules.delete('due'))).toEqual([])
  })

  test('[S1] another input: the due time is started with it, by the next look', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const held = holdingFirings(await under.another(), async (firings) => firings)
    await client.schedule('due', { every: '1s' }, noted, 'old')
    await using runtime = await engineOn(held.store, noted)
    await held.onItsWay

    await client.schedule('due', { every: '1s' }, noted, 'new')
    held.letGo()
    const [first] = await eventually(async () => (await startedIds(under)).toSorted())

    expect(await runtime.get(noted, first!).result()).toBe('new')
    await client.close()
  })

  test('[S1] a trigger meanwhile starts one more instance, and skip then leaves out the due time', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const held = holdingFirings(await under.another(), async (firings) => firings)
    const stuck = workflow('stuck', async (_, ctx) => ctx.sleep('1h'))
    await client.schedule('due', { every: '1s' }, stuck)
    const runtime = await engineOn(held.store, stuck)
    await held.onItsWay

    const triggered = await client.schedules.trigger('due')
    held.letGo()
    await held.done

    expect(await startedIds(under)).toEqual([triggered.id])
    expect((await client.schedules.get('due'))!.skipped.count).toBeGreaterThan(0)
    await runtime.close({ drain: 0 })
    await client.close()
  })

  test('[S1] an answer that is lost: the due time is not started again', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const inner = await under.another()
    let losses = 0
    const losing = withSchedules(inner, {
      async fire(firings) {
        const verdicts = await inner.schedules.fire(firings)
        if (verdicts.includes('started') && losses++ < 2) {
          throw new StoreError('connection_lost', 'fire', 'the answer was lost')
        }
        return verdicts
      },
    })
    await client.schedule('due', { every: '1s', overlap: 'allow' }, noted, 'x')
    await using runtime = await engineOn(losing, noted)

    const info = await eventually(async () => {
      const now = (await client.schedules.get('due'))!
      return now.started >= 4 && now
    })
    await client.schedules.pause('due')
    await runtime.idle()

    const times = (await startedIds(under)).map((id) => Date.parse(id.slice('due/'.length)))
    const sorted = times.toSorted((a, b) => a - b)
    expect(losses).toBeGreaterThanOrEqual(2)
    expect(sorted).toEqual(sorted.map((_, i) => sorted[0]! + i * 1_000))
    expect(info.missed.count).toBe(0)
    await client.close()
  }, 30_000)
})

describeRace('a schedule that cannot be fired', (openStore) => {
  test('it is logged and shown, and does not keep back the others', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    await client.schedule('broken', { every: '1s' }, noted, 'x')
    await client.schedule('sound', { every: '1s', overlap: 'allow' }, noted, 'x')
    // As a later version might write it.
    await under.sql(`update schedules set timing = ? where name = 'broken'`, '{"cron":"@moon"}')
    const runtime = await engineOn(await under.another(), noted)

    const infos = await eventually(async () => {
      const [broken, sound] = await client.schedules.list()
      return broken!.lastError !== undefined && sound!.started > 1 && { broken: broken!, sound }
    })

    expect(infos.broken.started).toBe(0)
    expect(infos.broken.lastError!.message).toMatch(/time zone|@moon/)
    await client.schedule('broken', { every: '2s', overlap: 'allow' }, noted, 'x')
    await eventually(async () => (await client.schedules.get('broken'))!.started > 0)
    expect(await client.schedules.get('broken')).not.toHaveProperty('lastError')
    await runtime.close({ drain: 0 })
    await client.close()
  }, 30_000)

  test('what the store rejects is shown, and does not keep back the others', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const inner = await under.another()
    const rejecting = withSchedules(inner, {
      async fire(firings) {
        if (firings.some(({ name }) => name === 'large')) {
          throw new StoreError('rejected', 'fire', 'too large')
        }
        return inner.schedules.fire(firings)
      },
    })
    await client.schedule('large', { every: '1s' }, noted, 'x')
    await client.schedule('small', { every: '1s', overlap: 'allow' }, noted, 'x')
    const runtime = await engineOn(rejecting, noted)

    const large = await eventually(async () => {
      const [one, other] = await client.schedules.list()
      return other!.started > 0 && one!.lastError !== undefined && one!
    })

    expect(large).toMatchObject({ started: 0, lastError: { message: 'fire: too large' } })
    await runtime.close({ drain: 0 })
    await client.close()
  }, 30_000)
})

describeRace('[S2] an instance that a schedule waits for ends during a look', (openStore) => {
  test('[S2] the next one starts at once, and not a minute later', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const inner = await under.another()
    const looking = deferred()
    const letGo = deferred()
    const holding = withSchedules(inner, {
      async due(limit, names) {
        const due = await inner.schedules.due(limit, names)
        if (names.length > 0) {
          looking.resolve()
          await letGo.promise
        }
        return due
      },
    })
    const runtime = await engineOn(holding, waits)
    await runtime.schedule('in-order', { every: '1s', overlap: 'queue' }, waits)
    await looking.promise
    const { running } = (await client.schedules.get('in-order'))!

    await runtime.get(running[0]!).send(finish, 'done')
    await runtime.get(running[0]!).result()
    letGo.resolve()

    const next = await eventually(async () => {
      const info = (await client.schedules.get('in-order'))!
      return info.started === 2 && info
    })
    expect(next.running).not.toEqual(running)
    await runtime.close({ drain: 0 })
    await client.close()
  }, 30_000)
})
