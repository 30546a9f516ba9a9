// A process that runs workflows: `worker.ts <order as JSON>`. It says `loaded` before it opens the
// store, `ready` after, and `started <id>` for each start that was acknowledged.

import { setTimeout as passTime } from 'node:timers/promises'
import { type Log, open, StoreError, type Workflow } from '../../../src/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'
import { type Start, workflowsOn } from './workflows.ts'

/** What a worker process is given. */
export interface WorkerOrder {
  readonly store: StorePlace
  readonly ledger: string
  readonly leaseMs: number
  readonly starts?: readonly Start[]
  /** How many instances it has in memory at once. */
  readonly instances?: number
}

const order = JSON.parse(process.argv[2]!) as WorkerOrder
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const log =
  (level: string): Log =>
  (data, message) =>
    process.stderr.write(`${level} ${message} ${describe(data)}\n`)

say('loaded')
const workflows = workflowsOn(order.ledger)
const runtime = await open(storeOf(order.store), {
  register: workflows,
  lease: order.leaseMs,
  concurrency: { instances: order.instances ?? 1_000 },
  log: { debug() {}, info() {}, warn: log('warn'), error: log('error') },
})
say('ready')
// Ends without closing anything.
process.on('SIGUSR2', () => process.exit(0))

let closing = false
const pending = [...(order.starts ?? [])]
process.on('SIGTERM', () => void close())
await Promise.all([1, 2, 3].map(() => startAll()))

async function startAll(): Promise<void> {
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const { workflow, id, input } = next
    const code = workflows[workflow] as Workflow<unknown, unknown>
    try {
      await runtime.start(code, input === -1 ? process.pid : input, { id })
      say(`started ${id}`)
    } catch (error) {
      // Asked to stop in the middle of it: then no caller was answered that it is started.
      if (closing) return
      if (!(error instanceof StoreError) || !error.retryable) throw error
      // The server is away. The id makes sure that it is started once.
      pending.push(next)
      await passTime(100)
    }
  }
}

async function close(): Promise<void> {
  closing = true
  pending.length = 0
  await runtime.close({ drain: '2s' })
  process.exit(0)
}

function describe(data: object): string {
  return JSON.stringify(data, (_, value: unknown) => (value instanceof Error ? value.stack : value))
}
