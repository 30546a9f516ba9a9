import { describe, expect, test } from 'vitest'
import type { Iid } from '../../src/store/instances.ts'
import type { Rate } from '../../src/store/rates.ts'
import { END } from '../../src/testing/contract/items.ts'
import {
  type Actor,
  idOf,
  judged,
  Scene,
  turnItem,
  turnRow,
} from '../../src/testing/contract/scene.ts'
import { atOnce, limited, starts } from '../../src/testing/contract/workflow-limits.ts'
import { connectionTo, lockIsWaitedFor } from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'

// L1 to L5 of `docs/internals/races.md`: limits of workflows. On PostgreSQL only, since SQLite has one
// writer at a time.

describe.concurrent('limits of workflows', () => {
  test('[L1] two claims at once: the second counts what the first admits', async () => {
    await using scene = await openLine({ admitted: 0, unjudged: 1 })
    const { runtime, other, iids, side } = scene

    expect(await claimIn(side, other)).toEqual([iids[0]])
    await starts(runtime, [{}])
    const second = runtime.claimed()
    await lockIsWaitedFor(scene.under, 'advisory')
    await side.query('commit')

    expect(await second).toEqual([])
  })

  test('[L1] without the lock of the line, both admit one', async () => {
    await using scene = await openLine({ admitted: 0, unjudged: 1 })
    const { runtime, other, iids, side } = scene
    await lockNoLine(scene.under)

    expect(await claimIn(side, other)).toEqual([iids[0]])
    const second = await starts(runtime, [{}])
    const claimed = await runtime.claimed()
    await side.query('commit')

    expect(claimed).toEqual(second)
  })

  test('[L2] a place that is freed while a claim judges the line is not lost', async () => {
    await using scene = await openLine({ admitted: 1, unjudged: 1 })
    const { runtime, other, iids, side } = scene

    expect(await claimIn(side, other)).toEqual([])
    const ended = end(runtime, iids[0]!)
    await lockIsWaitedFor(scene.under, 'advisory')
    await side.query('commit')

    expect(await ended).toEqual([iids[1]])
    expect(await runtime.claimed()).toEqual([iids[1]])
  })

  test('[L2] without the lock of the line it is lost, until a tick finds it', async () => {
    await using scene = await openLine({ admitted: 1, unjudged: 1 })
    const { runtime, other, iids, side } = scene
    await lockNoLine(scene.under)

    expect(await claimIn(side, other)).toEqual([])
    expect(await end(runtime, iids[0]!)).toEqual([])
    await side.query('commit')

    expect(await runtime.claimed()).toEqual([])
    await runtime.tick()
    expect(await runtime.claimed()).toEqual([iids[1]])
  })

  test('[L3] two ends of one line at once do not wait for each other, and both admit one', async () => {
    await using scene = await openLine({ admitted: 2, waiting: 2 })
    const { runtime, iids, side } = scene

    expect(await endIn(side, runtime, iids[0]!)).toEqual([iids[2]])
    expect(await end(runtime, iids[1]!)).toEqual([iids[3]])
    await side.query('commit')

    expect(await runtime.claimed()).toEqual([iids[2], iids[3]])
  })

  test('[L3] an end that was about to wake the line and fails leaves it to the next tick', async () => {
    await using scene = await openLine({ admitted: 2, waiting: 1 })
    const { runtime, iids, side } = scene

    expect(await endIn(side, runtime, iids[0]!)).toEqual([iids[2]])
    expect(await end(runtime, iids[1]!)).toEqual([])
    await side.query('rollback')

    expect(await runtime.claimed()).toEqual([])
    await runtime.tick()
    expect(await runtime.claimed()).toEqual([iids[2]])
  })

  test('[L3] a limit that is removed while the only start that waits is locked admits it with the next tick', async () => {
    await using scene = await openLine({ admitted: 1, waiting: 1 })
    const { iids, side, under } = scene
    await side.query('begin')
    await side.query('select from runs where iid = $1 for update', [iids[1]])

    const unlimited = await limited(new Scene(under))
    await side.query('rollback')

    expect(await unlimited.claimed()).toEqual([])
    await unlimited.tick()
    expect(await unlimited.claimed()).toEqual([iids[1]])
  })

  test('[L4] one that is terminated when it is about to be judged has the next one judged', async () => {
    // Under a rate, no place is handed on without a judgement.
    await using scene = await openLine({ admitted: 1, waiting: 2, rate: RATE })
    const { runtime, iids, side } = scene
    expect(await end(runtime, iids[0]!)).toEqual([iids[1]])

    await side.query('begin')
    await side.query(`select * from terminate($1, '"why"', 'ended', 1)`, [idOf(iids[1]!)])
    const claimed = runtime.claimed()
    await lockIsWaitedFor(scene.under, 'advisory')
    await side.query('commit')

    expect(await claimed).toEqual([])
    expect(await runtime.claimed()).toEqual([iids[2]])
  })

  test('[L4] an admission whose runtime is about to be declared dead counts, and is taken over', async () => {
    await using scene = await openLine({ admitted: 0, unjudged: 2 })
    const { runtime: taker, other, iids, side, under } = scene

    expect(await claimIn(side, other)).toEqual([iids[0]])
    await under.kill(other.runtime)
    await taker.tick()
    await side.query('commit')
    expect(await taker.claimed()).toEqual([])
    await taker.tick()

    expect(await taker.claimed()).toEqual([iids[0]])
    expect(await taker.claimed()).toEqual([])
  })

  test('[L5] a start that commits after a limit was registered, and did not see it, waits for it', async () => {
    await using scene = await openUnseen()
    const { runtime, seen, unseen } = scene

    expect(await runtime.claimed()).toEqual(seen)
    expect(await runtime.claimed()).toEqual([])
    await end(runtime, seen[0]!)

    expect(await runtime.claimed()).toEqual(unseen)
  })

  test('[L5] unless claims look for limits that a start did not see: it escapes', async () => {
    await using scene = await openUnseen()
    const { runtime, seen, unseen, under } = scene
    await under.sql(
      `create or replace function line_up_late(p_iids bigint[], p_clock bigint)
      returns bigint[] language plpgsql volatile as $$ begin return '{}'; end $$`,
    )

    expect((await runtime.claimed()).toSorted((a, b) => a - b)).toEqual([...unseen, ...seen])
  })
})

