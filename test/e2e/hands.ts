// A round with four processes of different roles, tags and sessions, each killed with kill -9 at random
// moments and started again. The seed decides what is done; the operating system decides where it hits.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as passTime } from 'node:timers/promises'
import { connect, open } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { checkScene } from './check.ts'
import { keepScene } from './keep.ts'
import { type Line, note, readLedger } from './ledger.ts'
import { jobsOn, type Job, type HandsOrder, type Role, ROLES } from './programs/hands.ts'
import { randomFrom } from './random.ts'
import { openScene, type Scene, type SceneKind } from './scene.ts'
import { storeOf } from './store-place.ts'
import { LEASE_MS } from './workers.ts'

const TROUBLE_MS = 3_000
const ERRANDS = 20
const FINISH_MS = 60_000

/** How a round went. */
export interface HandsReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  readonly kills: number
  readonly attempts: number
}

/** Plays one round. */
export async function playHands(kind: SceneKind, seed: number): Promise<HandsReport> {
  await using scene = openScene(kind)
  await using client = connect(storeOf(scene.store), { log: silentLog })
  await using hands = new Hands(scene)
  const jobs = jobsOf(seed)

  const until = performance.now() + TROUBLE_MS
  const troubled = (Object.keys(ROLES) as Role[]).map(async (role, slot) => {
    const random = randomFrom(seed * 10 + slot)
    // On a busy machine a kill takes long: each is killed twice at least.
    for (let kills = 0; kills < 2 || performance.now() < until; kills++) {
      const child = hands.start(role)
      await passTime(300 + random() * 1_200)
      await hands.kill(child)
    }
  })
  const { job } = jobsOn('/dev/null')
  for (const [id, input] of jobs) {
    await client.start(job, input, { id })
    await passTime(TROUBLE_MS / ERRANDS)
  }
  await Promise.all(troubled)

  for (const role of Object.keys(ROLES) as Role[]) hands.start(role)
  const expected = await undisturbed(jobs)
  const findings: string[] = []
  await Promise.all(
    [...jobs.keys()].map(async (id) => {
      const outcome = await client
        .get(id)
        .result({ timeout: FINISH_MS })
        .catch((error: unknown) => String(error))
      note(scene.ledger, { what: 'ended', id })
      if (outcome === expected.get(id)) return
      const info = JSON.stringify(await client.get(id).info())
      findings.push(`${id}: ${String(outcome)} instead of ${expected.get(id)}; ${info}`)
    }),
  )
  const lines = readLedger(scene.ledger)
  findings.push(...(await hands.stop()), ...(await checkScene(scene, lines)))
  findings.push(...checkTags(lines, hands.roles), ...checkSessions(lines))
  const left = await scene.query('select iid, command from tasks')
  findings.push(...left.map((row) => `a task is left: ${JSON.stringify(row)}`))
  if (findings.length > 0) findings.push(`more about it: ${await keepScene(scene, seed)}`)
  return { findings, kills: hands.kills, attempts: begins(lines).length }
}

function jobsOf(seed: number): Map<string, Job> {
  const random = randomFrom(seed)
  const number = (most: number): number => Math.floor(random() * most)
  return new Map(
    Array.from({ length: ERRANDS }, (_, i) => [
      `job ${i}`,
      { seed: number(100_000), n: 1 + number(5) },
    ]),
  )
}

/** The outcomes of the same jobs in one process, undisturbed. */
async function undisturbed(jobs: ReadonlyMap<string, Job>): Promise<Map<string, number>> {
  const { job } = jobsOn('/dev/null')
  await using runtime = await open('memory:', { register: job, tags: 'any', log: silentLog })
  const outcomes = [...jobs].map(async ([id, input]): Promise<[string, number]> => [
    id,
    await runtime.run(job, input, { id }),
  ])
  return new Map(await Promise.all(outcomes))
}

type Begin = Extract<Line, { what: 'begin' | 'end' }> & { readonly session?: string }

function begins(lines: readonly Line[]): Begin[] {
  return lines.filter((line): line is Begin => line.what === 'begin')
}

/** Each activity ran in a process that serves its tag. */
function checkTags(lines: readonly Line[], roles: ReadonlyMap<number, Role>): string[] {
  const serve = { fetch: ['clerk', 'both'], print: ['printer', 'both'], stamp: ['clerk', 'both'] }
  return begins(lines).flatMap(({ pid, name, id }) => {
    const role = roles.get(pid)!
    const isServed = serve[name as keyof typeof serve].includes(role)
    return isServed ? [] : [`${id}: "${name}" ran in a process that is a ${role}`]
  })
}

/** A session that has gone to another process does not come back: it goes only when one is dead. */
function checkSessions(lines: readonly Line[]): string[] {
  const places = new Map<string, number[]>()
  for (const { session, pid } of begins(lines)) {
    if (session === undefined) continue
    const pids = places.get(session) ?? []
    if (pids.at(-1) !== pid) pids.push(pid)
    places.set(session, pids)
  }
  return [...places].flatMap(([session, pids]) =>
    new Set(pids).size === pids.length ? [] : [`session "${session}" was in ${pids.join(', ')}`],
  )
}

/** The processes of a round. */
class Hands implements AsyncDisposable {
  kills = 0
  readonly roles = new Map<number, Role>()
  readonly #scene: Scene
  readonly #running = new Set<ChildProcess>()
  #said = ''

  constructor(scene: Scene) {
    this.#scene = scene
  }

  start(role: Role): ChildProcess {
    const { store, ledger } = this.#scene
    const order: HandsOrder = { store, ledger, leaseMs: LEASE_MS, role }
    const child = spawn(process.execPath, [this.#scene.program('hands'), JSON.stringify(order)])
    this.roles.set(child.pid!, role)
    this.#running.add(child)
    child.stderr.on('data', (chunk) => (this.#said += `${role} said: ${String(chunk)}`))
    return child
  }

  async kill(child: ChildProcess): Promise<void> {
    this.kills++
    await this.#end(child, 'SIGKILL')
  }

  /** Asks all that are left to close; answers what any of them said in its life. */
  async stop(): Promise<string[]> {
    const codes = await Promise.all([...this.#running].map((child) => this.#end(child, 'SIGTERM')))
    const findings = codes
      .filter((code) => code !== 0)
      .map((code) => `a process ended with ${code}`)
    // With a short lease and a busy machine a process may be taken for dead, and says so.
    const lines = this.#said.split('\n').filter((line) => line !== '' && !isExpected(line))
    return [...findings, ...lines]
  }

  async #end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    child.kill(signal)
    const [code, endedBy] = await ended
    this.#running.delete(child)
    // One that had just been started did not listen for it yet, and had nothing to close.
    return endedBy === 'SIGTERM' ? 0 : code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.#end(child, 'SIGKILL')))
  }
}

function isExpected(line: string): boolean {
  return /declared dead|holds the lock on the file|^\s/.test(line)
}
