// The side of `thread.ts` that runs in the thread: it has the file open and executes requests.
import { parentPort, workerData } from 'node:worker_threads'
import type { LeaseOrder } from '../../store/lease-keeper.ts'
import { Changes } from '../file/changes.ts'
import { Database } from '../file/database.ts'
import { Leases } from './leases.ts'
import type { OperationName } from './table.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { isWrite, perform } from './perform.ts'
import { StoreError } from '../../store/store-error.ts'
import { toStoreError } from '../connect/sqlite-error.ts'
import { type Request, type Response, storeErrorToData } from './thread-protocol.ts'
import { WaitingWrites } from './waiting-writes.ts'

const port = parentPort!
const settings = workerData as SqliteSettings

let database: Database | undefined
const leases = new Leases(opened)
const changes = new Changes(opened, () => port.postMessage({ changed: true } satisfies Response))

const writes = new WaitingWrites(settings.busyMs)

port.on('message', (request: Request) => {
  if (isWrite(request.operation)) write(request, request.operation)
  else port.postMessage(answer(request, () => dealWith(request)))
  if (request.operation === 'close') port.close()
  else database?.tidy()
})

function answer({ number, operation }: Request, work: () => unknown): Response {
  try {
    return { number, result: work() }
  } catch (thrown) {
    return { number, error: storeErrorToData(toStoreError(`sqlite ${operation}`, thrown)) }
  }
}

/** Answers when it is done; others do not wait for it while the file is locked. */
function write(request: Request, operation: OperationName): void {
  const { args, clockOffsetMs } = request
  writes.add({
    attempt(waitMs) {
      let locked: StoreError | undefined
      const response = answer(request, () => {
        try {
          return perform(opened(), operation, args, clockOffsetMs, waitMs)
        } catch (error) {
          if (error instanceof StoreError && error.code === 'busy') locked = error
          throw error
        }
      })
      if (locked !== undefined) throw locked
      port.postMessage(response)
    },
    fail: (error) =>
      port.postMessage(
        answer(request, () => {
          throw error
        }),
      ),
  })
}

/** What is about the file and the thread themselves. */
const OWN = {
  open: () => void opened(),
  close() {
    writes.close()
    leases.clear()
    changes.stop()
    database?.close()
  },
  keepLease: (key: number, order: LeaseOrder) => leases.keep(key, order),
  dropLease: (key: number) => leases.drop(key),
  watch: (runtimes: readonly number[]) => changes.watch(runtimes),
  unwatch: () => changes.stop(),
}

function dealWith({ operation, args, clockOffsetMs }: Request): unknown {
  if (operation in OWN) {
    const own = OWN[operation as keyof typeof OWN] as (...args: readonly unknown[]) => unknown
    return own(...args)
  }
  return perform(opened(), operation as OperationName, args, clockOffsetMs)
}

/** Opened by the first request that needs it, so that a failed open can be retried. */
function opened(): Database {
  if (database !== undefined) return database
  database = new Database(settings)
  const { warning } = database
  if (warning !== undefined) port.postMessage({ warning } satisfies Response)
  return database
}
