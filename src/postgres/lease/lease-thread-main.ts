// The side of `lease-thread.ts` that runs in the thread.
import { parentPort, workerData } from 'node:worker_threads'
import { checkMs, type LeaseStore, LeaseWatch, currentProcess } from '../../watchdog/lease-watch.ts'
import { toInstances, toFlags } from '../wire/answers.ts'
import { callerOf } from '../wire/call.ts'
import { isLocked, startInstances } from '../operations/commit.ts'
import { ownConnections } from '../connect/connections.ts'
import { loadDriver } from '../connect/driver.ts'
import type { LeaseThreadData, FromLeaseThread, ToLeaseThread } from './lease-thread.ts'
import { postgresTaskStore } from '../operations/task-store.ts'
import { text } from '../connect/rows.ts'
import { joinTexts, listOf } from '../wire/lists.ts'

const port = parentPort!
const { order, address, asksPassword, schema } = workerData as LeaseThreadData
const post = (message: FromLeaseThread): void => port.postMessage(message)

/** Connections that wait for a password. */
const asking = new Map<number, { resolve(password: string): void; reject(error: Error): void }>()
let asked = 0

// The address, for the password function of the user; the rest cannot be sent, or is not needed.
interface Parameters {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly database?: string
}

function askPassword(parameters: Parameters): Promise<string> {
  const { host, port: at, user, database } = parameters
  return new Promise((resolve, reject) => {
    asking.set(++asked, { resolve, reject })
    post({ ask: asked, parameters: { host, port: at, user, database } })
  })
}

function onMessage(message: ToLeaseThread): void {
  if ('stop' in message) return stop()
  const waiting = asking.get(message.asked)
  asking.delete(message.asked)
  if ('failed' in message) waiting?.reject(new Error(`no password: ${message.failed}`))
  else waiting?.resolve(message.password)
}

const everyMs = checkMs(order)
const connections = ownConnections(undefined, {
  ...(asksPassword
    ? { address: { ...address, password: askPassword } }
    : address !== undefined && { address }),
  applicationName: 'holdfast lease',
  // Leaves time for a second try, on another connection, before the lease expires.
  answerWithinMs: Math.max(everyMs, 1_000),
})
const call = callerOf(connections, schema)
const tasks = postgresTaskStore(call)

/** How long to retry suspending an instance that another transaction has locked. */
const SUSPEND_MS = 1_000

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
  start: (items, options) => startInstances(call, items, options),
  async suspend(ids, report) {
    const values = [joinTexts('suspend', ids), ids.length, report]
    const untilMs = performance.now() + SUSPEND_MS
    for (;;) {
      try {
        const [row] = await call('suspend', values)
        return toFlags(text(row!, 'suspended'))
      } catch (error) {
        if (!isLocked(error) || performance.now() >= untilMs) throw error
      }
    }
  },
  async unregister(runtime) {
    await call('unregister', [runtime])
  },
}

const watch = new LeaseWatch(
  order,
  store,
  currentProcess((trouble) => post({ trouble, isLasting: false })),
)
const timer = setInterval(() => void watch.check(), everyMs)

port.on('message', onMessage)
// In a bundle, the pool of the user may work while this thread cannot load the driver.
loadDriver().catch((error: Error) => post({ trouble: error.message, isLasting: true }))

function stop(): void {
  clearInterval(timer)
  port.close()
  void connections.close()
}
