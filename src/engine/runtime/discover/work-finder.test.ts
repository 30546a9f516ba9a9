import { expect, test } from 'vitest'

import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import type { Announcement } from '../../../store/hints.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import type { Registration } from './registration.ts'
import { WorkFinder } from './work-finder.ts'

/** The finder of runtime 7, which owns instance 1; what it looks for and what it announces. */
function openFinder() {
  const announced: Announcement[] = []
  const looked: number[] = []
  const store = { hints: { announce: (one: Announcement) => void announced.push(one) } }
  const owned = new Set([1])
  const finder = new WorkFinder(
    testCore(virtualClock(), { store }),
    partOf<Registration>({ number: 7, workflows: [3] }),
    partOf<Capacity>({ free: 10 }),
    { get: (iid: number) => (owned.has(iid) ? {} : undefined) } as LiveInstances,
  )
  finder.mail.look = (iids) => void looked.push(...iids)
  return { finder, announced, looked }
}

test('mail is read here for instances without an owner, or owned by this runtime', () => {
  const { finder, announced, looked } = openFinder()

  finder.hint([
    { iid: 1, owner: 7 },
    { iid: 2, owner: null },
    { iid: 3, owner: 8 },
  ])

  expect(looked).toEqual([1, 2])
  expect(announced).toEqual([{ kind: 'mail', iids: [2, 3] }])
})

test('a look reads mail here, and notifies the owners of instances that are not owned here', () => {
  const { finder, announced, looked } = openFinder()

  finder.look([1, 2])
  finder.look([1])

  expect(looked).toEqual([1, 2, 1])
  expect(announced).toEqual([{ kind: 'mail', iids: [2] }])
})
