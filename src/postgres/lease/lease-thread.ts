import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../base/threads/thread-entry.ts'
import type { LeaseKeeper, LeaseOrder, LeaseRequest } from '../../store/lease-keeper.ts'
import { SharedLoopHeartbeat } from '../../watchdog/shared-loop-heartbeat.ts'
import { addressOf, type LeaseAddress, type PasswordFunction } from './lease-address.ts'
import { LEASE_THREAD_SCRIPT } from './lease-thread-script.ts'
import type { PostgresSettings } from '../connect/options.ts'

// The thread that renews the lease of one runtime, seen from the runtime.
//
//   - It does not keep the process alive.
//   - If it fails, the runtime continues; only a blocked event loop is tolerated for less time.
//   - A function that returns the password runs in the main thread: a connection that the thread
//     opens while the event loop is blocked waits for it.

/** What the thread is started with. */
export interface LeaseThreadData {
  readonly order: LeaseOrder
  /** Settings for `pg`; `undefined` for the `PG…` variables. */
  readonly address: object | undefined
  /** Whether each connection asks for its password. */
  readonly asksPassword: boolean
  readonly schema: string
}

/** A message of the thread: why a renewal failed, or that a connection needs a password. */
export type FromLeaseThread =
  | { readonly trouble: string; readonly isLasting: boolean }
  | { readonly ask: number; readonly parameters: object }

/** A message to the thread: to stop, or the password that it asked for. */
export type ToLeaseThread =
  | { readonly stop: true }
  | { readonly asked: number; readonly password: string }
  | { readonly asked: number; readonly failed: string }

const STOP_MS = 1_000
// The thread does little and needs little memory.
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

/** Starts a thread for the lease of a runtime; `undefined` if it cannot be given the address. */
export function keepLease(
  { source, schema }: PostgresSettings,
  request: LeaseRequest,
): LeaseKeeper | undefined {
  const { onTrouble, ...order } = request
  let to: LeaseAddress
  try {
    to = addressOf(source)
  } catch (error) {
    onTrouble((error as Error).message)
    return undefined
  }
  const { address, password } = to
  const data: LeaseThreadData = { order, address, asksPassword: password !== undefined, schema }
  const code = {
    callerUrl: import.meta.url,
    name: 'lease-thread-main',
    script: LEASE_THREAD_SCRIPT,
  }
  const [entry, options] = threadEntry(code, data)
  const worker = new Worker(entry, { ...options, resourceLimits: MEMORY })
  const post = (message: ToLeaseThread): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    worker.postMessage(message)
  }
  worker.on('message', (message: FromLeaseThread) => {
    if ('trouble' in message) onTrouble(message.trouble, message.isLasting)
    else
      void ask(password!, message.parameters).then((answer) =>
        post({ asked: message.ask, ...answer }),
      )
  })
  worker.on('error', (error) => onTrouble(`the lease thread ended: ${error.message}`, true))
  worker.unref()
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const heartbeat = new SharedLoopHeartbeat(order.memory)
  return {
    async stop() {
      worker.ref()
      // If it is connected, it closes the connection, unless it waits for an answer.
      const isConnected = heartbeat.renewedMs('thread') > 0
      post({ stop: true })
      const late = setTimeout(() => void worker.terminate(), isConnected ? STOP_MS : 0)
      await exited
      clearTimeout(late)
    },
  }
}

/** A password, or why there is none. `pg` takes only strings. */
async function ask(
  password: PasswordFunction,
  parameters: object,
): Promise<{ readonly password: string } | { readonly failed: string }> {
  try {
    const given = await password(parameters)
    return typeof given === 'string'
      ? { password: given }
      : { failed: 'the password is not a string' }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}
