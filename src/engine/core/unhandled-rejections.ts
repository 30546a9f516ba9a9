import { AsyncLocalStorage } from 'node:async_hooks'
import type { Execution } from '../replay/execution.ts'

// A promise of workflow code that rejects before anybody awaits it would end the process. Turns run
// inside an AsyncLocalStorage, which names the instance in `unhandledRejection`; those are kept with
// the instance. All others are passed on: with no other listener, the process ends as before.

const executions = new AsyncLocalStorage<Execution>()
const owners = new WeakMap<Promise<unknown>, Execution>()
let users = 0

/** Calls workflow code so that its stray rejections are known to be its own. */
export function insideExecution<T>(execution: Execution, run: () => T): T {
  return executions.run(execution, run)
}

/**
 * Calls code of somebody else, such as a logger, a codec or a schema, from within a turn: what it
 * does is not the doing of the workflow.
 */
export function outsideExecution<T>(run: () => T): T {
  return executions.exit(run)
}

/** The execution whose code is running, also between its turns. */
export function currentExecution(): Execution | undefined {
  return executions.getStore()
}

/** Starts to watch for stray rejections; call the returned function to end it. */
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
    execution.stray(promise, reason)
    // Thrown from here, it becomes an uncaught exception: what Node does without any listener.
  } else if (process.listenerCount('unhandledRejection') === 1) throw reason
}

/** The code came to look at it after all. */
function onHandled(promise: Promise<unknown>): void {
  owners.get(promise)?.strays.delete(promise)
}
