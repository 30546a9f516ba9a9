import { describe, expect, test } from 'vitest'

import { testServices, TestCall } from '../../../../test/tasks/attempts.ts'
import { heldTask } from '../../../../test/tasks/fake-task-store.ts'
import { openRunner } from '../../../../test/tasks/open-runner.ts'

describe('the task runner', () => {
  describe('an attempt that is no longer wanted', () => {
    test('is aborted, and its result is dropped', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1], [2])

      runner.owned.abort([{ iid: 1, execution: 1, command: 1 }])
      const [first, second] = manual.begun
      expect(first!.signal.reason).toMatchObject({
        name: 'CancelledError',
        reason: 'its result is no longer needed',
      })
      expect(second!.signal.aborted).toBe(false)
      manual.end(0)
      manual.end(1)
      await settle()

      expect(store.ends).toEqual([[2, 'completed', 5]])
      expect(runner.isBusy).toBe(false)
    })

    test('is only the attempt that is named', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1, { attempt: 2 }])

      runner.owned.abort([{ iid: 1, execution: 1, command: 1, attempt: 1 }])
      expect(runner.owned.keys()).toEqual([{ iid: 1, execution: 1, command: 1, attempt: 2 }])
      manual.end(0)
      await settle()

      expect(store.ends).toEqual([[1, 'completed', 5]])
    })

    test('no longer blocks others', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1, { session: 'one' }])
      const asked = store.requests.length

      runner.owned.abort([{ iid: 1, execution: 1, command: 1 }])
      await settle()

      expect(store.requests).toHaveLength(asked + 1)
      manual.end(0)
      await settle()
    })

    test('is not confused with the same command of another execution or instance', async () => {
      await using opened = openRunner()
      const { runner, manual, give } = opened
      await give([1, { iid: 11 }], [1, { iid: 1, execution: 11 }])

      runner.owned.abort([{ iid: 1, execution: 1, command: 1 }])

      expect(manual.begun.map(({ signal }) => signal.aborted)).toEqual([false, false])
    })
  })

  describe('a runtime that is declared dead', () => {
    test('learns it from a claim, and continues under its new number', async () => {
      await using opened = openRunner()
      const { store, deaths, manual, give } = opened
      store.state = 'dead'

      await give([1])

      expect(deaths).toEqual([5])
      expect(store.requests.map(({ runtime }) => runtime)).toEqual([5, 6])
      expect(manual.begun).toHaveLength(1)
    })

    test('aborts its attempts, and reports those that complete under its old number', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle, die } = opened
      await give([1], [2])

      die()
      expect(manual.begun.every(({ signal }) => signal.aborted)).toBe(true)
      expect([runner.owned.keys(), runner.isBusy]).toEqual([[], false])
      manual.end(0)
      manual.fail(1, new Error('stopped'))
      await settle()

      expect(store.ends).toEqual([[1, 'completed', 5]])
    })

    test('may own the same task again, and both attempts report their results', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle, die } = opened
      await give([1])
      die()
      await give([1, { attempt: 2 }])
      expect(runner.owned.keys()).toEqual([{ iid: 1, execution: 1, command: 1, attempt: 2 }])

      manual.end(0)
      await settle()
      manual.end(1)
      await settle()

      expect(store.ends).toEqual([
        [1, 'completed', 5],
        [1, 'completed', 6],
      ])
    })

    test('does not begin attempts that waited for the lease', async () => {
      await using opened = openRunner()
      const { store, manual, give, settle, die, holdStarts } = opened
      const release = holdStarts()
      await give([1])

      die()
      release()
      await settle()

      expect([manual.begun, store.ends]).toEqual([[], []])
    })
  })

  describe('close', () => {
    test('waits for running tasks and their results, and claims nothing more', async () => {
      await using opened = openRunner()
      const { clock, store, manual, give, settle } = opened
      await give([1])
      const asked = store.requests.length
      let closed = false
      const closing = opened.close(10_000).then(() => (closed = true))
      await give([2])
      expect([closed, store.requests.length]).toEqual([false, asked])

      manual.end(0)
      await settle()
      await closing

      expect(store.ends).toEqual([[1, 'completed', 5]])
      expect(clock.now()).toBe(0)
    })

    test('aborts what does not end in time, and drops its result', async () => {
      await using opened = openRunner()
      const { clock, store, manual, give, settle } = opened
      await give([1])

      const closing = opened.close(3_000)
      await clock.advance(2_999)
      expect(manual.begun[0]!.signal.aborted).toBe(false)
      await clock.advance(1)
      await closing
      expect(manual.begun[0]!.signal.reason).toMatchObject({ reason: 'the runtime is closing' })
      manual.fail(0, new Error('stopped'))
      await settle()

      expect(store.ends).toEqual([])
    })

    test('releases tasks that a claim returns meanwhile', async () => {
      await using opened = openRunner()
      const { clock, store, manual, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      store.waiting.push(heldTask(1))
      opened.claimer.wake()
      await settle()

      const closing = opened.close(1_000)
      store.before = () => {}
      arrive()
      await clock.until(closing)
      await settle()

      expect(manual.begun).toEqual([])
      expect(store.finished).toMatchObject([
        { results: [{ end: { kind: 'release', delayMs: 0 } }] },
      ])
    })

    test('releases at once tasks that still wait for a slot', async () => {
      await using opened = openRunner({ most: 1 })
      const { clock, runner, slots, store, manual, settle } = opened
      store.before = () => {
        store.before = () => {}
        // A local activity takes the slot while the claim is under way.
        slots.run(new TestCall(testServices(clock)), { perform: () => new Promise(() => {}) })
      }
      store.waiting.push(heldTask(1))
      opened.claimer.wake()
      await settle()
      expect(runner.owned.keys()).toHaveLength(1)

      slots.close()
      await clock.until(opened.close(10_000))

      expect([clock.now(), manual.begun]).toEqual([0, []])
      expect(store.ends).toEqual([[1, 'release', 5]])
    })
  })
})
