// A runtime that fires schedules until it is killed.

import { open, workflow } from '../../../src/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'

/** What the process gets as its argument. */
export interface SchedulesOrder {
  readonly store: StorePlace
  readonly leaseMs: number
}

/** What the schedules start. */
export const counted = workflow('counted', async () => 'done')

if (process.argv[2]?.startsWith('{')) {
  const { store, leaseMs } = JSON.parse(process.argv[2]) as SchedulesOrder
  const runtime = await open(storeOf(store), { register: counted, lease: leaseMs })
  process.once('SIGTERM', () => void runtime.close({ drain: '2s' }))
}