/** A limit of one at once, and two starts: one was about to be committed when the limit was registered. */
async function openUnseen() {
  const under = await openPostgres({ prefix: 'race' })
  const before = await limited(new Scene(under))
  const [workflow] = before.workflows
  const unseen = [await under.store.reserve(1)]
  await using side = await connectionTo(under)
  await side.query('begin')
  // The lists that `insert_starts` takes: unowned, due, and without parent, labels or messages.
  const lists = [unseen[0], 'unseen', workflow, 'f', 1, 1, 1, 1, 1, 1, 'started', 1, '', ...NONE]
  const texts = new Set(['unseen', 'started', '', '0', '{}'])
  const written = lists.map((one) => (texts.has(String(one)) ? String(one) : `{${one}}`))
  await side.query('select start_batch($1, $2)', [written.join('\x02'), ''])
  const runtime = await limited(new Scene(under), atOnce(1))
  await side.query('commit')
  const seen = await starts(runtime, [{}])
  return {
    under,
    runtime,
    unseen,
    seen,
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  }
}

const NONE = ['{}', '{}', '{}', '{}', '', '0', '', '{}', '', '']

const RATE = { count: 1_000, perMs: 1_000 }

/** A line of a limit, and a connection whose transaction stays open. */
async function openLine(given: {
  admitted: number
  waiting?: number
  unjudged?: number
  rate?: Rate
}) {
  const { admitted, waiting = 0, unjudged = 0, rate = null } = given
  const under = await openPostgres({ prefix: 'race' })
  const scene = new Scene(under)
  const limit = { ...atOnce(Math.max(admitted, 1)), rate }
  const runtime = await limited(scene, limit)
  // A runtime claims once at a time.
  const other = await limited(scene, limit)
  const iids = await starts(runtime, times(admitted + waiting))
  expect(iids.length === 0 ? [] : await runtime.claimed()).toEqual(iids.slice(0, admitted))
  iids.push(...(await starts(runtime, times(unjudged))))
  const side = await connectionTo(under)
  return {
    under,
    runtime,
    other,
    iids,
    side,
    async [Symbol.asyncDispose]() {
      await side[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    },
  }
}

function times(count: number): object[] {
  return Array.from({ length: count }, () => ({}))
}

type Side = Awaited<ReturnType<typeof connectionTo>>

/** Claims in a transaction that stays open. */
async function claimIn(side: Side, { runtime, workflows }: Actor): Promise<Iid[]> {
  await side.query('begin')
  const [row] = await side.query(`select iids from claim($1, $2, 10, '{}')`, [runtime, workflows])
  return ((row as { iids: string[] | null }).iids ?? []).map(Number)
}

/** Ends an instance in a transaction that stays open; returns what it wakes. */
async function endIn(side: Side, { runtime }: Actor, iid: Iid): Promise<Iid[]> {
  await side.query('begin')
  await side.query('select enter($1)', [runtime])
  const [row] = await side.query(
    `select end_instances(now_ms(), array[$1::bigint], array[$1::bigint], '{2}', '1') as woken`,
    [iid],
  )
  return (row as { woken: string[] }).woken.map(Number)
}

async function end(runtime: Actor, iid: Iid): Promise<readonly Iid[]> {
  const turns = [turnItem(iid, { turn: turnRow(2), next: END })]
  return judged(await runtime.commit({ turns })).woken ?? []
}

/** No transaction waits for a line. */
async function lockNoLine(under: OpenedStore): Promise<void> {
  await under.sql(
    `create or replace function lock_lines(
      p_workflows integer[], p_limit_keys text[], p_exclusive boolean
    ) returns void language plpgsql volatile as 'begin end'`,
  )
}
