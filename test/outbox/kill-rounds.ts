// Rounds in which producers and consumers are real processes that are killed with kill -9, or stopped for a
// while, at random; and a checker of what they left. The seed decides what is done; the operating system
// decides where it hits.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as passTime } from 'node:timers/promises'
import { Client as PgClient } from 'pg'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { outbox } from '../../src/outbox/index.ts'
import { randomFrom } from '../e2e/random.ts'
import { storeOf, type StorePlace } from '../e2e/store-place.ts'
import { fastFolder } from '../support/postgres-server.ts'
import { writeProgram } from '../support/write-program.ts'
import { openHandle } from '../transactions/sqlite-handle.ts'
import { handlePosts, type Post, type PostOrder, tablesOf } from './programs/post.ts'

const SLOTS = ['producer', 'producer', 'consumer', 'consumer', 'consumer'] as const
const ROUND_MS = 3_000
// On a busy machine it takes longer until there was something to lose.
const ENOUGH = 30
const MAX_ROUND_MS = 60_000
const FINISH_MS = 30_000

/** How a round went. */
export interface KillReport {
  /** What must not be and was; empty when all is well. */
  readonly findings: readonly string[]
  readonly sent: number
  readonly kills: number
  readonly stops: number
}

/** Where a round is played: a file, or a schema of the database at `url`. */
export type KillPlace =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'postgres'; readonly url: string }

