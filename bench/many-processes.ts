// Load by one process and by several, on one database: what they cost each other.

import { join } from 'node:path'

import { checkRecorded, type Place } from './holdfast.ts'
import { LineProcess } from './line-process.ts'
import type { Load, Shape } from './shapes.ts'
import type { Plan } from './peer.ts'

const PROGRAM = join(import.meta.dirname, 'load-process.ts')
const SPARE_MS = 120_000

/** What a process that puts load on a store is given. */
export interface ShareOfLoad extends Plan {
  readonly url: string
  readonly shape: Shape['name']
}

/** What it prints when it is done. */
export interface LoadDone {
  readonly load: Load
  readonly warmUp: Load
}

/** Workflows per second of this many processes, each with the load that `plan` says. */
export async function rateOfProcesses(
  place: Place,
  processes: number,
  shape: Shape,
  plan: Plan,
): Promise<number> {
  const share: ShareOfLoad = { ...plan, url: place.url, shape: shape.name }
  const program = {
    script: PROGRAM,
    args: [JSON.stringify(share)],
    longestMs: plan.ms + plan.warmUpMs + SPARE_MS,
  }
  const all = Array.from({ length: processes }, () => new LineProcess(program))
  try {
    for (const one of all) await one.until('ready')
    const done = await Promise.all(
      all.map(async (one) => JSON.parse(await one.ask('go')) as LoadDone),
    )
    for (const one of all) await one.end()
    const counted = done.flatMap(({ load, warmUp }) => [load.workflows, warmUp.workflows])
    const workflows = counted.reduce((sum, count) => sum + count, 0)
    await checkRecorded(place, `${shape.name} by ${processes} processes`, {
      completed: workflows * shape.leaves.instances,
      events: workflows * shape.leaves.events,
    })
    return done.reduce((sum, { load }) => sum + load.workflows / load.seconds, 0)
  } finally {
    await Promise.all(all.map((one) => one[Symbol.asyncDispose]()))
  }
}
