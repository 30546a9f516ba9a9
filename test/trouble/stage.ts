// Work that continues in two processes while something happens to their server, and what must be
// true afterwards: nothing acknowledged is lost, nothing recorded is repeated, no process has
// ended.

import { setTimeout as passTime } from 'node:timers/promises'
import { silentLog } from '../../src/base/log.ts'
import { type Client, connect, type Workflow } from '../../src/index.ts'
import { insist } from '../e2e/attend.ts'
import { checkScene } from '../e2e/check.ts'
import { Crowd } from '../e2e/crowd.ts'
import { keepScene } from '../e2e/keep.ts'
import { note, readLedger } from '../e2e/ledger.ts'
import { compareOutcomes, undisturbed, untilEmpty } from '../e2e/outcomes.ts'
import { JOBS, type Start, workflowsOn } from '../e2e/programs/workflows.ts'
import { randomFrom } from '../e2e/random.ts'
import { openScene, type Scene } from '../e2e/scene.ts'
import { storeOf } from '../e2e/store-place.ts'

/** What a trouble has at hand. */
export interface Stage {
  readonly scene: Scene
  /** Resolves when an instance that is started now has ended; answers how long that took. */
  readonly worksAgain: () => Promise<number>
}

/** How it went. */
export interface TroubleReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  /** Those whose start was acknowledged. */
  readonly instances: number
}

// Those that take long for reasons of their own are played in the rounds.
const QUICK_JOBS = JOBS.filter((name) => name !== 'nap' && name !== 'retries')
// One every so often, for as long as there is trouble.
const START_EVERY_MS = 60
// What is done within seconds on a machine that has nothing else to do.
const AGAIN_MS = 40_000

/** Lets instances be started and run on the server at `url` while `trouble` lasts. */
export async function workThrough(
  url: string,
  trouble: (stage: Stage) => Promise<void>,
): Promise<TroubleReport> {
  const seed = Math.floor(Math.random() * 1_000_000)
  await using scene = openScene({ kind: 'postgres', url })
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const crowd = new Crowd(scene, client, seed, QUICK_JOBS)
  const workers = [scene.workers.start(), scene.workers.start()]
  await Promise.all(workers.map(({ ready }) => ready))

  const over = new AbortController()
  const load = startInstances(client, crowd, randomFrom(seed), over.signal)
  let probes = 0
  try {
    await trouble({ scene, worksAgain: () => probe(scene, client, `probe-${++probes}`) })
  } finally {
    over.abort()
  }
  await load

  const findings = await compareOutcomes(
    scene,
    client,
    crowd.acknowledged,
    undisturbed(crowd.given),
  )
  findings.push(...(await crowd.attended()))
  await untilEmpty(scene)
  for (const worker of workers) {
    const code = await worker.stop()
    if (code !== 0) findings.push(`a process ended with ${code}: ${worker.log}`)
  }
  findings.push(...(await checkScene(scene, readLedger(scene.ledger))))
  if (findings.length > 0) findings.push(`more about it: ${await keepScene(scene, seed)}`)
  return { findings, instances: crowd.acknowledged.size }
}

/** Starts one instance after the other, whatever becomes of the server meanwhile. */
async function startInstances(
  client: Client,
  crowd: Crowd,
  random: () => number,
  over: AbortSignal,
): Promise<void> {
  const starting: Promise<void>[] = []
  for (let i = 0; !over.aborted; i++) {
    const [start] = crowd.give(String(i), 1, random)
    const started = startOne(client, crowd, start!)
    // Awaited below; without this, an earlier error would leave its rejection unhandled.
    started.catch(() => {})
    starting.push(started)
    await passTime(START_EVERY_MS)
  }
  await Promise.all(starting)
}

async function startOne(client: Client, crowd: Crowd, start: Start): Promise<void> {
  const code = workflowsOn('/dev/null')[start.workflow] as Workflow<unknown, unknown>
  await insist(() => client.start(code, start.input, { id: start.id }))
  crowd.acknowledge(start.id)
}

async function probe(scene: Scene, client: Client, id: string): Promise<number> {
  const begunMs = performance.now()
  const { steps } = workflowsOn('/dev/null')
  const input = { seed: 1, n: 2 }
  await insist(() => client.run(steps, input, { id, timeout: AGAIN_MS }))
  note(scene.ledger, { what: 'ended', id })
  return performance.now() - begunMs
}

/** Waits until something holds, for a while. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const limitMs = performance.now() + AGAIN_MS; !(await holds()); await passTime(20)) {
    if (performance.now() > limitMs) throw new Error(`waited in vain for ${String(holds)}`)
  }
}
