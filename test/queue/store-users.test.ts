// The users of a queue, and how one that has ended is distinguished from one that is there.

import { describe, expect, test } from 'vitest'
import { ownProcess } from '../../src/sqlite/file/process-place.ts'
import { dataOf, openUser, queueDatabase } from './store-support.ts'

const HOUR = 3_600_000
/** Only Linux says enough about processes. */
const onLinux = { skip: process.platform !== 'linux' }

/** This process, had it another boot or another namespace. */
const EARLIER_BOOT = ownProcess().replace(
  /\/[^/]+\/(?=pid:)/,
  '/11111111-2222-3333-4444-555555555555/',
)
const OTHER_CONTAINER = ownProcess().replace(/pid:\[\d+\]/, 'pid:[1]')

function sessions(user: Awaited<ReturnType<typeof openUser>>): number[] {
  const rows = user.database.sql('select session from sessions order by session').all()
  return (rows as { session: number }[]).map(({ session }) => session)
}

test('what was in flight before the machine was started again comes at once', onLinux, async () => {
  const database = queueDatabase()
  const before = await openUser({ database })
  await before.push('work')
  await before.take(1, HOUR)
  before.movesTo(EARLIER_BOOT)

  const user = await openUser({ database })

  expect(dataOf(await user.take())).toEqual(['work'])
  expect(sessions(user)).toEqual([user.session])
  expect(await user.store.look()).toMatchObject({ shared: false })
})

describe('a user in another container', () => {
  test(
    'keeps what it has in flight until its lease ends, and is forgotten then',
    onLinux,
    async () => {
      const database = queueDatabase()
      const there = await openUser({ database })
      await there.push('work')
      await there.take(1, HOUR)
      there.movesTo(OTHER_CONTAINER)

      const user = await openUser({ database })
      expect(await user.take()).toEqual([])
      expect(await user.store.look()).toMatchObject({ shared: true })
      user.store.advanceClock(2 * HOUR)

      expect(dataOf(await user.take())).toEqual(['work'])
      expect(sessions(user)).toEqual([user.session])
      expect(await user.store.look()).toMatchObject({ shared: false })
    },
  )

  test(
    'is forgotten when it has nothing in flight and another one opens the queue',
    onLinux,
    async () => {
      const database = queueDatabase()
      const there = await openUser({ database })
      there.movesTo(OTHER_CONTAINER)

      const user = await openUser({ database })

      expect(sessions(user)).toEqual([user.session])
    },
  )

  test.each([
    ['looks', (user: Awaited<ReturnType<typeof openUser>>) => user.store.look()],
    ['does something', (user: Awaited<ReturnType<typeof openUser>>) => user.apply({})],
  ])('that was forgotten is known again when it %s', async (_, act) => {
    const database = queueDatabase()
    const there = await openUser({ database, maxAttempts: 7 })
    there.movesTo(OTHER_CONTAINER)
    const user = await openUser({ database })
    expect(await user.store.look()).toMatchObject({ shared: false })

    await act(there)

    expect(await user.store.look()).toMatchObject({ shared: true })
    expect(
      database.sql('select max_attempts from sessions where session = ?').get(there.session),
    ).toEqual({ max_attempts: 7 })
  })
})

test('only a process that uses the same queue counts as another user', async () => {
  const database = queueDatabase()
  const mail = await openUser({ database, name: 'mail' })
  await openUser({ database, name: 'jobs' })

  expect(await mail.store.look()).toMatchObject({ shared: false })
  expect((await mail.apply({})).queueState.shared).toBe(false)
  await openUser({ database, name: 'mail' })

  expect(await mail.store.look()).toMatchObject({ shared: true })
  expect((await mail.apply({})).queueState.shared).toBe(true)
})
