import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Checkpointer } from './checkpoint.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const KB = 1024
const MB = 1024 * KB

/**
 * A checkpointer over a WAL that starts over after each checkpoint, in a file that stays as it is.
 */
function overWal({ withRoom = false } = {}) {
  const lengths: number[] = []
  let length = 0
  let size = 0
  const checkpointer = new Checkpointer({
    size: () => size,
    isLongerThan: (bytes) => size > bytes,
    checkpoint() {
      lengths.push(length)
      const found = length
      length = 0
      return found
    },
    shorten: () => void (size = length),
    lengthen(bytes) {
      size += bytes
      return bytes
    },
  })
  return {
    checkpointer,
    lengths,
    size: () => size,
    /** This many writes that take this much each. */
    write: (count: number, each: number): void => {
      for (let i = 0; i < count; i++) {
        if (withRoom) checkpointer.makeRoom()
        length += each
        size = Math.max(size, length)
        checkpointer.wrote()
        checkpointer.tidy()
      }
    },
  }
}

test('a short WAL is left alone', () => {
  const { write, lengths } = overWal()

  write(39, 100 * KB)
  vi.advanceTimersByTime(60_000)

  expect(lengths).toEqual([])
})

test('a WAL of some length is checkpointed in the next pause, not under load', () => {
  const { write, lengths } = overWal()

  write(60, 100 * KB)
  expect(lengths).toEqual([])
  vi.advanceTimersByTime(20)

  expect(lengths).toEqual([6_000 * KB])
})

test('a long WAL is checkpointed without a pause', () => {
  const { write, lengths } = overWal()

  write(32, MB)

  expect(lengths).toEqual([32 * MB])
})

test('a few large writes are noticed, the first time and later', () => {
  const { write, lengths } = overWal()

  write(12, 10 * MB)

  expect(lengths).toEqual([40 * MB, 40 * MB, 40 * MB])
})

test('writes that take more than those before are noticed when the file grows', () => {
  const { write, lengths } = overWal()
  write(400, 100 * KB)
  lengths.length = 0

  write(20, 10 * MB)

  expect(Math.max(...lengths)).toBeLessThanOrEqual(80 * MB)
})

test('a WAL that grew very long is truncated', () => {
  const { write, lengths, size } = overWal()

  write(1, 500 * MB)

  expect(lengths).toEqual([500 * MB])
  expect(size()).toBe(0)
})

test('a checkpoint that fails is retried later, without an error', () => {
  let calls = 0
  let size = 0
  const checkpointer = new Checkpointer({
    size: () => size,
    isLongerThan: (bytes) => size > bytes,
    checkpoint() {
      calls++
      throw new Error('disk full')
    },
    shorten() {},
    lengthen: () => 0,
  })

  for (let i = 0; i < 64; i++) {
    size += MB
    checkpointer.wrote()
    checkpointer.tidy()
  }

  expect(calls).toBe(2)
})

test('a stopped checkpointer does nothing more', () => {
  const { checkpointer, write, lengths } = overWal()

  write(60, 100 * KB)
  checkpointer.stop()
  vi.advanceTimersByTime(60_000)

  expect(lengths).toEqual([])
})

test('a growing WAL gets space ahead, more each time, and none while it reuses its space', () => {
  const { write, size } = overWal({ withRoom: true })

  write(1, KB)
  expect(size()).toBe(KB)
  write(1, KB)
  expect(size()).toBe(257 * KB)
  write(255, KB)
  expect(size()).toBe(257 * KB)
  write(2, KB)
  expect(size()).toBe((258 + 512) * KB)
})

test('reserved space does not count as content of the WAL', () => {
  const { write, lengths, size } = overWal({ withRoom: true })

  write(39, 100 * KB)
  vi.advanceTimersByTime(60_000)

  expect(lengths).toEqual([])
  expect(size()).toBeGreaterThan(39 * 100 * KB)
})
