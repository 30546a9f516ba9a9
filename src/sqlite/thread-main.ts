// The side of `thread.ts` that runs in the thread: it has the file open and does what it is asked.
import { parentPort, workerData } from 'node:worker_threads'
import { Database, type Transaction } from './database.ts'
import { OPERATIONS } from './operations/table.ts'
import type { SqliteSettings } from './options.ts'
import { toStoreError } from './sqlite-error.ts'
import { type Request, type Response, storeErrorToData } from './thread-protocol.ts'

const port = parentPort!
const settings = workerData as SqliteSettings

let database: Database | undefined

port.on('message', (request: Request) => {
  port.postMessage(answer(request))
  if (request.operation === 'close') port.close()
  else database?.tidy()
})

function answer(request: Request): Response {
  const { number, operation } = request
  try {
    return { number, result: perform(request) }
  } catch (thrown) {
    return { number, error: storeErrorToData(toStoreError(`sqlite ${operation}`, thrown)) }
  }
}

function perform({ operation, args, clockOffsetMs }: Request): unknown {
  if (operation === 'close') return database?.close()
  // Opened by the first that needs it, so that one that failed to open can be tried again.
  database ??= new Database(settings)
  if (operation === 'open') return undefined
  const { mode, run } = OPERATIONS[operation] as {
    mode: 'read' | 'write'
    run: (tx: Transaction, ...args: readonly unknown[]) => unknown
  }
  return database[mode](`sqlite ${operation}`, clockOffsetMs, (tx) => run(tx, ...args))
}
