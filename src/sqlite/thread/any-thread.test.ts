import { describe, expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { openDriver } from '../connect/driver.ts'
import { SameThread } from './same-thread.ts'
import { SqliteThread } from './thread.ts'

// What holds wherever a file is used from.
describe.each([
  ['a thread of its own', SqliteThread],
  ["the caller's thread", SameThread],
])('a file in %s', (_, Thread) => {
  function threadOn(path: string, given = {}) {
    const thread = new Thread(settingsFor(path, given))
    return { thread, [Symbol.asyncDispose]: () => thread.close() }
  }

  test('answers each call with its own, in order', async () => {
    await using under = threadOn(':memory:')

    const firsts = await Promise.all([1, 2, 3, 4].map((n) => under.thread.call('reserve', [n])))

    expect(firsts).toEqual([1, 2, 4, 7])
  })

  test('lets timers run while calls follow each other', async () => {
    await using under = threadOn(':memory:')
    let isOver = false
    const timer = setTimeout(() => (isOver = true), 5)

    let calls = 0
    while (!isOver && calls < 100_000) {
      await under.thread.call('reserve', [1])
      calls++
    }

    clearTimeout(timer)
    expect(calls).toBeLessThan(100_000)
  })

  test('fails with a StoreError that has a code and a cause, and the next call works', async () => {
    await using under = threadOn(':memory:')

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

  test('is opened by the next call when opening failed before', async () => {
    using file = tempFile()
    await using under = threadOn(file.path, { busyMs: 1 })
    const other = openDriver(file.path, undefined)
    other.exec('pragma locking_mode = exclusive; begin exclusive')

    await expect(under.thread.call('reserve', [1])).rejects.toMatchObject({ code: 'busy' })
    other.close()

    expect(await under.thread.call('reserve', [1])).toBe(1)
  })

  test('is closed after earlier calls, and refuses later ones', async () => {
    using file = tempFile()
    const { thread } = threadOn(file.path)

    const before = thread.call('reserve', [5])
    const closing = thread.close()
    const after = thread.call('reserve', [5])

    await expect(after).rejects.toMatchObject({ code: 'closed' })
    expect(await before).toBe(1)
    await closing
    await thread.close()
    await using again = threadOn(file.path)
    expect(await again.thread.call('reserve', [1])).toBe(6)
  })
})
