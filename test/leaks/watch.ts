// Whether a load leaves something behind: the heap after a collection, what keeps the process alive and
// listeners are as before however much was done, and the same does not cost more ticks.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Something that can be done any number of times, and leaves nothing behind. */
export interface Load extends AsyncDisposable {
  /** Does it this many times. */
  run(times: number): Promise<void>
  /** What it can count beside what the process shows. */
  counts?(): Counts
}

/** What a load counts. */
export interface Counts {
  /** On what outlives a single time: a signal, a pool, the process. */
  readonly listeners: number
  /** Ticks of runtimes since this was last asked for. */
  readonly ticks: number
}

/** How to begin with a load. */
export type OpenLoad = () => Promise<Load>

/** A load by its name. */
export interface NamedLoad {
  readonly name: string
  readonly open: OpenLoad
  /** Which part of the times it is run: less than 1 for what opens files. */
  readonly share: number
  /** The least that counts as a leak: what the engine keeps for itself is less. */
  readonly maxBytesEach: number
}

/** What a process holds. */
export interface Holdings extends Counts {
  /** After a collection: JavaScript, and what it holds outside of its heap. */
  readonly heapBytes: number
  /** Timers, sockets, threads and files: whatever can keep the process alive. */
  readonly handles: number
}

/** What was found. */
export interface Findings {
  readonly first: Holdings
  readonly last: Holdings
  /** How many bytes each of the times between the first and the last reading has left. */
  readonly bytesEach: number
}

/** How often a load is run, and how long. */
export interface Watch {
  readonly rounds: number
  readonly timesPerRound: number
}

/** Runs a load in rounds, the first of which does not count: code is compiled and pools are filled. */
export async function watchLoad(
  open: OpenLoad,
  { rounds, timesPerRound }: Watch,
): Promise<Findings> {
  await using load = await open()
  await load.run(timesPerRound)
  const readings: Holdings[] = [await holdings(load)]
  for (let round = 0; round < rounds; round++) {
    await load.run(timesPerRound)
    readings.push(await holdings(load))
  }
  const first = readings[0]!
  const last = readings.at(-1)!
  // By the middle of all steps: one reading may come at a bad moment, a leak is in all of them.
  const steps = readings.slice(1).map((reading, i) => reading.heapBytes - readings[i]!.heapBytes)
  const middle = steps.toSorted((a, b) => a - b)[steps.length >> 1]!
  return { first, last, bytesEach: middle / timesPerRound }
}

/** What has grown; empty when nothing has. */
export function leaksIn({ first, last, bytesEach }: Findings, maxBytesEach: number): string[] {
  const leaks: string[] = []
  if (bytesEach > maxBytesEach) leaks.push(`${bytesEach.toFixed(1)} bytes each`)
  if (last.handles > first.handles + 2) leaks.push(`handles ${first.handles} to ${last.handles}`)
  if (last.listeners > first.listeners + 2) {
    leaks.push(`listeners ${first.listeners} to ${last.listeners}`)
  }
  if (last.ticks > 10 + 1.5 * first.ticks) leaks.push(`ticks ${first.ticks} to ${last.ticks}`)
  return leaks
}

/** What the process holds now. */
async function holdings(load: Load): Promise<Holdings> {
  // What was just ended may need a round or two to be gone.
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  const { heapUsed, external } = process.memoryUsage()
  const { listeners, ticks } = load.counts?.() ?? { listeners: 0, ticks: 0 }
  const handles = process.getActiveResourcesInfo().length
  return { heapBytes: heapUsed + external, handles, listeners, ticks }
}

let collectNow: (() => void) | undefined

function collect(): void {
  if (collectNow === undefined) {
    setFlagsFromString('--expose-gc')
    collectNow = runInNewContext('gc') as () => void
  }
  collectNow()
}
