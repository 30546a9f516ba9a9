import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { POST_VERDICTS, STATUS, VERDICTS } from '../../src/postgres/wire/numbers.ts'
import type { Next, StartItem, TurnItem, Verdict } from '../../src/store/commits.ts'
import type { Post, PostVerdict } from '../../src/store/inbox.ts'
import type { Ending, EndStatus } from '../../src/store/instances.ts'
import { rateOpensAt, spend, startsLeft } from '../../src/store/rates.ts'
import type { Registered } from '../../src/store/runtimes.ts'
import type { TaskEnd } from '../../src/store/tasks.ts'
import {
  isAttempt,
  isOwner,
  type KnownInstance,
  type OwnedRun,
  takesResult,
  verdictOnPost,
  verdictOnUnapplied,
  verdictOnUnappliedStart,
} from '../../src/store/verdicts.ts'
import {
  batch,
  commitTurns,
  item,
  openStore,
  start,
  type TestStore,
  turn,
} from '../support/postgres-store.ts'

// The procedures of PostgreSQL judge as the functions of `src/store` do, which SQLite calls. Each case is
// a state that is written into the tables, and something that is sent; a batch has many of them, so
// that neighbours are judged apart.

const RUNS = { numRuns: 40 }
const ENDS: readonly EndStatus[] = ['completed', 'failed', 'cancelled', 'terminated']

/** A runtime that owns what the one under test does not. */
const OTHER = 2_000_000_001

const epoch = fc.integer({ min: 1, max: 3 })
const ending: fc.Arbitrary<Ending> = fc.record({
  // Two of them, so that what is sent is often as what is found.
  status: fc.constantFrom<EndStatus>('completed', 'failed'),
  output: fc.constantFrom('"a"', '"b"'),
})
type Owner = 'self' | 'other' | 'nobody'
const owner = fc.constantFrom<Owner>('self', 'other', 'nobody')

function numberOf(who: Owner, { runtime }: Registered): number | null {
  return who === 'self' ? runtime : who === 'other' ? OTHER : null
}

/** Numbers for the instances of a batch, and a runtime that sends it. */
async function opened(): Promise<
  TestStore & { readonly self: Registered; next(count: number): number[] }
> {
  const store = await openStore()
  const self = await store.runtime(3_600_000)
  let last = await store.store.reserve(1_000_000)
  const next = (count: number): number[] => Array.from({ length: count }, () => last++)
  return Object.assign(store, { self, next })
}

async function insertInstances(
  { database, self }: TestStore & { readonly self: Registered },
  rows: readonly { iid: number; id?: string; status: keyof typeof STATUS; output?: string }[],
): Promise<void> {
  for (const { iid, id = `case-${iid}`, status, output = null } of rows) {
    await database.query(
      `insert into instances (
        iid, id, workflow, any_version, execution, status, output, created_at, updated_at
      )
      values ($1, $2, $3, (any_versions(array[$3::integer]))[1], 1, $4, $5, 1000, 1000)`,
      [iid, id, self.workflows[0], STATUS[status], output],
    )
  }
}

async function insertRun(
  { database, self }: TestStore & { readonly self: Registered },
  iid: number,
  run: FoundRun,
): Promise<void> {
  await database.query(
    'insert into runs (iid, workflow, owner, epoch, held) values ($1, $2, $3, $4, $5)',
    [iid, self.workflows[0], numberOf(run.owner, self), run.epoch, run.isSuspended],
  )
}

/** A run as it is written, whose owner depends on the sender. */
interface FoundRun extends Omit<OwnedRun, 'owner'> {
  readonly owner: Owner
}

