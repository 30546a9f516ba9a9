import { expect, test } from 'vitest'
import { activity, channel, request, workflow } from '../../src/index.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { deferred, eventually } from '../support/engine.ts'
import {
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  iidOf,
} from '../support/race.ts'
import { losingStore, withMethods } from '../support/wrapped-store.ts'

// Something was carried out, its caller did not get the answer, and meanwhile other things happen.

const connectionLost = (what: string) => new StoreError('connection_lost', what, 'lost')

const notes = channel<string>('notes')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(notes))

describeRace('an answer that is lost', (openStore) => {
  test('a child that has ended brings its result, though its id was used anew', async () => {
    await using under = await openStore()
    const parent = workflow('parent', async (_: undefined, ctx) =>
      ctx.run(waits, undefined, { id: 'child' }),
    )
    const losing = losingStore(await under.another())
    const isLost = deferred<() => void>()
    let isArmed = false
    const store = withMethods(losing, {
      commit(batch) {
        if (!isArmed && batch.starts.some((start) => start.parent !== null)) {
          isArmed = true
          void losing.loseNext('commit').then(() => isLost.resolve(losing.freeze()))
        }
        return losing.commit(batch)
      },
    })
    const owner = await engineOn(store, parent)
    const running = await owner.start(parent)
    const thaw = await isLost.promise

    const others = await engineOn(countingStore(await under.another()).store, waits, FREQUENT_TICKS)
    const child = others.get('child')
    await child.send(notes, 'its result')
    await child.result()
    await others.start(waits, undefined, { id: 'child', onConflict: 'restart' })
    thaw()

    expect(await running.result({ timeout: '10s' })).toBe('its result')
    await owner.close({ drain: 0 })
    await others.close({ drain: 0 })
  })

  test('a task is not given back when it was claimed again meanwhile', async () => {
    await using under = await openStore()
    let runs = 0
    const gate = deferred()
    const draw = activity('draw', { tag: 'gpu' }, async () => {
      runs++
      await gate.promise
      return 'drawn'
    })
    const draws = workflow('draws', async (_: undefined, ctx) => ctx.run(draw))
    const ticking = countingStore(await under.another())
    const others = countingStore(await under.another())
    const inner = ticking.store
    const lost = { claim: false, release: false }
    const store = withMethods(inner, {
      async claimTasks(wanted) {
        const answer = await inner.claimTasks(wanted)
        if (lost.claim || answer.state !== 'ok' || answer.tasks.length === 0) return answer
        lost.claim = true
        throw connectionLost('claimTasks')
      },
      async finishTasks(runtime, results) {
        const answer = await inner.finishTasks(runtime, results)
        if (lost.release || results[0]?.end.kind !== 'release') return answer
        lost.release = true
        // A runtime that does not wait for this has claimed it again by then.
        await ticking.furtherTicks(2)
        throw connectionLost('finishTasks')
      },
    })
    const owner = await engineOn(countingStore(await under.another()).store, draws, {
      ...FREQUENT_TICKS,
      tags: 'none',
    })
    const instance = await owner.start(draws)
    await eventually(() => under.sql('select 1 from tasks'))
    const drawer = await engineOn(store, draws, { ...FREQUENT_TICKS, tags: ['gpu'] })
    await eventually(() => lost.release && runs > 0)
    const another = await engineOn(others.store, draws, { ...FREQUENT_TICKS, tags: ['gpu'] })
    await others.furtherTicks(3)
    gate.resolve()

    expect(await instance.result({ timeout: '10s' })).toBe('drawn')
    expect(runs).toBe(1)
    for (const runtime of [owner, drawer, another]) await runtime.close({ drain: 0 })
  })
})

describeRace('an owner that was superseded', (openStore) => {
  test('a failure at the former owner does not fail the attempt of the next one', async () => {
    await using under = await openStore()
    const busy = activity('busy', async () => gate.promise)
    const gate = deferred()
    let begun = 0
    const late = activity('late', { startTimeout: '2s' }, async () => {
      begun++
      await gate.promise
      return 'in time'
    })
    const holds = workflow('holds', async (_: undefined, ctx) => ctx.run(busy))
    const runs = workflow('runs', async (_: undefined, ctx) => ctx.run(late))
    const inner = await under.another()
    const isDead = deferred()
    // Its own turn shows that it was marked as dead: nothing else does before.
    const store = withMethods(inner, {
      async commit(batch) {
        const answer = await inner.commit(batch)
        if (answer.state === 'dead') isDead.resolve()
        return answer
      },
    })
    const first = await engineOn(store, [holds, runs], { concurrency: { activities: 1 } })
    await first.start(holds)
    const instance = await first.start(runs)
    const [row] = await under.sql<{ owner: number }>(
      'select owner from runs where iid = ?',
      await iidOf(under, instance.id),
    )
    const ticking = countingStore(await under.another())
    const next = await engineOn(ticking.store, runs, FREQUENT_TICKS)
    await under.kill(row!.owner)
    await eventually(() => begun === 1)

    await isDead.promise
    await ticking.furtherTicks(2)
    gate.resolve()

    expect(await next.get(instance.id).result({ timeout: '10s' })).toBe('in time')
    await first.close({ drain: 0 })
    await next.close({ drain: 0 })
  })
})

describeRace('a dedupe key', (openStore) => {
  test('of one channel, or request, never meets that of another', async () => {
    await using under = await openStore()
    const client = connectTo(await under.another())
    const x = client.get('x')
    await x.send(channel<string>('a'), 'first', { dedupeKey: 'b c' })
    await x.send(channel<string>('a b'), 'second', { dedupeKey: 'c' })
    await x.send(channel<string>('ask'), 'third', { dedupeKey: 'k' })
    const ask = request<string, string>('ask')
    const waiting = new AbortController()
    const asked = x.request(ask, 'fourth', { dedupeKey: 'k', signal: waiting.signal })
    const unanswered = asked.catch(() => {})

    const rows = await eventually(async () => {
      const found = await under.sql('select payload from inbox order by id')
      return found.length > 3 && found
    })
    expect(rows).toEqual(
      ['first', 'second', 'third', 'fourth'].map((text) => ({ payload: `"${text}"` })),
    )
    waiting.abort()
    await unanswered
  })

  test('of one request never leads to the answer of another', async () => {
    await using under = await openStore()
    const [one, two] = [request<null, string>('a'), request<null, string>('a b')]
    const answers = workflow('answers', async (_: undefined, ctx) => {
      ;(await ctx.receive(one)).reply('one')
      ;(await ctx.receive(two)).reply('two')
      await ctx.receive(notes)
    })
    await using runtime = await engineOn(await under.another(), answers)
    const instance = await runtime.start(answers)

    expect([
      await instance.request(one, null, { dedupeKey: 'b c', timeout: '5s' }),
      await instance.request(two, null, { dedupeKey: 'c', timeout: '5s' }),
    ]).toEqual(['one', 'two'])
  })
})
