import { describe, expect, test } from 'vitest'

import { type Backoff, resolveBackoff } from '../base/time/backoff.ts'
import { Bulkhead } from './bulkhead.ts'

function bulkhead(backoff: Backoff, random = Math.random): Bulkhead {
  return new Bulkhead([], resolveBackoff('test', backoff), random)
}

/** The floors after this many failures in a row. */
function floors(of: Bulkhead, failures: number): number[] {
  return Array.from({ length: failures }, () => of.escalate())
}

describe('a backoff', () => {
  test('keeps the values it is given [new_valid_config]', () => {
    const backoff = resolveBackoff('test', { initial: '1s', max: '1m', multiplier: 2 })

    expect(backoff).toEqual({ initialMs: 1000, maxMs: 60_000, multiplier: 2, jitter: 0.3 })
  })

  test('has defaults for everything [default_backoff_config]', () => {
    const backoff = resolveBackoff('test')

    expect(backoff).toEqual({ initialMs: 100, maxMs: 30_000, multiplier: 2, jitter: 0.3 })
  })

  test('keeps the other defaults when one is given [struct_update_syntax_with_default]', () => {
    const backoff = resolveBackoff('test', { max: '1m' })

    expect(backoff).toEqual({ initialMs: 100, maxMs: 60_000, multiplier: 2, jitter: 0.3 })
  })

  test('refuses a multiplier below 1 [new_panics_on_low_multiplier]', () => {
    expect(() => resolveBackoff('test', { multiplier: 0.5 })).toThrow(
      new RangeError('test: multiplier must be a number, 1 or more, got 0.5'),
    )
  })

  test('refuses an initial wait above its max [new_panics_on_initial_exceeds_max]', () => {
    expect(() => resolveBackoff('test', { initial: '1m', max: '1s' })).toThrow(
      new RangeError('test: initial must not be above max, got 60000 ms above 1000 ms'),
    )
  })
})

describe('the floor of a bulkhead', () => {
  test('is the initial wait after the first failure [escalate_first]', () => {
    const it = bulkhead({ initial: '1s', max: '1m', jitter: 0 })

    it.escalate()

    expect(it.failures).toBe(1)
    expect(it.floorMs).toBe(1000)
  })

  test('is multiplied by every further failure [escalate_exponential]', () => {
    const it = bulkhead({ initial: '1s', max: '1m', jitter: 0 })

    expect(floors(it, 4)).toEqual([1000, 2000, 4000, 8000])
  })

  test('never rises above the max [escalate_caps_at_max]', () => {
    const it = bulkhead({ initial: '1s', max: '30s', jitter: 0 })

    expect(floors(it, 10).at(-1)).toBe(30_000)
  })

  test('stays the same with a multiplier of 1 [escalate_linear]', () => {
    const it = bulkhead({ initial: '5s', max: '5s', multiplier: 1, jitter: 0 })

    expect(new Set(floors(it, 5))).toEqual(new Set([5000]))
  })

  test('is gone after a success [reset_clears_state]', () => {
    const it = bulkhead({ initial: '1s', max: '1m', jitter: 0 })
    floors(it, 3)

    it.reset()

    expect(it.failures).toBe(0)
    expect(it.floorMs).toBe(0)
  })

  test('is not there before a failure, success or not [reset_on_fresh]', () => {
    const it = new Bulkhead()

    it.reset()

    expect(it.failures).toBe(0)
    expect(it.floorMs).toBe(0)
  })

  test('is always 0 by default, and nothing limits it [default_bulkhead]', () => {
    const it = new Bulkhead()

    expect(it.unlimited).toBe(true)
    expect(it.floorMs).toBe(0)
    expect(floors(it, 100).at(-1)).toBe(0)
  })

  test('begins again at the initial wait after a success', () => {
    const it = bulkhead({ initial: '1s', max: '1m', jitter: 0 })
    floors(it, 5)

    it.reset()

    expect(it.escalate()).toBe(1000)
  })

  test('stays at the max for a hundred thousand failures', () => {
    const it = bulkhead({ jitter: 0 })

    const all = floors(it, 100_000)

    expect(all.every((ms, i) => ms === Math.min(100 * 2 ** i, 30_000))).toBe(true)
    expect(it.failures).toBe(100_000)
  })
})

describe('the count of failures', () => {
  test('is 0 at first [consecutive_failures_fresh_is_zero]', () => {
    expect(new Bulkhead().failures).toBe(0)
  })

  test('grows with each failure [consecutive_failures_after_escalation]', () => {
    const it = bulkhead({})

    floors(it, 3)

    expect(it.failures).toBe(3)
  })

  test('is 0 after a success [consecutive_failures_after_reset]', () => {
    const it = bulkhead({})
    floors(it, 3)

    it.reset()

    expect(it.failures).toBe(0)
  })
})

describe('jitter', () => {
  test('strays within its share of the wait [jitter_varies_interval_within_bounds]', () => {
    const backoff = { initial: '10s', max: '1m', jitter: 0.1 } as const
    const shortest = bulkhead(backoff, () => 0).escalate()
    const longest = bulkhead(backoff, () => 1 - Number.EPSILON).escalate()
    const usual = bulkhead(backoff, () => 0.5).escalate()

    expect(shortest).toBe(9000)
    expect(longest).toBeCloseTo(11_000)
    expect(usual).toBe(10_000)
  })

  test('of 0 leaves the wait as it is [zero_jitter_is_deterministic]', () => {
    const it = bulkhead({ initial: '1s', max: '1m', jitter: 0 })

    expect(floors(it, 2)).toEqual([1000, 2000])
  })

  test('never lifts a wait above the max [jitter_does_not_exceed_max]', () => {
    const it = bulkhead({ initial: '28s', max: '30s', jitter: 0.2 })
    const seen: number[] = []

    for (let round = 0; round < 10; round++) {
      seen.push(it.escalate(), it.escalate())
      it.reset()
    }

    expect(Math.max(...seen)).toBeLessThanOrEqual(30_000)
    expect(bulkhead({ initial: '28s', jitter: 0.2 }, () => 0.99).escalate()).toBe(30_000)
  })
})
