import type { WorkerOptions } from 'node:worker_threads'
import { threadEntry as entryBeside } from '../base/thread-entry.ts'

/** What to start the thread of a file with: `new Worker(...threadEntry(…))`. */
export function threadEntry(workerData: unknown): [entry: URL | string, options: WorkerOptions] {
  return entryBeside(import.meta.url, 'thread-main', workerData)
}
