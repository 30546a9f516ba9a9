import type { WorkerOptions } from 'node:worker_threads'
import { threadEntry as entryOf } from '../../base/threads/thread-entry.ts'
import { THREAD_SCRIPT } from './thread-script.ts'

/** What to start the thread of a file with: `new Worker(...threadEntry(…))`. */
export function threadEntry(workerData: unknown): [script: string, options: WorkerOptions] {
  const code = { callerUrl: import.meta.url, name: 'thread-main', script: THREAD_SCRIPT }
  return entryOf(code, workerData)
}
