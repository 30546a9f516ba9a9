import { expect, test } from 'vitest'

import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { testAttempts, TestCall } from '../../../../test/tasks/attempts.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Claimer } from '../discover/claimer.ts'
import type { Registration } from '../discover/registration.ts'
import { OwnedTasks } from './owned-tasks.ts'
import type { TaskAttempt } from '../../../store/tasks.ts'
import { taskName } from './task-names.ts'

/** Tasks that a runtime owns under the number 5, and what the store says it owns. */
function openOwned() {
  const stored: TaskAttempt[] = []
  let claims = 0
  const core = testCore(virtualClock(), { store: { ownedTasks: async () => stored } })
  const registration = partOf<Registration>({ number: 5 })
  const claimer = partOf<Claimer>({ wake: () => void claims++ })
  const owned = new OwnedTasks(core, registration, claimer)
  const attempts = testAttempts(core)
  return {
    owned,
    stored,
    claims: () => claims,
    /** An attempt at the task of a command of instance 1. */
    own: (command: number, attempt = 1) => {
      const call = new TestCall(attempts, {}, attempt, command)
      owned.add(5, call)
      return call
    },
  }
}

const keyOf = (command: number, attempt = 1) => ({ iid: 1, execution: 1, command, attempt })

test('a hint aborts only tasks that the store confirms as unwanted', async () => {
  const { owned, stored, own } = openOwned()
  const [wanted, unwanted, other] = [own(1), own(2), own(3)]
  stored.push(keyOf(1), keyOf(3))

  expect(await owned.abortUnwanted([keyOf(1), keyOf(2), keyOf(9)])).toBe(1)

  expect([wanted, unwanted, other].map(({ signal }) => signal.aborted)).toEqual([
    false,
    true,
    false,
  ])
  expect(owned.keys()).toEqual([keyOf(1), keyOf(3)])
})

test('an attempt that the store gave to another number is not wanted here', async () => {
  const { owned, stored, own } = openOwned()
  const first = own(1, 1)
  stored.push(keyOf(1, 2))

  expect(await owned.abortUnwanted([keyOf(1)])).toBe(1)
  expect(first.signal.aborted).toBe(true)
})

test('the store is not asked about tasks that are not owned here', async () => {
  const { owned, own } = openOwned()
  own(1)

  expect(await owned.abortUnwanted([keyOf(2)])).toBe(0)
  expect(owned.size).toBe(1)
})

test('a superseded attempt that has begun is remembered with its number, once', () => {
  const { owned, own } = openOwned()
  const [begun, waiting] = [own(1), own(2)]
  begun.begun = true

  owned.supersede('another runtime has taken over')

  expect([owned.size, owned.has(begun), owned.take(begun)]).toEqual([0, false, undefined])
  expect([owned.takeSuperseded(begun), owned.takeSuperseded(begun)]).toEqual([5, undefined])
  expect(owned.takeSuperseded(waiting)).toBeUndefined()
})

test('the end of a task that blocks others wakes both claimers, once', async () => {
  const { owned, own, claims } = openOwned()
  const name = taskName(own(1).key)
  owned.block(name)

  owned.unblock(name)
  owned.unblock(name)

  await owned.freed.wait()
  expect(claims()).toBe(1)
})
