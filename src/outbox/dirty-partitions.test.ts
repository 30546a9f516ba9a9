import { describe, expect, test } from 'vitest'
import { virtualClock, type VirtualClock } from '../testing/virtual-clock.ts'
import { DirtyPartitions, type PartitionGuard } from './dirty-partitions.ts'

/** In the middle of every jitter. */
const middle = (): number => 0.5

function opened(): { readonly clock: VirtualClock; readonly dirty: DirtyPartitions } {
  const clock = virtualClock()
  return { clock, dirty: new DirtyPartitions(clock, middle) }
}

/** Takes all that are ready. */
function takeAll(dirty: DirtyPartitions): PartitionGuard[] {
  const guards: PartitionGuard[] = []
  for (let guard = dirty.take(); guard !== undefined; guard = dirty.take()) guards.push(guard)
  return guards
}

/** Moves time on until one is ready; returns how much passed. */
async function untilReady(clock: VirtualClock, dirty: DirtyPartitions): Promise<number> {
  const beganMs = clock.now()
  dirty.ready.takePermit()
  await clock.until(dirty.ready.wait())
  return clock.now() - beganMs
}

const numbers = (guards: readonly PartitionGuard[]): number[] =>
  guards.map(({ partition }) => partition)

describe('which comes next', () => {
  test('nothing is marked: nothing is handed out [take_empty_returns_none]', () => {
    expect(opened().dirty.take()).toBeUndefined()
  })

  test('what is marked is handed out once [sched_push_absorb_pop_roundtrip] [take_returns_guard_with_correct_pid] [processed_consumes_signal]', () => {
    const { dirty } = opened()
    dirty.mark(7)

    const guard = dirty.take()
    guard?.processed()

    expect(guard?.partition).toBe(7)
    expect([dirty.take(), dirty.size, dirty.claimed]).toEqual([undefined, 0, 0])
  })

  test('each guard has another partition [take_returns_distinct_pids]', () => {
    const { dirty } = opened()
    for (const partition of [1, 2, 3]) dirty.mark(partition)

    expect(numbers(takeAll(dirty))).toEqual([1, 2, 3])
  })

  test('the one that has waited longest comes first [sched_pop_returns_oldest_first] [oldest_dirty_served_first]', async () => {
    const { clock, dirty } = opened()
    for (const partition of [3, 1, 2]) {
      dirty.mark(partition)
      await clock.advance(10)
    }

    expect(numbers(takeAll(dirty))).toEqual([3, 1, 2])
  })

  test('what is marked for later is not handed out sooner [sched_pop_skips_future_timestamps]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1, 100)

    const early = dirty.take()
    await clock.advance(100)

    expect(early).toBeUndefined()
    expect(dirty.take()?.partition).toBe(1)
  })

  test('the sooner of two marks counts', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1, 100)
    dirty.mark(1, 10)
    dirty.mark(1, 50)

    await clock.advance(10)

    expect(numbers(takeAll(dirty))).toEqual([1])
  })

  test('five marks lead to one guard [push_dirty_dedup_in_pending] [sched_absorb_dedupes_against_pending_ids]', () => {
    const { dirty } = opened()
    for (let i = 0; i < 5; i++) dirty.mark(1)

    expect(numbers(takeAll(dirty))).toEqual([1])
  })

  test('a hundred partitions are all served [hundred_partitions_all_served]', () => {
    const { dirty } = opened()
    const all = Array.from({ length: 100 }, (_, i) => i)
    for (const partition of all) dirty.mark(partition)

    expect(numbers(takeAll(dirty))).toEqual(all)
  })

  test('marks and takes may alternate [multiple_partitions_interleaved_push_and_take]', () => {
    const { dirty } = opened()
    const taken: (number | undefined)[] = []

    dirty.mark(1)
    dirty.mark(2)
    taken.push(dirty.take()?.partition)
    dirty.mark(3)
    taken.push(dirty.take()?.partition, dirty.take()?.partition, dirty.take()?.partition)

    expect(taken).toEqual([1, 2, 3, undefined])
  })

  test('one that has more goes behind the others [prioritizer_lru_fairness_across_cycles]', async () => {
    const { clock, dirty } = opened()
    for (const partition of [1, 2, 3]) dirty.mark(partition)
    const order: number[] = []

    for (let i = 0; i < 9; i++) {
      await clock.advance(1)
      const guard = dirty.take()!
      order.push(guard.partition)
      guard.more()
    }

    expect(order).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3])
  })
})

