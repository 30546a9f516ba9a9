// One round: worker processes run workflows on one store while they are killed, frozen and stopped
// at random moments. The seed decides what is done; the operating system decides where it hits.

import { setTimeout as passTime } from 'node:timers/promises'
import { connect, open, type Workflow } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { checkScene } from './check.ts'
import { note, readLedger } from './ledger.ts'
import { JOBS, type Start, workflowsOn } from './programs/workflows.ts'
import { openScene, type Scene, type SceneKind } from './scene.ts'
import { storeOf } from './store-place.ts'
import { LEASE_MS, type WorkerProcess } from './workers.ts'

/** How a round went. */
export interface RoundReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  readonly instances: number
  readonly attempts: number
  readonly kills: number
  readonly freezes: number
  readonly stops: number
}

const PROCESSES = 2
const TROUBLE_MS = 6_000
const STARTS_PER_PROCESS = 8
const STARTS_BY_CLIENT = 16
const FINISH_MS = 40_000

/** Plays one round. */
export async function playRound(kind: SceneKind, seed: number): Promise<RoundReport> {
  await using scene = openScene(kind)
  const counts = { kills: 0, freezes: 0, stops: 0 }
  const given: Start[] = []
  const makeStarts = (who: string, count: number, random: () => number): Start[] => {
    const starts = Array.from({ length: count }, (_, i) => randomStart(random, `${who}-${i}`))
    given.push(...starts)
    return starts
  }

  const until = performance.now() + TROUBLE_MS
  const troubled = Array.from({ length: PROCESSES }, async (_, slot) => {
    // Each has its own, so that the seed decides what happens to it whatever the others do.
    const random = randomFrom(seed * 10 + slot)
    for (let life = 1; performance.now() < until; life++) {
      const starts = makeStarts(`${slot}.${life}`, STARTS_PER_PROCESS, random)
      const worker = scene.workers.start({ starts })
      await worker.loaded
      await trouble(worker, random, counts)
    }
  })
  const random = randomFrom(seed * 10 + PROCESSES)
  const byClient = makeStarts('client', STARTS_BY_CLIENT, random)
  const acknowledged = await startByClient(scene, byClient, until, random)
  await Promise.all(troubled)

  const last = [scene.workers.start(), scene.workers.start()]
  const ids = new Set([...acknowledged, ...scene.workers.acknowledged])
  const [{ results, findings }, expected] = await Promise.all([
    awaitResults(scene, ids),
    undisturbed(given),
  ])
  for (const [id, result] of results) {
    if (JSON.stringify(result) !== JSON.stringify(expected.get(id))) {
      findings.push(
        `${id}: ended with ${JSON.stringify(result)}, not ${JSON.stringify(expected.get(id))}`,
      )
    }
  }
  // What was started without anybody being told must end as well.
  await untilEmpty(scene)
  for (const worker of last) {
    const code = await worker.stop()
    if (code !== 0) findings.push(`a process that was asked to stop ended with ${code}`)
  }
  for (const { log, pid } of scene.workers.all) {
    for (const line of log.split('\n')) {
      if (line !== '' && !isExpected(line)) findings.push(`process ${pid} said: ${line}`)
    }
  }
  const lines = readLedger(scene.ledger)
  findings.push(...(await checkScene(scene, lines)))
  return {
    ...counts,
    findings,
    instances: ids.size,
    attempts: lines.filter(({ what }) => what === 'begin').length,
  }
}

/** Lets a process work for a while, and then does something bad to it. */
async function trouble(
  worker: WorkerProcess,
  random: () => number,
  counts: { kills: number; freezes: number; stops: number },
): Promise<void> {
  await passTime(random() * 1_400)
  const fate = random()
  if (fate < 0.25) {
    counts.freezes++
    worker.freeze()
    // Longer than its lease, so that it is taken over; then it comes back.
    await passTime(LEASE_MS + 1_000 + random() * 1_500)
    worker.thaw()
    await passTime(random() * 800)
  } else if (fate < 0.4) {
    counts.stops++
    await worker.ready
    await worker.stop()
    return
  }
  counts.kills++
  await worker.kill()
}

/** Starts instances as a process that runs nothing; answers those that were acknowledged. */
async function startByClient(
  scene: Scene,
  starts: readonly Start[],
  until: number,
  random: () => number,
): Promise<string[]> {
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const workflows = workflowsOn(scene.ledger)
  const acknowledged: string[] = []
  const pauseMs = (until - performance.now()) / starts.length
  for (const { workflow, id, input } of starts) {
    await passTime(random() * pauseMs)
    const code = workflows[workflow] as Workflow<unknown, unknown>
    try {
      await client.start(code, input, { id })
      acknowledged.push(id)
    } catch (error) {
      // A frozen process may hold the lock of an SQLite file for longer than we wait.
      if ((error as { code?: string }).code !== 'busy') throw error
    }
  }
  return acknowledged
}

async function awaitResults(
  scene: Scene,
  ids: ReadonlySet<string>,
): Promise<{ results: Map<string, unknown>; findings: string[] }> {
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const results = new Map<string, unknown>()
  const findings: string[] = []
  await Promise.all(
    [...ids].map(async (id) => {
      try {
        results.set(id, await client.get(id).result({ timeout: FINISH_MS }))
        note(scene.ledger, { what: 'ended', id })
      } catch (error) {
        const info = await client.get(id).info()
        findings.push(
          `${id}: was acknowledged and has no result: ${String(error)}, ${JSON.stringify(info)}`,
        )
      }
    }),
  )
  return { results, findings }
}

/** The same workflows in one process that nobody disturbs. */
async function undisturbed(starts: readonly Start[]): Promise<Map<string, unknown>> {
  const workflows = workflowsOn('/dev/null')
  await using runtime = await open('memory:', { register: workflows })
  const results = starts.map(async ({ workflow, id, input }): Promise<[string, unknown]> => {
    const code = workflows[workflow] as Workflow<unknown, unknown>
    return [id, await runtime.run(code, input)]
  })
  return new Map(await Promise.all(results))
}

/** Waits until nothing is unfinished, for a while. */
export async function untilEmpty(scene: Scene): Promise<void> {
  const until = performance.now() + FINISH_MS
  while (performance.now() < until) {
    const [left] = await scene.query('select count(*) as count from runs')
    if (Number(left?.['count']) === 0) return
    await passTime(100)
  }
}

// A frozen process is told of its death; one that waited for a frozen one's lock says that too.
function isExpected(line: string): boolean {
  return /declared dead|holds the lock on the file|^\s/.test(line)
}

function randomStart(random: () => number, name: string): Start {
  const workflow = JOBS[Math.floor(random() * JOBS.length)]!
  const seed = Math.floor(random() * 100_000)
  return { workflow, id: `${workflow}-${name}`, input: { seed, n: 2 + Math.floor(random() * 8) } }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
