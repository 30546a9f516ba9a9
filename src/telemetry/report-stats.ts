import type { Metrics } from '../base/metrics.ts'

/** What the store has, as `client.admin.stats()` and `outbox.stats()` count it. */
export interface StoreStats {
  /** From `client.admin.stats()`. */
  engine?: {
    readonly instances: readonly {
      readonly workflow: string
      readonly status: string
      readonly count: number
    }[]
    readonly tasks: readonly {
      readonly activity: string
      readonly waiting: number
      readonly delayed: number
      readonly running: number
      readonly oldestMs: number
    }[]
    readonly oldestDueMs: number
    readonly messages: { readonly waiting: number; readonly parked: number }
  }
  /** From `outbox.stats()`. */
  outbox?: readonly {
    readonly topic: string
    readonly depth: number
    readonly oldestMs: number
    readonly lag: number
  }[]
}

type Labels = Readonly<Record<string, string>>

/** What one call reported, by name and labels. */
type Reported = Map<string, { readonly name: string; readonly labels: Labels }>

const reportedBefore = new WeakMap<Metrics, Map<'engine' | 'outbox', Reported>>()

/**
 * Reports what the store has as gauges: how many instances there are by status, how many tasks and
 * messages wait, and for how long the oldest has. These concern the whole store, not one process: call
 * it in one process, whenever the figures are wanted.
 */
export function reportStats(sink: Metrics, { engine, outbox }: StoreStats): void {
  if (engine !== undefined) report(sink, 'engine', (add) => addEngine(add, engine))
  if (outbox !== undefined) report(sink, 'outbox', (add) => addOutbox(add, outbox))
}

type Add = (name: string, value: number, labels: Labels, join?: 'sum' | 'max') => void

function addEngine(add: Add, engine: NonNullable<StoreStats['engine']>): void {
  for (const { workflow, status, count } of engine.instances) {
    add('holdfast_instances', count, { workflow, status })
  }
  for (const { activity, waiting, delayed, running, oldestMs } of engine.tasks) {
    add('holdfast_tasks', waiting, { activity, state: 'waiting' })
    add('holdfast_tasks', delayed, { activity, state: 'delayed' })
    add('holdfast_tasks', running, { activity, state: 'running' })
    add('holdfast_task_age_ms', oldestMs, { activity }, 'max')
  }
  add('holdfast_instances_due_age_ms', engine.oldestDueMs, {})
  add('holdfast_messages', engine.messages.waiting, { state: 'waiting' })
  add('holdfast_messages', engine.messages.parked, { state: 'parked' })
}

function addOutbox(add: Add, outbox: NonNullable<StoreStats['outbox']>): void {
  for (const { topic, depth, oldestMs, lag } of outbox) {
    add('holdfast_outbox_depth', depth, { topic })
    add('holdfast_outbox_ready', lag, { topic })
    add('holdfast_outbox_age_ms', oldestMs, { topic }, 'max')
  }
}

/** Sends what `fill` adds. What the call before reported and this one does not is 0 now. */
function report(sink: Metrics, part: 'engine' | 'outbox', fill: (add: Add) => void): void {
  if (sink.gauge === undefined) return
  const values = new Map<string, { name: string; labels: Labels; value: number }>()
  fill((name, value, labels, join = 'sum') => {
    const key = `${name} ${JSON.stringify(labels)}`
    const known = values.get(key)
    // Versions of a workflow and partitions of a topic are one series.
    if (known === undefined) values.set(key, { name, labels, value })
    else known.value = join === 'sum' ? known.value + value : Math.max(known.value, value)
  })
  let parts = reportedBefore.get(sink)
  if (parts === undefined) reportedBefore.set(sink, (parts = new Map()))
  for (const [key, { name, labels }] of parts.get(part) ?? []) {
    if (!values.has(key)) sink.gauge(name, 0, labels)
  }
  for (const { name, labels, value } of values.values()) sink.gauge(name, value, labels)
  parts.set(part, values)
}
