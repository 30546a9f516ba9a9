// Moments: those far away, and those that have passed.

import { describe, expect, test } from 'vitest'
import { dataOf, groupOf, openUser, queueDatabase } from './store-support.ts'

const MINUTE = 60_000
/** The last moment that a `Date` can show. */
const FAR = 8.64e15

describe.each([Number.MAX_SAFE_INTEGER, 1e300])('a duration of %d ms', (ms) => {
  test('ends at the last possible moment, and does not affect others', async () => {
    const user = await openUser()
    await user.push('delayed', { delayMs: ms })
    await user.push('brief', { ttlMs: ms })
    await user.push('once', { dedupeKey: 'k', dedupeMs: ms })

    const [brief, once] = await user.take(2, ms)
    await user.change('extend', brief!, { ms })
    await user.change('nack', once!, { ms })

    const times = user.database
      .sql(
        `select id, due_at, expires_at, (select until from dedupes where first_id = id) as until
         from messages order by id`,
      )
      .all()
    expect(times).toEqual([
      { id: 0, due_at: FAR, expires_at: null, until: null },
      { id: 1, due_at: FAR, expires_at: FAR, until: null },
      { id: 2, due_at: FAR, expires_at: null, until: FAR },
    ])
    expect(await user.store.look()).toMatchObject({ nextDueAt: FAR })
  })
})

describe('an expired message', () => {
  test('is not delivered, even when there are more than one batch removes', async () => {
    const user = await openUser()
    await user.apply({
      pushes: [
        groupOf(
          Array.from({ length: 6_000 }, () => 'x'),
          { ttlMs: MINUTE },
        ),
      ],
    })
    await user.push('lasting')
    user.store.advanceClock(2 * MINUTE)

    expect(dataOf(await user.take())).toEqual(['lasting'])
    expect(await user.take()).toEqual([])

    expect(await user.counts()).toEqual({ ready: 0, delayed: 0, inFlight: 1, dead: 0 })
  })

  test('is not delivered to a user that has not seen it', async () => {
    const database = queueDatabase()
    const here = await openUser({ database })
    const there = await openUser({ database })
    await there.push('brief', { ttlMs: MINUTE })

    here.store.advanceClock(2 * MINUTE)

    expect(await here.take()).toEqual([])
    expect(await here.counts()).toMatchObject({ ready: 0 })
  })
})

test('messages that others delayed can be taken at their time, by a user that has not seen them', async () => {
  const database = queueDatabase()
  const here = await openUser({ database })
  const there = await openUser({ database })
  await there.push('later', { delayMs: MINUTE })

  expect(await here.take()).toEqual([])
  here.store.advanceClock(2 * MINUTE)

  expect(dataOf(await here.take())).toEqual(['later'])
})
