// Load on something that stores, and how late the event loop gets under it.

import { monitorEventLoopDelay } from 'node:perf_hooks'

/** The figures of a load. */
export interface QueueLoad {
  readonly perSecond: number
  /** How late a 1 ms timer was, in milliseconds. */
  readonly stallP99Ms: number
  /** Processor time of all threads for one, in microseconds: what a busy machine changes least. */
  readonly cpuUs: number
}

/** How long it lasts. */
export interface LoadTime {
  readonly ms: number
  readonly warmUpMs: number
}

/** Does `run` again and again, this many at a time; each counts for `per`. */
export async function underLoad(
  run: () => Promise<unknown>,
  inFlight: number,
  per: number,
  { ms, warmUpMs }: LoadTime,
): Promise<QueueLoad> {
  await loop(run, inFlight, warmUpMs)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  const runs = await loop(run, inFlight, ms)
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(startCpu)
  delay.disable()
  return {
    perSecond: (runs * per) / seconds,
    stallP99Ms: delay.percentile(99) / 1e6,
    cpuUs: (user + system) / (runs * per),
  }
}

async function loop(run: () => Promise<unknown>, inFlight: number, ms: number): Promise<number> {
  const endMs = performance.now() + ms
  let runs = 0
  const one = async (): Promise<void> => {
    do {
      await run()
      runs++
    } while (performance.now() < endMs)
  }
  await Promise.all(Array.from({ length: inFlight }, one))
  return runs
}
