import { expect, test } from 'vitest'
import { Limit } from './limit.ts'
import { onAbort, signalOf } from './on-abort.ts'

test('an abort tells all who still listen, each once, also who comes too late', () => {
  const limit = new Limit()
  const told: string[] = []
  const stopFirst = onAbort(limit, () => told.push('a'))
  onAbort(limit, () => told.push('b'))
  const stopThird = onAbort(limit, () => told.push('c'))
  const same = (): void => void told.push('twice')
  onAbort(limit, same)
  onAbort(limit, same)
  stopFirst()
  stopThird()
  onAbort(limit, () => told.push('d'))

  limit.abort(new Error('enough'))
  limit.abort(new Error('again'))
  onAbort(limit, () => told.push('late'))

  expect(told.toSorted()).toEqual(['b', 'd', 'late', 'twice', 'twice'])
})

test('the first abort gives the reason, which everybody sees', () => {
  const limit = new Limit()
  const reason = new Error('enough')
  const signal = signalOf(limit)
  expect(() => limit.throwIfAborted()).not.toThrow()
  expect([limit.aborted, signal.aborted]).toEqual([false, false])

  limit.abort(reason)
  limit.abort(new Error('again'))

  expect(() => limit.throwIfAborted()).toThrow(reason)
  expect([limit.aborted, limit.reason]).toEqual([true, reason])
  expect([signal.aborted, signal.reason]).toEqual([true, reason])
  expect(signalOf(limit).reason).toBe(reason)
})

test('who begins to listen while an abort is told is told, too', () => {
  const limit = new Limit()
  const told: string[] = []
  onAbort(limit, () => onAbort(limit, () => told.push('inner')))

  limit.abort(new Error('enough'))

  expect(told).toEqual(['inner'])
})