describe('while a partition is handed out', () => {
  test('it is not handed out again [push_dirty_dedup_for_claimed] [sched_absorb_inserts_redirtied_when_claimed]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.take()
    dirty.mark(1)

    expect([dirty.take(), dirty.claimed]).toEqual([undefined, 1])
  })

  test('a mark brings it back afterwards [sched_ack_processed_requeues_if_redirtied] [push_dirty_during_claimed_partition_preserved] [coalesced_push_while_claimed_forces_redirty]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1)
    dirty.mark(1)

    guard.processed()

    expect(numbers(takeAll(dirty))).toEqual([1])
  })

  test('a mark survives that another worker finds nothing [redirty_while_claimed_survives_another_workers_take]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1)

    const other = dirty.take()
    guard.processed()

    expect(other).toBeUndefined()
    expect(dirty.take()?.partition).toBe(1)
  })

  test('a mark for later brings it back later', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1, 100)

    guard.processed()
    const early = dirty.take()
    await clock.advance(100)

    expect(early).toBeUndefined()
    expect(dirty.take()?.partition).toBe(1)
  })

  test('of a mark and what is due, the sooner counts', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1, 50)

    guard.processed(1_000)
    await clock.advance(50)

    expect(dirty.take()?.partition).toBe(1)
  })

  test('a mark after it was given back counts at once [push_after_drain_not_coalesced]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.take()!.processed()
    dirty.mark(1)

    expect(dirty.take()?.partition).toBe(1)
  })
})

describe('a partition that is given back untouched', () => {
  test('is still to be done [skipped_preserves_signal] [dropped_guard_preserves_signal] [dropped_guard_without_ack_requeues] [partition_guard_drop_preserves_dirty_signal]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.take()!.skipped()

    expect(dirty.take()?.partition).toBe(1)
  })

  test('keeps its place [skipped_retains_original_priority] [sched_ack_requeue_restores_original_priority]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    await clock.advance(10)
    dirty.mark(2)

    dirty.take()!.skipped()

    expect(numbers(takeAll(dirty))).toEqual([1, 2])
  })
})

describe('after an error', () => {
  test('a partition cools down [error_defers_partition] [sched_ack_error_applies_exponential_backoff]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const delayMs = dirty.take()!.failed()

    const early = dirty.take()
    await clock.advance(delayMs - 1)
    const stillEarly = dirty.take()
    await clock.advance(1)

    expect(delayMs).toBe(200)
    expect([early, stillEarly, dirty.size]).toEqual([undefined, undefined, 1])
    expect(dirty.take()?.partition).toBe(1)
  })

  test('each cools it down for longer [backoff_linear_progression]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const delays: number[] = []
    for (let i = 0; i < 3; i++) {
      delays.push(dirty.take()!.failed())
      await clock.advance(delays.at(-1)!)
    }

    expect(delays).toEqual([200, 400, 800])
  })

  test('it cools down for 30 seconds at most [backoff_cap_at_max] [error_cooldown_cap_at_30s] [backoff_overflow_safety]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    let delayMs = 0
    for (let i = 0; i < 60; i++) {
      delayMs = dirty.take()!.failed()
      await clock.advance(delayMs)
    }

    expect(delayMs).toBe(30_000)
  })

  test('marks do not shorten that [sched_ack_error_cooldown_preserved_despite_absorb]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1)
    guard.failed()
    dirty.mark(1)
    await clock.advance(199)

    expect(dirty.take()).toBeUndefined()
  })

  test('others are served meanwhile [error_healthy_partition_served_before_deferred]', () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.mark(2)
    dirty.take()!.failed()

    expect(numbers(takeAll(dirty))).toEqual([2])
  })

  test('success makes the next one the first again [processed_resets_error_state] [sched_ack_processed_clears_error_state]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    await clock.advance(dirty.take()!.failed())
    await clock.advance(dirty.take()!.failed())
    dirty.take()!.processed()
    dirty.mark(1)

    expect(dirty.take()!.failed()).toBe(200)
  })

  test('errors are forgotten after a while [sched_sweep_removes_stale_error_entries]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    for (let i = 0; i < 3; i++) await clock.advance(dirty.take()!.failed())
    await clock.advance('10m')

    expect(dirty.take()!.failed()).toBe(200)
  })
})