/** Plays one round. */
export async function playKills(where: KillPlace, seed: number): Promise<KillReport> {
  const folder = mkdtempSync(join(fastFolder(), 'holdfast-outbox-'))
  const place: StorePlace =
    where.kind === 'sqlite'
      ? { kind: 'sqlite', path: join(folder, 'store.db') }
      : { kind: 'postgres', url: where.url, schema: `kills_${randomBytes(6).toString('hex')}` }
  const round = new Round(place, folder, seed)
  try {
    return await round.play()
  } finally {
    await round.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

class Round {
  readonly #place: StorePlace
  readonly #program: string
  readonly #ledger: string
  readonly #seed: number
  readonly #running = new Set<ChildProcess>()
  #sql!: (text: string) => Promise<Record<string, unknown>[]>
  #close: () => Promise<void> = async () => {}
  readonly #faults: string[] = []
  #kills = 0
  #stops = 0
  #started = 0

  constructor(place: StorePlace, folder: string, seed: number) {
    this.#place = place
    this.#program = writeProgram(folder, join(import.meta.dirname, 'programs/post.ts'))
    this.#ledger = join(folder, 'ledger')
    this.#seed = seed
  }

  async play(): Promise<KillReport> {
    await this.#prepare()
    const beganMs = performance.now()
    const isOver = async (): Promise<boolean> => {
      const tookMs = performance.now() - beganMs
      return tookMs > ROUND_MS && (tookMs > MAX_ROUND_MS || (await this.#sent()).length > ENOUGH)
    }
    await Promise.all(
      SLOTS.map(async (role, slot) => {
        const random = randomFrom(this.#seed * 10 + slot)
        while (!(await isOver())) await this.#live(role, random)
      }),
    )
    await this.#finish()
    const findings = [...this.#faults, ...(await this.#check()), ...(await this.#checkCalled())]
    const sent = (await this.#sent()).length
    return { findings, sent, kills: this.#kills, stops: this.#stops }
  }

  async end(): Promise<void> {
    for (const child of this.#running) await this.#kill(child)
    await this.#close()
  }

  /** Creates the tables, of the store first. */
  async #prepare(): Promise<void> {
    const place = this.#place
    const client = connect(storeOf(place), { log: silentLog })
    await outbox(client).start()
    await client.close()
    if (place.kind === 'postgres') {
      const sql = new PgClient({ connectionString: place.url })
      await sql.connect()
      await sql.query(`set search_path to "${place.schema}"`)
      let last: Promise<unknown> = Promise.resolve()
      this.#sql = async (text) => {
        const next = last.then(() => sql.query(text))
        last = next.catch(() => {})
        return (await next).rows as Record<string, unknown>[]
      }
      this.#close = async () => {
        await sql.query(`drop schema "${place.schema}" cascade`)
        await sql.end()
      }
    } else {
      const handle = openHandle(place.path)
      handle.exec('pragma busy_timeout = 5000')
      this.#sql = async (text) => {
        if (text.startsWith('select'))
          return handle.prepare(text).all() as Record<string, unknown>[]
        handle.exec(text)
        return []
      }
      this.#close = async () => void handle.close()
    }
    const number =
      place.kind === 'postgres'
        ? 'bigint generated always as identity primary key'
        : 'integer primary key autoincrement'
    await this.#sql('create table sent (key text not null, n integer not null)')
    // Nothing is unique: whatever is there twice must be seen.
    await this.#sql(
      `create table got (
         number ${number}, key text not null, n integer not null, partition integer not null,
         seq integer not null
       )`,
    )
  }

  /** The life of one process. */
  async #live(role: PostOrder['role'], random: () => number): Promise<void> {
    const child = this.#start(role)
    await Promise.race([once(createInterface(child.stdout!), 'line'), once(child, 'close')])
    await passTime(100 + random() * 500)
    if (role === 'consumer' && random() < 0.3) {
      this.#stops++
      child.kill('SIGSTOP')
      await this.#expire(child.pid!)
      await passTime(50 + random() * 300)
      child.kill('SIGCONT')
      await passTime(random() * 200)
    }
    this.#kills++
    await this.#kill(child)
  }

  #start(role: PostOrder['role']): ChildProcess {
    const number = ++this.#started
    const order: PostOrder = {
      store: this.#place,
      role,
      ledger: this.#ledger,
      name: `p${number}`,
      seed: this.#seed * 1_000 + number,
    }
    const child = spawn(process.execPath, [this.#program, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#running.add(child)
    return child
  }

  async #kill(child: ChildProcess): Promise<void> {
    this.#running.delete(child)
    if (child.exitCode !== null) this.#faults.push(`a process ended with ${child.exitCode}`)
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    }
    await this.#expire(child.pid!)
  }

  /**
   * As if the process had been silent for the time of its lease. On SQLite nobody can write while a process is
   * stopped that has locked the file: it keeps its lease then.
   */
  async #expire(pid: number): Promise<void> {
    const past = Date.now() - 1
    await this.#sql(
      `update runtimes set lease_until = ${past} where info like '% ${pid} %' and lease_until > ${past}`,
    ).catch((error: Error) => {
      if (error.message !== 'database is locked') throw error
    })
  }

  /** Delivers what is left, undisturbed. */
  async #finish(): Promise<void> {
    const untilMs = performance.now() + FINISH_MS
    for (let isDrained = false; !isDrained;) {
      const client = connect(storeOf(this.#place), { log: silentLog })
      const box = outbox(client)
      handlePosts(box, tablesOf(this.#place), this.#ledger)
      isDrained = await box.drain({ timeout: '5s' }).then(
        () => true,
        () => false,
      )
      await box.stop({ within: '5s' })
      await client.close()
      if (!isDrained && performance.now() > untilMs) throw new Error('messages are left')
    }
  }

  async #sent(): Promise<Post[]> {
    return (await this.#sql('select key, n from sent')) as unknown as Post[]
  }

  /** Of transactional handlers: everything once, in order, with numbers that have no gaps. */
  async #check(): Promise<string[]> {
    const findings: string[] = []
    const got = (await this.#sql(
      'select key, n, partition, seq from got order by number',
    )) as unknown as (Post & { readonly partition: number; readonly seq: number })[]
    const sent = new Set((await this.#sent()).map(({ key, n }) => `${key} ${n}`))
    const seen = new Set<string>()
    const last = new Map<string, number>()
    const lastSeq = new Map<number, number>()
    for (const { key, n, partition, seq } of got) {
      const post = `${key} ${n}`
      if (seen.has(post)) findings.push(`booked twice: ${post}`)
      if (!sent.has(post)) findings.push(`booked, but never sent: ${post}`)
      seen.add(post)
      const before = last.get(key) ?? 0
      if (n !== before + 1) findings.push(`booked out of order: ${post} after ${before}`)
      last.set(key, n)
      const seqBefore = lastSeq.get(partition) ?? 0
      if (seq !== seqBefore + 1) {
        findings.push(`number ${seq} after ${seqBefore} in partition ${partition}`)
      }
      lastSeq.set(partition, seq)
    }
    for (const post of sent) if (!seen.has(post)) findings.push(`never booked: ${post}`)
    return findings
  }

  /** Of the others: everything at least once, and for the first time in order. */
  async #checkCalled(): Promise<string[]> {
    const findings: string[] = []
    const lines = existsSync(this.#ledger) ? readFileSync(this.#ledger, 'utf8').split('\n') : []
    const sent = new Set((await this.#sent()).map(({ key, n }) => `${key} ${n}`))
    const seen = new Set(lines.filter((line) => line !== ''))
    const last = new Map<string, number>()
    for (const post of seen) {
      const [key, n] = post.split(' ') as [string, string]
      if (!sent.has(post)) findings.push(`called, but never sent: ${post}`)
      const before = last.get(key) ?? 0
      if (Number(n) !== before + 1) findings.push(`called out of order: ${post} after ${before}`)
      last.set(key, Number(n))
    }
    for (const post of sent) if (!seen.has(post)) findings.push(`never called: ${post}`)
    return findings
  }
}
