import { expect, test } from 'vitest'
import { Limit } from './limit.ts'
import { onAbort, signalOf } from './on-abort.ts'

test('an abort calls every listener once, even one that is added too late', () => {
  const limit = new Limit()
  const called: string[] = []
  const stopFirst = onAbort(limit, () => called.push('a'))
  onAbort(limit, () => called.push('b'))
  const stopThird = onAbort(limit, () => called.push('c'))
  const same = (): void => void called.push('twice')
  onAbort(limit, same)
  onAbort(limit, same)
  stopFirst()
  stopThird()
  onAbort(limit, () => called.push('d'))

  limit.abort(new Error('enough'))
  limit.abort(new Error('again'))
  onAbort(limit, () => called.push('late'))

  expect(called.toSorted()).toEqual(['b', 'd', 'late', 'twice', 'twice'])
})

test('the first abort gives the reason, which every listener sees', () => {
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

test('a listener that is added during an abort is called, too', () => {
  const limit = new Limit()
  const called: string[] = []
  onAbort(limit, () => onAbort(limit, () => called.push('inner')))

  limit.abort(new Error('enough'))

  expect(called).toEqual(['inner'])
})
