// Threads that are used by one store after the other: to start one takes longer than most tests do.
//
// A store has its thread for itself while it is open. Its code is run anew for each, so it finds
// nothing of the one before but what Node and the driver keep.

import { EventEmitter } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { SqliteSettings } from '../../src/sqlite/connect/options.ts'
import { threadEntry } from '../../src/sqlite/thread/thread-entry.ts'

/** As `startWorker`, with a thread that another store has done with, if there is one. */
export function reuseWorker(settings: SqliteSettings): Worker {
  // What of a worker is used: `postMessage`, `ref`, `unref` and events.
  return new ReusedWorker(idle.pop() ?? newThread(settings), settings) as unknown as Worker
}

const idle: Worker[] = []

class ReusedWorker extends EventEmitter {
  readonly #port: MessagePort

  constructor(thread: Worker, settings: SqliteSettings) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const fail = (error: Error): void => void this.emit('error', error)
    thread.once('error', fail)
    port1.on('message', (message) => this.emit('message', message))
    // The store closes it with the file; a thread that ends does too, and is of no use any more.
    port1.once('close', () => {
      thread.off('error', fail)
      if (thread.threadId !== -1) idle.push(thread)
      this.emit('exit')
    })
    thread.postMessage({ port: port2, settings }, [port2])
  }

  postMessage(message: unknown): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    this.#port.postMessage(message)
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }
}

/** Runs the store's code for each port that it is given, which is then the port to its parent. */
const BOOT = `
const { parentPort, workerData } = require('node:worker_threads')
const run = new Function('require', 'module', workerData)
parentPort.on('message', ({ port, settings }) => {
  const parent = { parentPort: port, workerData: settings }
  run((name) => (name === 'node:worker_threads' ? parent : require(name)), { exports: {} })
})`

function newThread(settings: SqliteSettings): Worker {
  const [script, options] = threadEntry(settings)
  const thread = new Worker(BOOT, { ...options, workerData: script })
  thread.unref()
  return thread
}