describe('turns', () => {
  const next = fc.oneof(
    fc.constant<Next>({ kind: 'keep' }),
    fc.constant<Next>({ kind: 'release', wakeAt: null }),
    fc.constant<Next>({ kind: 'suspend', report: '{}' }),
    ending.map((end): Next => ({ kind: 'end', end })),
  )
  // Suspended ones have no owner.
  const run = fc.oneof<fc.Arbitrary<FoundRun>[]>(
    fc.record({ owner, epoch, isSuspended: fc.constant(false) }),
    fc.record({ owner: fc.constant<Owner>('nobody'), epoch, isSuspended: fc.constant(true) }),
  )
  const cases = fc.record({
    found: fc.oneof(
      run.map((found) => ({ run: found, ended: undefined })),
      ending.map((ended) => ({ run: undefined, ended })),
    ),
    writer: fc.option(epoch, { nil: undefined }),
    epoch,
    appends: fc.boolean(),
    next,
  })

  test('are judged as verdicts.ts does', async () => {
    await using store = await opened()
    const { self, database } = store

    await fc.assert(
      fc.asyncProperty(fc.array(cases, { minLength: 1, maxLength: 24 }), async (given) => {
        const iids = store.next(given.length)
        const items: TurnItem[] = []
        const expected: Verdict[] = []
        for (const [i, { found, writer, appends, ...sent }] of given.entries()) {
          const iid = iids[i]!
          const { status = 'running', output } = found.ended ?? {}
          await insertInstances(store, [{ iid, status, ...(output && { output }) }])
          if (found.run !== undefined) await insertRun(store, iid, found.run)
          if (writer !== undefined) {
            await database.query(
              `insert into history (iid, execution, turn, epoch, at, first, count, events)
              values ($1, 1, 2, $2, 1000, 2, 1, '')`,
              [iid, writer],
            )
          }
          const one = item(iid, { ...sent, turn: appends ? turn(2) : null })
          items.push(one)
          expected.push(verdictOn(one, self, found, writer))
        }

        expect(await commitTurns(store.store, self, items)).toEqual(expected)
      }),
      RUNS,
    )
  })

  function verdictOn(
    sent: TurnItem,
    self: Registered,
    found: { run: FoundRun | undefined; ended: Ending | undefined },
    writer: number | undefined,
  ): Verdict {
    const owned: OwnedRun | undefined = found.run && {
      ...found.run,
      owner: numberOf(found.run.owner, self),
    }
    const isFree = sent.turn === null || writer === undefined
    if (isOwner(owned, self.runtime, sent.epoch) && isFree) return 'done'
    return verdictOnUnapplied(sent, {
      run: owned,
      writerOf: () => writer,
      ending: () => found.ended,
    })
  }
})

test('starts are judged as verdicts.ts does', async () => {
  await using store = await opened()
  const { self } = store
  const other = fc.option(fc.record({ isStarted: fc.boolean(), isOwned: fc.boolean(), epoch }), {
    nil: undefined,
  })
  const cases = fc.record({
    // One with the same number: the same start, or another one with its number.
    byNumber: fc.option(
      fc.record({ isSame: fc.boolean(), isStarted: fc.boolean(), owner, epoch }),
      {
        nil: undefined,
      },
    ),
    byId: other,
    owned: fc.boolean(),
    end: fc.option(ending, { nil: null }),
  })

  await fc.assert(
    fc.asyncProperty(fc.array(cases, { minLength: 1, maxLength: 16 }), async (given) => {
      const iids = store.next(2 * given.length)
      const starts: StartItem[] = []
      const expected: Verdict[] = []
      for (const [i, { byNumber, byId, owned, end }] of given.entries()) {
        const [iid, otherIid] = [iids[2 * i]!, iids[2 * i + 1]!]
        const id = `start-${iid}`
        const sent = start(self, iid, { id, owned, end })
        let sameNumber: KnownInstance | undefined
        let sameId: KnownInstance | undefined
        if (byNumber !== undefined) {
          sameNumber = {
            iid,
            id: byNumber.isSame ? id : `other-${iid}`,
            isStarted: byNumber.isStarted,
          }
          const status = byNumber.isStarted ? 'running' : 'unstarted'
          await insertInstances(store, [{ ...sameNumber, status }])
          if (byNumber.isStarted) await insertRun(store, iid, { ...byNumber, isSuspended: false })
          if (byNumber.isSame) sameId = sameNumber
        }
        if (byId !== undefined && sameId === undefined) {
          sameId = { iid: otherIid, id, isStarted: byId.isStarted }
          await insertInstances(store, [
            { ...sameId, status: byId.isStarted ? 'running' : 'unstarted' },
          ])
        }
        starts.push(sent)
        const isAwaited = sameNumber?.id === id && !sameNumber.isStarted
        const isNew = sameNumber === undefined && sameId === undefined
        const isFirstOwner = byNumber?.owner === 'self' && byNumber.epoch === 1
        expected.push(
          isNew || isAwaited
            ? 'done'
            : verdictOnUnappliedStart(sent, sameNumber, sameId, () => isFirstOwner),
        )
      }

      const answer = await store.store.commit(batch(self, { starts }))

      expect(answer).toMatchObject({ state: 'ok', starts: expected })
    }),
    RUNS,
  )
})

