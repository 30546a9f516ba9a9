import { expect, test } from 'vitest'

import { LazySignal } from './lazy-signal.ts'

test('a signal asked for after the abort is aborted, with the first reason', () => {
  const lazy = new LazySignal()
  const [first, second] = [new Error('first'), new Error('second')]
  expect(lazy.reason).toBeUndefined()

  lazy.abort(first)
  lazy.abort(second)

  expect(lazy.reason).toBe(first)
  expect(lazy.signal.aborted).toBe(true)
  expect(lazy.signal.reason).toBe(first)
})

test('any number of listeners may be on the signal without a warning', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  const { signal } = new LazySignal()

  for (let i = 0; i < 20; i++) signal.addEventListener('abort', () => {})
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)

  expect(warnings).toEqual([])
})
