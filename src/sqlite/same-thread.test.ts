import { expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../test/support/sqlite.ts'
import { openDriver } from './driver.ts'
import { SameThread } from './same-thread.ts'

/** A file in this thread, which is closed at the end. */
function sameThreadOn(path: string, given = {}) {
  const thread = new SameThread(settingsFor(path, given))
  return { thread, [Symbol.asyncDispose]: () => thread.close() }
}

test('calls are answered each with its own, in order', async () => {
  await using under = sameThreadOn(':memory:')

  const firsts = await Promise.all([1, 2, 3, 4].map((n) => under.thread.call('reserve', [n])))

  expect(firsts).toEqual([1, 2, 4, 7])
})

test('while calls follow each other, timers have their turn', async () => {
  await using under = sameThreadOn(':memory:')
  let isOver = false
  const timer = setTimeout(() => (isOver = true), 5)

  let calls = 0
  while (!isOver && calls < 100_000) calls += await under.thread.call('reserve', [1]).then(() => 1)

  clearTimeout(timer)
  expect(calls).toBeLessThan(100_000)
})

test('an error is a StoreError with its code and its cause, and the next call works', async () => {
  await using under = sameThreadOn(':memory:')

  const nameless = { name: null as unknown as string, version: '1' }
  const failed = under.thread.call('workflowNumbers', [[nameless]])

  await expect(failed).rejects.toMatchObject({
    name: 'StoreError',
    code: 'rejected',
    message: expect.stringMatching(/^sqlite workflowNumbers: .*workflows.name/),
    cause: expect.objectContaining({ message: expect.stringContaining('workflows.name') }),
  })
  expect(await under.thread.call('reserve', [1])).toBe(1)
})

test('a file that cannot be opened is tried again by the next call', async () => {
  using file = tempFile()
  await using under = sameThreadOn(file.path, { busyMs: 1 })
  const other = openDriver(file.path, undefined)
  other.exec('pragma locking_mode = exclusive; begin exclusive')

  await expect(under.thread.call('reserve', [1])).rejects.toMatchObject({ code: 'busy' })
  other.close()

  expect(await under.thread.call('reserve', [1])).toBe(1)
})

test('what was asked for before close is done, and nothing after it', async () => {
  using file = tempFile()
  const { thread } = sameThreadOn(file.path)

  const before = thread.call('reserve', [1])
  const closed = thread.close()
  const after = thread.call('reserve', [1])

  await expect(after).rejects.toMatchObject({ code: 'closed' })
  expect(await before).toBe(1)
  await closed
  await thread.close()
  await using again = sameThreadOn(file.path)
  expect(await again.thread.call('reserve', [1])).toBe(2)
})