test('posts are judged as verdicts.ts does', async () => {
  await using store = await opened()
  const { database } = store
  const cases = fc.record({
    status: fc.constantFrom(undefined, 'unstarted', 'running', ...ENDS),
    kind: fc.constantFrom('message', 'cancel', 'terminate'),
    key: fc.constantFrom('', 'known', 'new'),
    capacity: fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }),
    waiting: fc.integer({ min: 0, max: 3 }),
  })

  await fc.assert(
    fc.asyncProperty(fc.array(cases, { minLength: 1, maxLength: 16 }), async (given) => {
      const iids = store.next(given.length)
      const posts: Post[] = []
      const expected: PostVerdict[] = []
      for (const [i, { status, kind, key, capacity, waiting }] of given.entries()) {
        const iid = iids[i]!
        const [isMessage, isThere] = [kind === 'message', status !== undefined]
        if (status !== undefined) await insertInstances(store, [{ iid, status }])
        if (status === 'running') {
          await insertRun(store, iid, { owner: 'other', epoch: 1, isSuspended: false })
        }
        if (isThere && isMessage) {
          await database.query(`insert into posted (iid, key) values ($1, 'known')`, [iid])
        }
        const isReader = status === 'running' || status === 'unstarted'
        if (isReader && (isMessage || status === 'running')) {
          await database.query(
            `insert into inbox (iid, kind, name, payload, at)
            select $1, $2, $3, '1', 1000 from generate_series(1, $4)`,
            [iid, { message: 3, cancel: 4, terminate: 5 }[kind], isMessage ? 'notes' : '', waiting],
          )
        }
        posts.push({
          id: `case-${iid}`,
          iid: isMessage ? iid : 0,
          kind,
          name: isMessage ? 'notes' : '',
          payload: '1',
          replyTo: '',
          dedupeKey: isMessage ? key : '',
          capacity: isMessage ? capacity : null,
        })
        expected.push(
          verdictOnPost(posts[i]!, {
            status: status ?? 'unstarted',
            wasPosted: (known) => isThere && known === 'known',
            waiting: (limit) => (isThere ? Math.min(limit, waiting) : 0),
            unstarted: status === 'unstarted' ? waiting : 0,
            isUnstartedFull: () => false,
          }),
        )
      }

      const answers = await store.store.post(posts)

      expect(answers.map(({ verdict }) => verdict)).toEqual(expected)
    }),
    RUNS,
  )
})

