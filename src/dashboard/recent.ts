// Throughput and latency, from the latest instances.

import type { InstanceInfo } from '../index.ts'
import type { Recent } from './api.ts'

const MAX_BUCKETS = 61
const SECOND_MS = 1_000
const BUCKETS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800].map(
  (seconds) => seconds * SECOND_MS,
)

interface Window {
  readonly since: number
  readonly until: number
}

/** What became of instances, over time and by workflow. All of them were created in the window. */
export function recentOf(instances: readonly InstanceInfo[], window: Window): Recent {
  const { until } = window
  const bucketMs =
    BUCKETS_MS.find((ms) => until - window.since <= ms * (MAX_BUCKETS - 1)) ?? BUCKETS_MS.at(-1)!
  // Buckets begin at whole minutes and the like, so that they stay the same when time goes on.
  const since = Math.floor(window.since / bucketMs) * bucketMs
  const count = Math.floor((until - since) / bucketMs) + 1
  const buckets = Array.from({ length: count }, () => new Counts())
  const workflows = new Map<string, Counts>()
  const at = (date: Date): Counts | undefined => {
    const index = Math.floor((date.getTime() - since) / bucketMs)
    // The clock of the store may be ahead of this one.
    return buckets[Math.min(Math.max(0, index), count - 1)]
  }
  for (const info of instances) {
    const workflow = workflows.get(info.workflow) ?? new Counts()
    workflows.set(info.workflow, workflow)
    workflow.start()
    at(info.createdAt)?.start()
    if (info.finishedAt === undefined) continue
    workflow.end(info)
    at(info.finishedAt)?.end(info)
  }
  return {
    sample: instances.length,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    bucketMs,
    buckets: buckets.map((counts, i) => ({
      at: new Date(since + i * bucketMs).toISOString(),
      ...counts.figures(),
    })),
    workflows: [...workflows]
      .map(([workflow, counts]) => ({ workflow, ...counts.figures(), ...counts.slowest() }))
      .toSorted((a, b) => b.started - a.started),
  }
}

class Counts {
  #started = 0
  #completed = 0
  #failed = 0
  #stopped = 0
  readonly #durations: number[] = []

  start(): void {
    this.#started++
  }

  end({ status, createdAt, finishedAt }: InstanceInfo): void {
    if (status === 'completed') this.#completed++
    else if (status === 'failed') this.#failed++
    else this.#stopped++
    this.#durations.push(finishedAt!.getTime() - createdAt.getTime())
  }

  figures() {
    const sorted = this.#durations.toSorted((a, b) => a - b)
    const quantile = (part: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
    return {
      started: this.#started,
      completed: this.#completed,
      failed: this.#failed,
      stopped: this.#stopped,
      ...(sorted.length > 0 && { p50Ms: quantile(0.5), p95Ms: quantile(0.95) }),
    }
  }

  slowest() {
    return this.#durations.length === 0
      ? {}
      : { maxMs: this.#durations.reduce((a, b) => Math.max(a, b)) }
  }
}
