// The side of `lease-thread.ts` that runs in the thread.
import { parentPort, workerData } from 'node:worker_threads'
import { checkMs, type LeaseStore, LeaseWatch, processAround } from '../store/lease-watch.ts'
import { toInstances, toTruths } from './answers.ts'
import { callerOf } from './call.ts'
import { ownConnections } from './connections.ts'
import type { LeaseThreadData } from './lease-thread.ts'
import { postgresTaskStore } from './task-store.ts'
import { joinTexts, listOf, text } from './wire.ts'

const port = parentPort!
const { order, address, schema } = workerData as LeaseThreadData

const everyMs = checkMs(order)
const connections = ownConnections(undefined, {
  ...(address !== undefined && { address }),
  applicationName: 'holdfast lease',
  // There is time for a second try, on another connection, before the lease ends.
  answerWithinMs: Math.max(everyMs, 1_000),
})
const call = callerOf(connections, schema)
const tasks = postgresTaskStore(call)

const store: LeaseStore = {
  finishTasks: (runtime, results) => tasks.finishTasks(runtime, results),
  async renewLease(runtime, leaseMs) {
    const [row] = await call('renew_lease', [runtime, leaseMs])
    return text(row!, 'is_alive') === 't'
  },
  async endLease(runtime) {
    await call('renew_lease', [runtime, 0])
  },
  async look(iids) {
    return toInstances(await call('instance_rows', [listOf(iids)]), iids.length)
  },
  async suspend(ids, report) {
    const [row] = await call('suspend', [joinTexts('suspend', ids), ids.length, report])
    return toTruths(text(row!, 'suspended'))
  },
  async unregister(runtime) {
    await call('unregister', [runtime])
  },
}

const watch = new LeaseWatch(
  order,
  store,
  processAround((why) => port.postMessage(why)),
)
const timer = setInterval(() => void watch.check(), everyMs)

port.once('message', () => {
  clearInterval(timer)
  port.close()
  void connections.close()
})
