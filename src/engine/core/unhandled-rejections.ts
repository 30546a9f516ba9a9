import { AsyncLocalStorage } from 'node:async_hooks'
import type { Execution } from '../replay/execution.ts'

// A promise of workflow code that rejects before the code awaits it would end the process. Turns run
// inside an AsyncLocalStorage, which tells the handler of `unhandledRejection` which execution it was;
// the execution records the rejection. Without an execution, Node's default applies: if there is no
// other handler, the process ends.

const executions = new AsyncLocalStorage<Execution>()
const owners = new WeakMap<Promise<unknown>, Execution>()
let users = 0

/** Calls workflow code so that its unhandled rejections can be attributed to it. */
export function insideExecution<T>(execution: Execution, run: () => T): T {
  return executions.run(execution, run)
}

/**
 * Calls code that is not part of the workflow, such as a logger, a codec or a schema, from within a
 * turn, so that its rejections and calls are not attributed to the workflow.
 */
export function outsideExecution<T>(run: () => T): T {
  return executions.exit(run)
}

/** The execution whose code is running, in its turns and between them. */
export function currentExecution(): Execution | undefined {
  return executions.getStore()
}

/** Starts to handle unhandled rejections; call the returned function to stop. */
export function watchUnhandledRejections(): () => void {
  if (users++ === 0) {
    process.on('unhandledRejection', onUnhandled)
    process.on('rejectionHandled', onHandled)
  }
  let watching = true
  return () => {
    if (!watching) return
    watching = false
    if (--users > 0) return
    process.off('unhandledRejection', onUnhandled)
    process.off('rejectionHandled', onHandled)
  }
}

function onUnhandled(reason: unknown, promise: Promise<unknown>): void {
  const execution = executions.getStore()
  if (execution !== undefined) {
    owners.set(promise, execution)
    execution.recordUnhandled(promise, reason)
    // Thrown here, it becomes an uncaught exception, as it would without any handler.
  } else if (process.listenerCount('unhandledRejection') === 1) throw reason
}

/** The code handles the rejection after all. */
function onHandled(promise: Promise<unknown>): void {
  owners.get(promise)?.recordHandled(promise)
}
