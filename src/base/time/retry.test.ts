import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { resolveBackoff } from './backoff.ts'
import { retry, type RetryOptions } from './retry.ts'

const BACKOFF = resolveBackoff('retry', { initial: 100, max: 1_000, jitter: 0 })

/** Fails so often, then answers how often it was called. */
function failing(times: number): () => Promise<number> {
  let calls = 0
  return async () => {
    calls++
    if (calls <= times) throw new Error(`failure ${calls}`)
    return calls
  }
}

function optionsOn(clock: RetryOptions['clock'], more: Partial<RetryOptions> = {}): RetryOptions {
  return { clock, backoff: BACKOFF, shouldRetry: () => true, ...more }
}

test('an action that succeeds is called once, without a timer', async () => {
  const clock = virtualClock()

  expect(await retry(failing(0), optionsOn(clock))).toBe(1)
  expect(clock.now()).toBe(0)
})

test('each retry waits for as long as the backoff says', async () => {
  const clock = virtualClock()
  const delays: number[] = []
  const onRetry = (_: unknown, delayMs: number): void => void delays.push(delayMs)

  const calls = await clock.until(retry(failing(3), optionsOn(clock, { onRetry })))

  expect(calls).toBe(4)
  expect(delays).toEqual([100, 200, 400])
  expect(clock.now()).toBe(700)
})

test('an error that is not retried is thrown', async () => {
  const clock = virtualClock()

  const end = clock.until(
    retry(failing(5), optionsOn(clock, { shouldRetry: (_, failures) => failures < 2 })),
  )

  await expect(end).rejects.toThrow('failure 2')
})

test('an action that throws before it waits is retried as well', async () => {
  const clock = virtualClock()
  let calls = 0
  const action = (): number => {
    if (++calls === 1) throw new Error('at once')
    return calls
  }

  expect(await clock.until(retry(action, optionsOn(clock)))).toBe(2)
})

test('a signal ends the wait with the error before it', async () => {
  const clock = virtualClock()
  const stop = new AbortController()
  const end = retry(failing(5), optionsOn(clock, { signal: stop.signal }))
  await clock.advance(150)

  stop.abort(new Error('stopped'))

  await expect(end).rejects.toThrow('failure 2')
  expect(clock.pending).toBe(0)
})

test('after the signal has aborted nothing is retried', async () => {
  const clock = virtualClock()

  const end = retry(failing(5), optionsOn(clock, { signal: AbortSignal.abort() }))

  await expect(end).rejects.toThrow('failure 1')
})

test('a custom wait replaces the timer', async () => {
  const clock = virtualClock()
  const waited: number[] = []
  const wait = async (ms: number): Promise<void> => void waited.push(ms)

  expect(await retry(failing(2), optionsOn(clock, { wait }))).toBe(3)
  expect(waited).toEqual([100, 200])
  expect(clock.now()).toBe(0)
})
