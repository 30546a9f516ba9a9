import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort, unlessAborted } from './on-abort.ts'

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('any number wait for a signal through one listener, which goes with the last', () => {
  const { signal } = new AbortController()

  const stops = Array.from({ length: 100 }, () => onAbort(signal, () => {}))

  expect(listeners(signal)).toBe(1)
  for (const stop of stops.slice(1)) stop()
  expect(listeners(signal)).toBe(1)
  stops[0]!()
  stops[0]!()
  expect(listeners(signal)).toBe(0)
})

test('an abort calls every waiter once, even one that comes too late', () => {
  const controller = new AbortController()
  const { signal } = controller
  const called: string[] = []
  onAbort(signal, () => called.push('a'))
  const stop = onAbort(signal, () => called.push('b'))
  const same = (): void => void called.push('twice')
  onAbort(signal, same)
  onAbort(signal, same)
  stop()

  controller.abort()
  onAbort(signal, () => called.push('late'))

  expect(called).toEqual(['a', 'twice', 'twice', 'late'])
  expect(listeners(signal)).toBe(0)
})

test('a waiter that begins during an abort is called, too', () => {
  const controller = new AbortController()
  const called: string[] = []
  onAbort(controller.signal, () => onAbort(controller.signal, () => called.push('inner')))

  controller.abort()

  expect(called).toEqual(['inner'])
})

test('a promise that settles first leaves nothing on the signal', async () => {
  const { signal } = new AbortController()

  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')

  expect(listeners(signal)).toBe(0)
})

test('an abort that comes first wins, and the result of the promise is ignored', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  let fail!: (error: Error) => void

  const outcome = unlessAborted(new Promise((_, reject) => (fail = reject)), controller.signal)
  controller.abort(reason)
  fail(new Error('too late'))

  await expect(outcome).rejects.toBe(reason)
})
