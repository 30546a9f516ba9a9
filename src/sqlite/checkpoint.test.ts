import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Checkpointer } from './checkpoint.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A checkpointer over a WAL that grows by `pages` with each write. */
function over(pages: number) {
  const lengths: number[] = []
  let length = 0
  const checkpointer = new Checkpointer(() => {
    lengths.push(length)
    const found = length
    length = 0
    return found
  })
  return {
    checkpointer,
    lengths,
    write: (count: number): void => {
      for (let i = 0; i < count; i++) {
        length += pages
        checkpointer.wrote()
        checkpointer.tidy()
      }
    },
  }
}

test('a short WAL is left alone', () => {
  const { write, lengths } = over(20)

  write(49)
  vi.advanceTimersByTime(60_000)

  expect(lengths).toEqual([])
})

test('a WAL worth it is emptied in the next pause, not in a rush', () => {
  const { write, lengths } = over(20)

  write(60)
  expect(lengths).toEqual([])
  vi.advanceTimersByTime(20)

  expect(lengths).toEqual([1_200])
})

test('a long WAL is emptied without a pause', () => {
  const { write, lengths } = over(20)

  write(400)

  expect(lengths).toEqual([8_000])
})

test('what a write takes is learned from the last checkpoint', () => {
  const { write, lengths } = over(200)

  write(400 + 40)

  expect(lengths).toEqual([80_000, 8_000])
})

test('a checkpoint that fails is tried again later, and nobody hears of it', () => {
  let calls = 0
  const checkpointer = new Checkpointer(() => {
    calls++
    throw new Error('disk full')
  })

  for (let i = 0; i < 800; i++) {
    checkpointer.wrote()
    checkpointer.tidy()
  }

  expect(calls).toBe(2)
})

test('one that was stopped does nothing more', () => {
  const { checkpointer, write, lengths } = over(20)

  write(60)
  checkpointer.stop()
  vi.advanceTimersByTime(60_000)

  expect(lengths).toEqual([])
})
