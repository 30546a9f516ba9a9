import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../base/threads/thread-entry.ts'
import {
  type LeaseKeeper,
  type LeaseOrder,
  type LeaseRequest,
  SharedLoopHeartbeat,
} from '../../store/lease.ts'
import { addressOf, type LeaseAddress, type PasswordFunction } from './lease-address.ts'
import { LEASE_THREAD_SCRIPT } from './lease-thread-script.ts'
import type { PostgresSettings } from '../connect/options.ts'

// The thread that looks after the lease of one runtime, as its runtime sees it.
//
//   T1. It keeps no process alive.
//   T2. Whatever becomes of it, the runtime goes on: without it, only a stall is tolerated less.
//   T3. A password that is asked for is asked for here, where its code is: only a connection that is
//       opened while the loop stands still has to wait for it.

/** What the thread is started with. */
export interface LeaseThreadData {
  readonly order: LeaseOrder
  /** How to connect, as `pg` takes it; `undefined` for what the `PG…` variables say. */
  readonly address: object | undefined
  /** Whether each connection asks for its password. */
  readonly asksPassword: boolean
  readonly schema: string
}

/** What the thread says: why a renewal failed, or that a connection needs a password. */
export type LeaseThreadNews =
  | { readonly trouble: string; readonly isLasting: boolean }
  | { readonly ask: number; readonly parameters: object }

/** What it is told: to stop, or what came of a password that it asked for. */
export type LeaseThreadOrder =
  | { readonly stop: true }
  | { readonly asked: number; readonly password: string }
  | { readonly asked: number; readonly failed: string }

const STOP_MS = 1_000
// The thread does next to nothing, and may hold next to nothing.
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

/** Starts a thread for the lease of a runtime; `undefined` when it could not connect. */
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
  const tell = (told: LeaseThreadOrder): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    worker.postMessage(told)
  }
  worker.on('message', (news: LeaseThreadNews) => {
    if ('trouble' in news) onTrouble(news.trouble, news.isLasting)
    else void ask(password!, news.parameters).then((answer) => tell({ asked: news.ask, ...answer }))
  })
  worker.on('error', (error) => onTrouble(`its thread has ended: ${error.message}`, true))
  worker.unref()
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const pulse = new SharedLoopHeartbeat(order.memory)
  return {
    async stop() {
      worker.ref()
      // It says goodbye to the server if they have met, unless it waits for an answer.
      const isConnected = pulse.renewedMs('thread') > 0
      tell({ stop: true })
      const late = setTimeout(() => void worker.terminate(), isConnected ? STOP_MS : 0)
      await exited
      clearTimeout(late)
    },
  }
}

/** A password, or why there is none. Only text is sent on: `pg` takes nothing else. */
async function ask(
  password: PasswordFunction,
  parameters: object,
): Promise<{ readonly password: string } | { readonly failed: string }> {
  try {
    const given = await password(parameters)
    return typeof given === 'string' ? { password: given } : { failed: 'the password is no text' }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}
