// A failover: a primary with a streaming standby, worker processes that reach them by one address, and
// a `kill -9` of the primary under load. The address leads to the standby first, then it is promoted.
//
//   Synchronous: nothing that was acknowledged is lost.
//   Asynchronous: what the standby never got is lost, and this test makes sure that there is some.
//   Nothing hangs, nothing contradicts the new history, and whatever the client sends again ends.

import { setTimeout as passTime } from 'node:timers/promises'
import { silentLog } from '../../src/base/log.ts'
import { type Client, connect, type Workflow } from '../../src/index.ts'
import { insist } from '../e2e/attend.ts'
import { checkScene } from '../e2e/check.ts'
import { Crowd } from '../e2e/crowd.ts'
import { keepScene } from '../e2e/keep.ts'
import { type Line, placeOf, readLedger } from '../e2e/ledger.ts'
import { commandsOf, readInstances } from '../e2e/recorded-instance.ts'
import { compareOutcomes, undisturbed, untilEmpty } from '../e2e/outcomes.ts'
import { JOBS, type Start, workflowsOn } from '../e2e/programs/workflows.ts'
import { randomFrom } from '../e2e/random.ts'
import { openScene, type Scene } from '../e2e/scene.ts'
import { storeOf } from '../e2e/store-place.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { until } from './stage.ts'
import { ask, killServer, portOf, startStandby } from './standby.ts'
import { makeSwitch } from './switch.ts'

/** How the standby follows. */
export type Following = 'synchronous' | 'asynchronous'

/** How a failover is played. */
export interface FailoverSize {
  readonly processes: number
  /** How long there is load before the primary is killed. */
  readonly loadMs: number
  /** For how much of that an asynchronous standby gets nothing. */
  readonly lagMs: number
  readonly startEveryMs: number
}

/** One that fits into the tests. */
export const SHORT: FailoverSize = { processes: 2, loadMs: 3_000, lagMs: 1_200, startEveryMs: 50 }
/** A longer one. */
export const LONG: FailoverSize = { processes: 4, loadMs: 20_000, lagMs: 3_000, startEveryMs: 25 }

/** How it went. */
export interface FailoverReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  /** Starts that were acknowledged before the primary was killed. */
  readonly acknowledged: number
  /** Those of them that the new primary does not have. */
  readonly lost: number
  /** All that had to end, and did. */
  readonly instances: number
  /** From the promotion until an instance that was started then had ended. */
  readonly againMs: number
}

// A question that was asked and lost is waited for too long.
const REPEATABLE_JOBS = JOBS.filter((name) => name !== 'desk')
// Said by a process that has noticed.
const NOTICED = /database (failover detected|server restarted or replaced)/
// The standby, not yet promoted, answers and refuses for this long.
const STANDBY_MS = 1_000

/** Plays one failover. */
export async function playFailover(
  following: Following,
  seed: number,
  size = SHORT,
): Promise<FailoverReport> {
  const primary = await startPostgres(['wal_keep_size=512MB'])
  let standby: Awaited<ReturnType<typeof startStandby>> | undefined
  try {
    standby = await startStandby(primary)
    await using address = await makeSwitch()
    const from = portOf(primary.url)
    if (following === 'synchronous') {
      await ask(from, `alter system set synchronous_standby_names to '*'`)
      await ask(from, 'select pg_reload_conf()')
    }
    address.lead(from)
    const url = `postgres://holdfast@127.0.0.1:${address.port}/postgres`
    await using scene = openScene({ kind: 'postgres', url })
    return await failOver(scene, { following, seed, size, from, standby, primary, address })
  } finally {
    await standby?.remove()
    await primary.remove()
  }
}

interface Setting {
  readonly following: Following
  readonly seed: number
  readonly size: FailoverSize
  readonly from: number
  readonly primary: Awaited<ReturnType<typeof startPostgres>>
  readonly standby: Awaited<ReturnType<typeof startStandby>>
  readonly address: Awaited<ReturnType<typeof makeSwitch>>
}