describe('a partition that waits for an open transaction', () => {
  test('comes back soon, then less often, and every five seconds in the end', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    const delays: number[] = []
    for (let i = 0; i < 14; i++) {
      dirty.take()!.blocked(false)
      delays.push(await untilReady(clock, dirty))
    }

    expect(delays.slice(0, 5)).toEqual([4, 8, 16, 32, 64])
    expect(delays.slice(-2)).toEqual([5_000, 5_000])
  })

  test('comes back soon again after it had messages', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    for (let i = 0; i < 8; i++) {
      dirty.take()!.blocked(false)
      await untilReady(clock, dirty)
    }

    dirty.take()!.blocked(true)

    expect(await untilReady(clock, dirty)).toBe(4)
  })

  test('comes back at once when it is marked', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    for (let i = 0; i < 8; i++) {
      dirty.take()!.blocked(false)
      await untilReady(clock, dirty)
    }
    dirty.take()!.blocked(false)

    dirty.mark(1)

    expect(dirty.take()?.partition).toBe(1)
  })

  test('comes back at once when it was marked meanwhile', () => {
    const { dirty } = opened()
    dirty.mark(1)
    const guard = dirty.take()!
    dirty.mark(1)

    guard.blocked(false)

    expect(dirty.take()?.partition).toBe(1)
  })
})

describe('wake-ups', () => {
  test('a mark leaves a permit for a worker that is not waiting yet [coalesced_push_still_notifies] [flush_triggers_notify] [flush_does_not_block]', async () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.mark(1)

    await dirty.ready.wait()

    expect(dirty.take()?.partition).toBe(1)
  })

  test('taking one wakes a worker for the next', async () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.mark(2)
    await dirty.ready.wait()
    dirty.take()

    await dirty.ready.wait()

    expect(dirty.take()?.partition).toBe(2)
  })

  test('the end of a cool-down wakes a worker by itself [untested_cooldown_wake_up]', async () => {
    const { clock, dirty } = opened()
    dirty.mark(1)
    dirty.ready.takePermit()
    dirty.take()!.failed()
    dirty.ready.takePermit()
    let isAwake = false
    void dirty.ready.wait().then(() => (isAwake = true))

    await clock.advance(199)
    const before = isAwake
    await clock.advance(1)

    expect([before, isAwake]).toEqual([false, true])
  })

  test('there is one timer, for the first of them', async () => {
    const { clock, dirty } = opened()
    for (const partition of [1, 2, 3]) dirty.mark(partition, partition * 100)
    dirty.mark(4, 50)

    expect(clock.pending).toBe(1)
    await clock.advance(50)
    expect(dirty.take()?.partition).toBe(4)
    expect(clock.pending).toBe(1)
  })

  test('no timer is left after close', () => {
    const { clock, dirty } = opened()
    dirty.mark(1, 100)

    dirty.close()

    expect(clock.pending).toBe(0)
  })

  test('those that wait although they are ready can be listed', async () => {
    const { dirty } = opened()
    dirty.mark(1)
    dirty.mark(2)
    dirty.mark(3, 100)
    dirty.take()

    expect([dirty.waiting(), dirty.claimed]).toEqual([[2], 1])
  })
})
