import { expect, test } from 'vitest'

import { testCore } from '../../../../test/support/runtime-core.ts'
import { writeEvents } from '../../../store/history.ts'
import type { Iid } from '../../../store/instances.ts'
import { StoreError } from '../../../store/store-error.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { workflow } from '../../define/definitions.ts'
import { LimitKeys } from './limit-keys.ts'

const order = workflow(
  'order',
  { limit: { concurrency: 1, key: (customer: string) => customer } },
  async () => {},
)

/** Keys of instances by these customers, on a store that cannot take one of them. */
function scene(customers: readonly string[], error: Error) {
  const recorded: string[] = []
  const suspended: string[] = []
  const store = {
    load: async (targets: readonly { iid: Iid }[]) => targets.map(({ iid }) => loaded(iid)),
    async setLimitKeys(keys: readonly { key: string }[]) {
      if (keys.some(({ key }) => key === 'bad')) throw error
      recorded.push(...keys.map(({ key }) => key))
    },
    suspend: async (ids: readonly string[]) => suspended.push(...ids),
  }
  const core = testCore(virtualClock(), { store, registry: { latest: () => order as never } })
  const loaded = (iid: Iid) => {
    const input = core.values.encode(customers[iid], 'input')
    const started = { type: 'started', workflow: 'order', version: '', seed: 's' } as const
    const events = writeEvents([{ ...started, input, parentId: '', state: '' }])
    const name = { name: 'order', version: '' }
    return { iid, id: customers[iid], workflow: name, execution: 1, history: [{ events }] }
  }
  const compute = () => new LimitKeys(core).compute([...customers.keys()])
  return { compute, recorded, suspended, log: core.log }
}

const rejected = new StoreError('rejected', 'setLimitKeys', 'cannot be stored')

test('a key that the store rejects suspends its instance, and the others are recorded', async () => {
  const { compute, recorded, suspended, log } = scene(['a', 'bad', 'b'], rejected)

  expect(await compute()).toBe(true)

  expect(recorded).toEqual(['a', 'b'])
  expect(suspended).toEqual(['bad'])
  expect(log.lines.map(({ level }) => level)).toEqual(['error'])
})

test('if the only key is rejected, nothing can be judged', async () => {
  const { compute, suspended } = scene(['bad'], rejected)

  expect(await compute()).toBe(false)

  expect(suspended).toEqual(['bad'])
})

test('a store that cannot be reached suspends nothing', async () => {
  const lost = new StoreError('connection_lost', 'setLimitKeys', 'the connection is gone')
  const { compute, suspended } = scene(['a', 'bad'], lost)

  await expect(compute()).rejects.toBe(lost)

  expect(suspended).toEqual([])
})