test('results of tasks, and whether an attempt is wanted, are judged as verdicts.ts does', async () => {
  await using store = await opened()
  const { self, database } = store
  const dead = await store.runtime()
  await store.store.unregister(dead.runtime)
  const token = fc.constantFrom(7, 8, null)
  const attempt = fc.integer({ min: 1, max: 2 })
  const ends: fc.Arbitrary<TaskEnd> = fc.constantFrom<TaskEnd>(
    { kind: 'completed', payload: '1' },
    { kind: 'failed', payload: '{}' },
    { kind: 'retry', delayMs: 5 },
    { kind: 'release', delayMs: 0 },
  )
  const cases = fc.record({
    task: fc.option(fc.record({ owner, attempts: attempt, token }), { nil: undefined }),
    attempt,
    token,
    end: ends,
  })

  await fc.assert(
    fc.asyncProperty(
      fc.array(cases, { minLength: 1, maxLength: 24 }),
      fc.boolean(),
      async (given, isAlive) => {
        const sender = isAlive ? self : dead
        const iids = store.next(given.length)
        await insertInstances(
          store,
          iids.map((iid) => ({ iid, status: 'running' as const })),
        )
        const keys = iids.map((iid) => ({ iid, execution: 1, command: 1 }))
        const results = given.map(({ attempt: nth, token: named, end }, i) => ({
          ...keys[i]!,
          attempt: nth,
          token: named,
          end,
        }))
        const tasks = given.map(
          ({ task }) => task && { ...task, owner: numberOf(task.owner, sender) },
        )
        for (const [i, task] of tasks.entries()) {
          if (task === undefined) continue
          await database.query(
            `insert into tasks (iid, execution, command, activity, tag, input, options, attempts, held_by, token)
            values ($1, 1, 1, 'charge', '', '1', '{}', $2, $3, $4)`,
            [iids[i], task.attempts, task.owner, task.token],
          )
        }

        const wanted = isAlive
          ? await store.store.beat(
              self.runtime,
              results.map((result) => ({ ...result, details: null, silentMs: null, local: null })),
            )
          : undefined
        const verdicts = await store.store.finishTasks(sender.runtime, results)

        const attempts = results.map((result, i) => isAttempt(tasks[i], sender.runtime, result))
        expect(wanted).toEqual(isAlive ? attempts : undefined)
        expect(verdicts.map(({ verdict }) => verdict)).toEqual(
          results.map((result, i) =>
            takesResult(tasks[i], { runtime: sender.runtime, isAlive }, result) ? 'done' : 'gone',
          ),
        )
      },
    ),
    RUNS,
  )
})

test('rates are judged as rates.ts does', async () => {
  await using store = await openStore()
  const { database } = store
  const cases = fc.record({
    rate: fc.record({
      count: fc.integer({ min: 1, max: 5_000 }),
      perMs: fc.integer({ min: 1, max: 86_400_000 }),
    }),
    now: fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
    // How much of the rate is spent: from long recovered to more than all of it.
    spent: fc.double({ min: -2, max: 1.5, noNaN: true }),
  })

  await fc.assert(
    fc.asyncProperty(fc.array(cases, { minLength: 1, maxLength: 20 }), async (given) => {
      for (const { rate, now, spent } of given) {
        const spentUntil = Math.round((now + spent * rate.perMs) * 1_000)
        await database.query('delete from limits')
        await database.query(`insert into limits (limit_key, spent_until) values ('k', $1)`, [
          spentUntil,
        ])
        const [left] = await database.query<{ most: string; opens_at: string | null }>(
          `select most, opens_at from limit_left('k', null, $1, $2, $3)`,
          [rate.count, rate.perMs, now],
        )
        await database.query(
          'select spend_limits(array[$1], array[$2]::integer[], array[$3]::bigint[], $4)',
          ['k', rate.count, rate.perMs, now],
        )
        const [after] = await database.query<{ spent_until: string }>(
          'select spent_until from limits',
        )

        const starts = startsLeft(rate, spentUntil, now)
        expect(Number(left!.most)).toBe(starts)
        expect(rateOpensAt(rate, spentUntil, now) <= now).toBe(starts > 0)
        const opensAt = left!.opens_at === null ? null : Number(left!.opens_at)
        expect(opensAt).toBe(starts === 0 ? rateOpensAt(rate, spentUntil, now) : null)
        expect(Number(after!.spent_until)).toBe(spend(rate, spentUntil, now))
      }
    }),
    RUNS,
  )
})

test('every verdict has a letter of its own', () => {
  expect(VERDICTS.size).toBe(6)
  expect(POST_VERDICTS.size).toBe(7)
})
