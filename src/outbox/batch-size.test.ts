import { expect, test } from 'vitest'
import { BatchSize } from './batch-size.ts'

test('nothing has failed: batches have the configured size [partition_mode_normal_uses_configured_size]', () => {
  const size = new BatchSize(50, 1)

  expect([size.current, size.isNormal]).toEqual([50, true])
})

test('after a failure batches are as large as what was delivered [partition_mode_degraded_uses_effective_size]', () => {
  const size = new BatchSize(50, 1)

  size.retried(4)

  expect([size.current, size.isNormal]).toEqual([4, false])
})

test('a retry without progress leads to batches of one [partition_mode_retry_degrades_to_one] [partition_mode_retry_with_processed_count_zero] [degradation_processed_count_zero_degrades_to_one] [degradation_batch_handler_falls_back_to_one]', () => {
  const size = new BatchSize(50, 1)

  size.retried(0)

  expect(size.current).toBe(1)
})

test('each success doubles the batch [partition_mode_success_ramps_up]', () => {
  const size = new BatchSize(50, 1)
  size.retried(0)

  const sizes = [1, 2, 3].map(() => {
    size.succeeded()
    return size.current
  })

  expect(sizes).toEqual([2, 4, 8])
})

test('the configured size is reached and not passed [partition_mode_ramps_up_to_normal]', () => {
  const size = new BatchSize(32, 1)
  size.retried(16)

  size.succeeded()
  const reached = [size.current, size.isNormal]
  size.succeeded()

  expect(reached).toEqual([32, true])
  expect(size.current).toBe(32)
})

test('a dead letter shrinks the batch at once, whatever the threshold [partition_mode_reject_in_normal_degrades]', () => {
  const size = new BatchSize(50, 10)

  size.rejected(0)

  expect(size.current).toBe(1)
})

test('a dead letter leaves the batch as large as what was delivered before it [partition_mode_reject_with_processed_count]', () => {
  const size = new BatchSize(50, 1)

  size.rejected(3)

  expect(size.current).toBe(3)
})

test('success changes nothing when nothing had failed [partition_mode_success_in_normal_stays_normal]', () => {
  const size = new BatchSize(50, 1)

  size.succeeded()

  expect([size.current, size.isNormal]).toEqual([50, true])
})

test('it recovers step by step [partition_mode_full_recovery_cycle]', () => {
  const size = new BatchSize(8, 1)
  size.retried(0)

  const sizes = [size.current]
  while (!size.isNormal) {
    size.succeeded()
    sizes.push(size.current)
  }

  expect(sizes).toEqual([1, 2, 4, 8])
})

test('what was delivered is where it recovers from [degradation_with_processed_count]', () => {
  const size = new BatchSize(8, 1)
  size.rejected(3)

  const sizes = [size.current]
  while (!size.isNormal) {
    size.succeeded()
    sizes.push(size.current)
  }

  expect(sizes).toEqual([3, 6, 8])
})

test('below the threshold retries change nothing [partition_mode_does_not_degrade_below_threshold]', () => {
  const size = new BatchSize(50, 3)

  const sizes = [1, 2, 3].map(() => {
    size.retried(0)
    return size.current
  })

  expect(sizes).toEqual([50, 50, 1])
})

test('a success sets the count of failures back [partition_mode_success_resets_consecutive_failures]', () => {
  const size = new BatchSize(50, 2)

  size.retried(0)
  const before = size.isNormal
  size.succeeded()
  size.retried(0)

  expect([before, size.current]).toEqual([false, 50])
})

test('the size never grows beyond the configured one, however much was delivered [processed_count_exceeds_batch_is_clamped]', () => {
  const size = new BatchSize(3, 1)

  size.retried(10)

  expect(size.current).toBe(3)
})

test('a batch that fails as a whole leads to batches of one, at once', () => {
  const size = new BatchSize(50, 5)

  size.failed()

  expect(size.current).toBe(1)
})

test('the messages that a process died with come one at a time, and then batches grow', () => {
  const size = new BatchSize(50, 5)
  size.abandoned(3)

  const sizes = [size.current]
  for (let i = 0; i < 5; i++) {
    size.passed(size.current)
    size.succeeded()
    sizes.push(size.current)
  }

  expect(sizes).toEqual([1, 1, 1, 2, 4, 8])
})

test('a message that is tried again does not let the one behind it come with others', () => {
  const size = new BatchSize(50, 5)
  size.abandoned(2)

  size.passed(0)
  size.retried(0)
  size.passed(1)
  size.succeeded()
  const before = size.current
  size.passed(1)
  size.succeeded()

  expect([before, size.current]).toEqual([1, 2])
})
