import { describe, expect, test } from 'vitest'

import { heldTask } from '../../../../test/tasks/fake-task-store.ts'
import { openRunner } from '../../../../test/tasks/open-runner.ts'
import { StoreError } from '../../../store/store-error.ts'

describe('the task runner', () => {
  describe('the answer whether there are tasks', () => {
    test('is answered by a claim that begins after the question', async () => {
      await using opened = openRunner()
      const { clock, store, manual, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      opened.claimer.wake()
      await settle()

      const finding = opened.claimer.findsNothing()
      store.before = () => void store.waiting.push(heldTask(1))
      arrive()

      expect(await clock.until(finding)).toBe(false)
      expect(manual.begun).toHaveLength(1)
    })

    test('is no when a claim returns nothing, or nothing can run here', async () => {
      await using opened = openRunner()
      await using none = openRunner({ activities: [] })

      expect(await opened.clock.until(opened.claimer.findsNothing())).toBe(true)
      expect(await none.claimer.findsNothing()).toBe(true)
    })

    test('is not no when the store does not answer', async () => {
      await using opened = openRunner()
      const { clock, store } = opened
      store.before = () => {
        throw new StoreError('busy', 'claimTasks', 'locked')
      }

      expect(await clock.until(opened.claimer.findsNothing())).toBe(false)
    })

    test('does not wait when the runtime closes', async () => {
      await using opened = openRunner()
      const { clock, store, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      const finding = opened.claimer.findsNothing()
      await settle()

      const closing = opened.close(0)

      expect(await clock.until(finding)).toBe(true)
      arrive()
      await clock.until(closing)
    })
  })
})
