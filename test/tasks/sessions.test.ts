import { describe, expect, test } from 'vitest'

import { activity, type ActivityContext, open, workflow } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { freezable, QUICK, stopped } from './support.ts'

const note = activity<string, string>('note')
/** Runs an activity in each of these sessions, one after the other. */
const visits = workflow('visits', async (sessions: readonly string[], ctx) => {
  const places: string[] = []
  for (const session of sessions) places.push(await ctx.run(note, session, { session }))
  return places
})

describeOnStores('a session', (kind) => {
  test('is taken over when its runtime is dead', async () => {
    await using space = await openSpace(kind)
    const begun = deferred()
    const inFirst = note.implement(async (_, ctx) => {
      begun.resolve()
      throw await stopped(ctx)
    })
    const owner = await space.open(visits, { tags: 'none', ...QUICK })
    const cut = freezable(space)
    const first = await open(cut.store, { register: inFirst, log: space.log, ...QUICK })
    const started = await owner.start(visits, ['red', 'red'], { id: 'i' })
    await begun.promise

    await cut.die()
    await space.open(
      note.implement(async () => 'second'),
      QUICK,
    )

    expect(await started.result({ timeout: '10s' })).toEqual(['second', 'second'])
    cut.thaw()
    await first.close({ drain: 0 })
  })
})

describe.concurrent('a session', () => {
  test('goes to another runtime at once when its own closes', async () => {
    await using space = await openSpace('memory')
    const owner = await space.open(visits, { tags: 'none', ...QUICK })
    const first = await space.open(
      note.implement(async () => 'first'),
      QUICK,
    )
    expect(await owner.run(visits, ['red'], { timeout: '8s' })).toEqual(['first'])

    await first.close()
    await space.open(
      note.implement(async () => 'second'),
      QUICK,
    )

    expect(await owner.run(visits, ['red'], { timeout: '8s' })).toEqual(['second'])
  })

  test('stays with its runtime until it was idle for so long', async () => {
    await using space = await openSpace('memory')
    const busy = deferred()
    const owner = await space.open(visits, { tags: 'none', ...QUICK })
    let leftMs = 0
    let full = false
    const inFirst = note.implement(async (session) => {
      full = session === 'other'
      if (full) await busy.promise
      else leftMs = performance.now()
      return 'first'
    })
    // While its only slot is taken, it can take nothing of its session.
    const options = { concurrency: { activities: 1 }, sessions: { idle: 1_200 }, ...QUICK }
    await space.open(inFirst, options)
    expect(await owner.run(visits, ['red'], { timeout: '8s' })).toEqual(['first'])
    const other = await owner.start(visits, ['other'], { id: 'other' })
    await eventually(() => full)

    await space.open(
      note.implement(async () => 'second'),
      options,
    )
    expect(await owner.run(visits, ['red'], { timeout: '8s' })).toEqual(['second'])
    expect(performance.now() - leftMs).toBeGreaterThan(1_100)
    busy.resolve()

    expect(await other.result({ timeout: '8s' })).toEqual(['first'])
  })

  test('runs in one runtime with as many others as that allows, and no more', async () => {
    await using space = await openSpace('memory')
    const running = new Set<string>()
    const begun: string[] = []
    const gates = new Map<string, () => void>()
    let most = 0
    const holds = note.implement(async (session) => {
      running.add(session)
      begun.push(session)
      most = Math.max(most, running.size)
      await new Promise<void>((resolve) => gates.set(session, resolve))
      running.delete(session)
      return session
    })
    const owner = await space.open(visits, { tags: 'none', ...QUICK })
    await space.open(holds, { sessions: { max: 2 }, ...QUICK })
    const sessions = ['a', 'b', 'c', 'd']
    const started = await Promise.all(
      sessions.map((one) => owner.start(visits, [one], { id: one })),
    )
    await eventually(() => begun.length === 2)

    for (let ended = 0; ended < 4; ended++) {
      await eventually(() => begun.length >= Math.min(4, ended + 2))
      gates.get(begun[ended]!)!()
    }
    await Promise.all(started.map((one) => one.result({ timeout: '8s' })))

    expect(begun.toSorted()).toEqual(sessions)
    expect(most).toBe(2)
  })

  test('runs several activities at once, and those of no session', async () => {
    await using space = await openSpace('memory')
    const together = deferred()
    let count = 0
    const meets = activity('meets', async (_: undefined, ctx: ActivityContext) => {
      if (++count === 3) together.resolve()
      await together.promise
      return ctx.info.session ?? 'none'
    })
    const meeting = workflow('meeting', async (_: undefined, ctx) =>
      ctx.all([
        ctx.run(meets, undefined, { session: 'one' }),
        ctx.run(meets, undefined, { session: 'one' }),
        ctx.run(meets),
      ]),
    )
    const runtime = await space.open(meeting, QUICK)

    expect(await runtime.run(meeting, undefined, { timeout: '8s' })).toEqual(['one', 'one', 'none'])
  })
})

test.each<[object, string]>([
  [{ max: 0 }, 'open: sessions: max must be a whole number, 1 or more, got 0'],
  [{ idle: 0 }, 'open: sessions: idle must be at least 1 ms, got 0'],
  [{ most: 3 }, 'open: sessions: unknown option "most"'],
])('sessions of %j are refused', async (sessions, message) => {
  const opening = open('memory:', { register: visits, sessions, log: silentLog })

  await expect(opening).rejects.toThrow(message)
})