async function failOver(scene: Scene, setting: Setting): Promise<FailoverReport> {
  const { following, seed, size, from, primary, standby, address } = setting
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const crowd = new Crowd(scene, client, seed, REPEATABLE_JOBS)
  const workers = Array.from({ length: size.processes }, () => scene.workers.start())
  await Promise.all(workers.map(({ ready }) => ready))

  const over = new AbortController()
  const load = startInstances(client, crowd, size.startEveryMs, seed, over.signal)
  const lagMs = following === 'asynchronous' ? size.lagMs : 0
  await passTime(size.loadMs - lagMs)
  if (lagMs > 0) {
    const [sender] = await ask(from, 'select pid from pg_stat_replication')
    process.kill(Number(sender!['pid']), 'SIGSTOP')
    await passTime(lagMs)
  }
  const acknowledged = new Set(crowd.acknowledged)
  await killServer(primary)
  address.lead(standby.port)
  await passTime(STANDBY_MS)
  await standby.promote()
  const promotedMs = performance.now()
  const kept = new Set((await scene.query('select id from instances')).map(({ id }) => String(id)))
  const lost = [...acknowledged].filter((id) => !kept.has(id))
  const { steps } = workflowsOn('/dev/null')
  await insist(() => client.run(steps, { seed: 1, n: 2 }, { id: 'again', timeout: 40_000 }))
  const againMs = performance.now() - promotedMs
  // From then on, no process relies on what the new server does not have.
  await until(() => workers.every(({ log }) => NOTICED.test(log)))
  const noticed = readLedger(scene.ledger).length
  over.abort()
  await load

  const findings: string[] = []
  const isCut = following === 'asynchronous'
  const all = isCut ? await sendAgain(scene, client, crowd.given, seed) : crowd
  findings.push(...(await outcomes(scene, client, all, isCut)))
  if (!isCut) findings.push(...(await crowd.attended()))
  await untilEmpty(scene)
  for (const worker of workers) {
    const code = await worker.stop()
    if (code !== 0) findings.push(`a process ended with ${code}: ${worker.log}`)
  }
  const lines = readLedger(scene.ledger)
  findings.push(...(await checkScene(scene, isCut ? await after(scene, lines, noticed) : lines)))
  if (!isCut) findings.push(...lost.map((id) => `${id}: was acknowledged and is lost`))
  else if (lost.length === 0) findings.push('nothing was lost, so nothing was tried')
  if (findings.length > 0) findings.push(`more about it: ${await keepScene(scene, seed)}`)
  return {
    findings,
    acknowledged: acknowledged.size,
    lost: lost.length,
    instances: all.acknowledged.size,
    againMs,
  }
}

/** Starts one instance after the other, whatever becomes of the server meanwhile. */
async function startInstances(
  client: Client,
  crowd: Crowd,
  everyMs: number,
  seed: number,
  over: AbortSignal,
): Promise<void> {
  const random = randomFrom(seed)
  const starting: Promise<void>[] = []
  for (let i = 0; !over.aborted; i++) {
    const [start] = crowd.give(String(i), 1, random)
    const started = startOne(client, crowd, start!)
    // Awaited below; without this, an earlier error would leave its rejection unhandled.
    started.catch(() => {})
    starting.push(started)
    await passTime(everyMs)
  }
  await Promise.all(starting)
}

async function startOne(
  client: Client,
  crowd: Crowd,
  { workflow, id, input }: Start,
): Promise<void> {
  const code = workflowsOn('/dev/null')[workflow] as Workflow<unknown, unknown>
  await insist(() => client.start(code, input, { id }))
  crowd.acknowledge(id)
}

/** As a client that does not know what was lost: all starts, and all messages to them. */
async function sendAgain(
  scene: Scene,
  client: Client,
  starts: readonly Start[],
  seed: number,
): Promise<Crowd> {
  const crowd = new Crowd(scene, client, seed + 1, REPEATABLE_JOBS)
  crowd.given.push(...starts)
  await Promise.all(starts.map((start) => startOne(client, crowd, start)))
  return crowd
}

/** Compares how all ended. */
async function outcomes(
  scene: Scene,
  client: Client,
  crowd: Crowd,
  isCut: boolean,
): Promise<string[]> {
  const expected = undisturbed(crowd.given)
  const findings = await compareOutcomes(scene, client, crowd.acknowledged, expected)
  return isCut ? findings.filter((finding) => !isOtherOrder(finding)) : findings
}

/** Whether all messages came, and only in another order: what is sent again comes later than it did. */
function isOtherOrder(finding: string): boolean {
  const [outcome, wanted] = finding.replace(/^\S+: /, '').split(', but should be ')
  return finding.startsWith('collect-') && messagesOf(outcome) === messagesOf(wanted)
}

function messagesOf(outcome = ''): string {
  return (outcome.match(/"[^"]*"/g) ?? []).toSorted().join()
}

/**
 * The lines of the ledger that the new history has to account for: all since every process noticed,
 * and the ends before that which it has recorded.
 */
async function after(scene: Scene, lines: readonly Line[], noticed: number): Promise<Line[]> {
  const lives = await readInstances(scene)
  const recorded = new Map(lives.map((life) => [life.row.id, commandsOf(life)]))
  return lines.filter((line, i) => {
    if (i >= noticed || (line.what !== 'begin' && line.what !== 'end')) return true
    const command = recorded.get(line.id)?.get(placeOf(line.key))?.command
    return (
      line.what === 'end' &&
      command !== undefined &&
      'name' in command &&
      command.name === line.name
    )
  })
}
