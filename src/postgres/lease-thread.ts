import { Worker } from 'node:worker_threads'
import { threadEntry } from '../base/thread-entry.ts'
import {
  type LeaseKeeper,
  type LeaseOrder,
  type LeaseRequest,
  SharedPulse,
} from '../store/lease.ts'
import { addressOf } from './lease-address.ts'
import type { PostgresSettings } from './options.ts'

// The thread that looks after the lease of one runtime, as its runtime sees it.
//
//   T1. It keeps no process alive.
//   T2. Whatever becomes of it, the runtime goes on: without it, only a stall is tolerated less.

/** What the thread is started with. */
export interface LeaseThreadData {
  readonly order: LeaseOrder
  /** How to connect, as `pg` takes it; `undefined` for what the `PG…` variables say. */
  readonly address: object | undefined
  readonly schema: string
}

/** What the thread says: why a renewal failed. */
export type LeaseThreadNews = string

const STOP_MS = 1_000
// The thread does next to nothing, and may hold next to nothing.
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

/** Starts a thread for the lease of a runtime; `undefined` when it could not connect. */
export function keepLease(
  { source, schema }: PostgresSettings,
  request: LeaseRequest,
): LeaseKeeper | undefined {
  const { onTrouble, ...order } = request
  let data: LeaseThreadData
  try {
    data = { order, address: addressOf(source), schema }
  } catch (error) {
    onTrouble((error as Error).message)
    return undefined
  }
  const [entry, options] = threadEntry(import.meta.url, 'lease-thread-main', data)
  const worker = new Worker(entry, { ...options, resourceLimits: MEMORY })
  worker.on('message', (news: LeaseThreadNews) => onTrouble(news))
  worker.on('error', (error) => onTrouble(`its thread has ended: ${error.message}`))
  worker.unref()
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const pulse = new SharedPulse(order.memory)
  return {
    async stop() {
      worker.ref()
      // It says goodbye to the server if they have met, unless it waits for an answer.
      const isConnected = pulse.renewedMs('thread') > 0
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
      worker.postMessage('stop')
      const late = setTimeout(() => void worker.terminate(), isConnected ? STOP_MS : 0)
      await exited
      clearTimeout(late)
    },
  }
}
