import { expect, test } from 'vitest'

import { StoreError } from '../../store/store-error.ts'
import { WaitingWrites } from './waiting-writes.ts'

/** Writes to a file that is locked as long as `isLocked`. */
function scene(limitMs: number) {
  const file = { isLocked: true }
  const done: string[] = []
  const writes = new WaitingWrites(limitMs)
  const add = (name: string): Promise<string> =>
    new Promise((resolve, reject) =>
      writes.add({
        attempt() {
          if (file.isLocked) throw new StoreError('busy', 'sqlite', 'locked')
          done.push(name)
          resolve(name)
        },
        fail: reject,
      }),
    )
  return { file, done, writes, add }
}

test('writes that find the file locked are done in their order when it is free', async () => {
  const { file, done, add } = scene(10_000)
  const all = Promise.all(['a', 'b'].map(add))
  expect(done).toEqual([])
  file.isLocked = false
  const last = add('c')

  await Promise.all([all, last])
  expect(done).toEqual(['a', 'b', 'c'])
})

test('a write fails when it has waited for too long, and the next one has its own time', async () => {
  const { file, add } = scene(30)
  const first = add('a')

  await expect(first).rejects.toThrow(
    /^sqlite write: another transaction has locked the file, waited \d+ ms; is a transaction of yours open/,
  )
  const second = add('b')
  file.isLocked = false
  expect(await second).toBe('b')
})

test('closing fails waiting writes', async () => {
  const { writes, add } = scene(10_000)
  const waiting = add('a')
  writes.close()

  await expect(waiting).rejects.toMatchObject({ code: 'busy' })
})
