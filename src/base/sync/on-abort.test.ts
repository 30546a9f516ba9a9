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

test('an abort tells all who still wait, each once, also who comes too late', () => {
  const controller = new AbortController()
  const { signal } = controller
  const told: string[] = []
  onAbort(signal, () => told.push('a'))
  const stop = onAbort(signal, () => told.push('b'))
  const same = (): void => void told.push('twice')
  onAbort(signal, same)
  onAbort(signal, same)
  stop()

  controller.abort()
  onAbort(signal, () => told.push('late'))

  expect(told).toEqual(['a', 'twice', 'twice', 'late'])
  expect(listeners(signal)).toBe(0)
})

test('who begins to wait while an abort is told is told, too', () => {
  const controller = new AbortController()
  const told: string[] = []
  onAbort(controller.signal, () => onAbort(controller.signal, () => told.push('inner')))

  controller.abort()

  expect(told).toEqual(['inner'])
})

test('a promise that settles first leaves nothing on the signal', async () => {
  const { signal } = new AbortController()

  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')

  expect(listeners(signal)).toBe(0)
})

test('an abort that comes first decides, and what the promise comes to is ignored', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  let fail!: (error: Error) => void

  const outcome = unlessAborted(new Promise((_, reject) => (fail = reject)), controller.signal)
  controller.abort(reason)
  fail(new Error('too late'))

  await expect(outcome).rejects.toBe(reason)
})
