// One round: worker processes run workflows on one store while they are killed, frozen and stopped
// at random moments, and perhaps their server as well. The seed decides what is done; the operating
// system decides where it hits.

import { setTimeout as passTime } from 'node:timers/promises'
import { type Client, connect, type Workflow } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { insist } from './attend.ts'
import { checkScene } from './check.ts'
import { Crowd } from './crowd.ts'
import { keepScene } from './keep.ts'
import { readLedger } from './ledger.ts'
import { compareOutcomes, FINISH_MS, undisturbed, untilEmpty } from './outcomes.ts'
import { workflowsOn } from './programs/workflows.ts'
import { randomFrom } from './random.ts'
import { openScene, type Scene, type SceneKind } from './scene.ts'
import { storeOf } from './store-place.ts'
import { LEASE_MS, type WorkerProcess } from './workers.ts'

/** How a round went. */
export interface RoundReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  /** Those whose start was acknowledged. */
  readonly instances: number
  readonly attempts: number
  readonly messages: number
  readonly kills: number
  readonly freezes: number
  readonly stops: number
  /** How often the server was stopped and started again. */
  readonly restarts: number
}

/** How large a round is. */
export interface RoundSize {
  readonly processes: number
  /** How long things are done to the processes. */
  readonly troubleMs: number
  readonly startsPerProcess: number
  readonly startsByClient: number
  /** How long a process lives at the most until something is done to it. */
  readonly lifeMs?: number
  /** How often a server is stopped, when one is given. */
  readonly restarts?: number
  /** How long all may take to end once the faults are over. */
  readonly finishMs?: number
}

const LIFE_MS = 1_400

/** A round that fits into the tests. */
export const SHORT: RoundSize = {
  processes: 2,
  troubleMs: 6_000,
  startsPerProcess: 8,
  startsByClient: 24,
}

/** A longer round. */
export const LONG: RoundSize = {
  processes: 4,
  troubleMs: 60_000,
  startsPerProcess: 12,
  startsByClient: 300,
}

/** A round in which also the server is stopped, with this many instances of a client. */
export function roundWithRestarts(instances: number): RoundSize {
  const troubleMs = Math.max(8_000, instances * 75)
  return {
    processes: 4,
    troubleMs,
    startsPerProcess: 2,
    startsByClient: instances,
    // Long enough to get something done: the backlog of thousands would outlast the round.
    lifeMs: 1_400 + Math.min(8_000, instances * 4),
    finishMs: FINISH_MS + instances * 200,
    restarts: Math.max(1, Math.round(troubleMs / 15_000)),
  }
}

/** Plays one round; on PostgreSQL, `server` may be harmed, too. */
export async function playRound(
  kind: SceneKind,
  seed: number,
  size = SHORT,
  server?: PostgresServer,
): Promise<RoundReport> {
  await using scene = openScene(kind)
  const { processes } = size
  const counts = { kills: 0, freezes: 0, stops: 0, restarts: 0 }
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const crowd = new Crowd(scene, client, seed * 10 + processes + 1)

  const until = performance.now() + size.troubleMs
  const troubled = Array.from({ length: processes }, async (_, slot) => {
    // Each has its own, so that the seed decides what happens to it whatever the others do.
    const random = randomFrom(seed * 10 + slot)
    for (let life = 1; performance.now() < until; life++) {
      const starts = crowd.give(`${slot}.${life}`, size.startsPerProcess, random)
      const worker = scene.workers.start({ starts })
      worker.onStarted = (id) => crowd.acknowledge(id)
      await worker.loaded
      await trouble(worker, random, size.lifeMs ?? LIFE_MS, counts)
    }
  })
  if (server !== undefined) {
    const random = randomFrom(seed * 10 + processes + 2)
    troubled.push(restart(server, { count: size.restarts ?? 0, until, random }, counts))
  }
  const random = randomFrom(seed * 10 + processes)
  await startByClient(scene, client, crowd, { count: size.startsByClient, until, random })
  await Promise.all(troubled)

  const last = [scene.workers.start(), scene.workers.start()]
  await crowd.attendToStarted()
  const { finishMs } = size
  const expected = undisturbed(crowd.given, finishMs)
  const findings = await compareOutcomes(scene, client, crowd.acknowledged, expected, finishMs)
  // A server may finish what a process sent that has been killed since.
  await crowd.attendToStarted()
  findings.push(...(await crowd.attended()))
  // What was started without an answer to its caller must end as well.
  await untilEmpty(scene, finishMs)
  for (const worker of last) {
    const code = await worker.stop()
    if (code !== 0) findings.push(`a process that was asked to stop ended with ${code}`)
  }
  for (const { log, pid } of scene.workers.all) {
    for (const line of log.split('\n')) {
      const isFine = isExpected(line) || (counts.restarts > 0 && isOfServer(line))
      if (line !== '' && !isFine) findings.push(`process ${pid} said: ${line}`)
    }
  }
  const lines = readLedger(scene.ledger)
  findings.push(...(await checkScene(scene, lines)))
  if (findings.length > 0) findings.push(`more about it: ${await keepScene(scene, seed)}`)
  return {
    ...counts,
    findings,
    instances: crowd.acknowledged.size,
    attempts: lines.filter(({ what }) => what === 'begin').length,
    messages: lines.filter(({ what }) => what === 'sent').length,
  }
}

/** Lets a process work for a while, and then does something bad to it. */
async function trouble(
  worker: WorkerProcess,
  random: () => number,
  lifeMs: number,
  counts: { kills: number; freezes: number; stops: number },
): Promise<void> {
  await passTime(random() * lifeMs)
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

/** Starts instances as a process that runs nothing. */
async function startByClient(
  scene: Scene,
  client: Client,
  crowd: Crowd,
  how: { readonly count: number; readonly until: number; readonly random: () => number },
): Promise<void> {
  const { count, until, random } = how
  const workflows = workflowsOn(scene.ledger)
  const pauseMs = (until - performance.now()) / count
  for (const { workflow, id, input } of crowd.give('client', count, random)) {
    await passTime(random() * pauseMs)
    const code = workflows[workflow] as Workflow<unknown, unknown>
    await insist(() => client.start(code, input, { id }))
    crowd.acknowledge(id)
  }
}

/** Stops the server now and then, in one way or the other, and starts it again. */
async function restart(
  server: PostgresServer,
  how: { readonly count: number; readonly until: number; readonly random: () => number },
  counts: { restarts: number },
): Promise<void> {
  const { count, until, random } = how
  for (; counts.restarts < count; counts.restarts++) {
    const left = until - performance.now()
    await passTime((left / (count - counts.restarts)) * (0.3 + 0.5 * random()))
    await server.stop(random() < 0.5 ? 'fast' : 'immediate')
    await passTime(random() * 1_500)
    await server.start()
  }
}

// A frozen process learns of its death; one that waited for the lock of a frozen process logs that,
// too.
function isExpected(line: string): boolean {
  return /declared dead|holds the lock on the file|^\s/.test(line) || FAILS_BY_DESIGN.test(line)
}

// Programs whose failures are part of the round.
const FAILS_BY_DESIGN =
  /activity failed; giving up .*"activity":"refuse"|workflow failed .*"workflow":"fails"/

// A process that cannot reach its server logs that, and a process that is started meanwhile ends.
// That suspends no instance, and ends no loop.
function isOfServer(line: string): boolean {
  return !/suspended|worker died|handling a hint failed|handling a notification failed/.test(line)
}
