import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { postgresUrl } from '../support/postgres.ts'
import type { StallOrder } from './programs/stalls.ts'
import { openScene, type Scene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'

const LIMIT_MS = 60_000
// Much shorter than a stall, and long enough for a thread to start on a busy machine.
const LEASE_MS = 2_000
const LONG_MS = 60_000
const STALLS = { leaseMs: LEASE_MS, watchdogMs: LONG_MS }
// Other runtimes need not wait for the lease of a process that gives itself up.
const HANGS = { leaseMs: LONG_MS, watchdogMs: 1_000, kill: true }
// The same, but the process is left alone.
const BLOCKS = { leaseMs: LONG_MS, watchdogMs: 1_000 }
// Ticks often.
const TAKES_OVER = STALLS

/** A process whose event loop is blocked at times. */
class StallingProcess implements AsyncDisposable {
  /** What it said on stdout. */
  readonly lines: string[] = []
  /** What it wrote to stderr. */
  errors = ''
  readonly ended: Promise<{ code: number | null; signal: string | null }>
  readonly #child: ChildProcess

  constructor(scene: Scene, order: Omit<StallOrder, 'store'>) {
    const whole: StallOrder = { store: scene.store, ...order }
    this.#child = spawn(process.execPath, [scene.program('stalls'), JSON.stringify(whole)])
    let rest = ''
    this.#child.stdout!.on('data', (chunk) => {
      const [...lines] = (rest + String(chunk)).split('\n')
      rest = lines.pop()!
      this.lines.push(...lines)
    })
    this.#child.stderr!.on('data', (chunk) => (this.errors += String(chunk)))
    this.ended = once(this.#child, 'close').then(([code, signal]) => ({ code, signal }))
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async said(line: string): Promise<void> {
    await until(() => this.lines.includes(line))
  }

  /** Activities that it began. */
  get did(): string[] {
    return this.lines.flatMap((line) => (line.startsWith('did ') ? [line.slice(4)] : [])).toSorted()
  }

  close(): Promise<unknown> {
    this.#child.kill('SIGTERM')
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }
}

// They mostly wait for leases and watchdogs. Not more of them: an endless loop takes a whole core.
vi.setConfig({ maxConcurrency: 2 })

describe.concurrent.each(STORES)('on %s', (_, kind) => {
  test(
    'a loop that is blocked for three leases loses nothing',
    async () => {
      await using scene = openScene(kind())
      await using other = new StallingProcess(scene, { ...TAKES_OVER, starts: [] })
      await other.said('ready')
      await using stalled = new StallingProcess(scene, { ...STALLS, starts: ['waits', 'stalls'] })

      await Promise.all([endOf(scene, 'stalls'), endOf(scene, 'waits')])

      expect(stalled.did).toEqual(['after', 'before', 'stall', 'wait', 'waited'])
      expect(other.did).toEqual([])
      expect(stalled.errors).toBe('')
      expect(await runtimeStates(scene)).toEqual(['alive', 'alive'])
      expect(await Promise.all([stalled.close(), other.close()])).toEqual([ENDED, ENDED])
    },
    LIMIT_MS,
  )

  test(
    'a blocked loop is reported and its work taken over, and its process continues',
    async () => {
      await using scene = openScene(kind())
      const starts = ['neighbour', 'stalls'] as const
      await using blocked = new StallingProcess(scene, { ...BLOCKS, starts })
      await blocked.said('did stall')
      await using other = new StallingProcess(scene, { ...TAKES_OVER, starts: [] })

      await endOf(scene, 'neighbour')
      const isAlive = !blocked.hasEnded
      await endOf(scene, 'stalls')

      expect(isAlive).toBe(true)
      expect(other.did).toContain('second')
      const said =
        /activity "stall" of instance "stalls" of workflow "stalls" 1.0.0 has blocked the event/
      expect(blocked.errors).toMatch(said)
      expect(blocked.errors).toContain('; other runtimes take over its work\n')
      await until(() => blocked.errors.includes('; other runtimes take over its work instanceId='))
      expect(blocked.errors).toMatch(
        /event loop blocked for too long; .* instanceId="stalls" workflow="stalls" activity="stall" blockedMs=\d{4}\n/,
      )
      expect(await blocked.close()).toEqual(ENDED)
    },
    LIMIT_MS,
  )

  test(
    'an instance that blocks event loops repeatedly is suspended, while all processes continue',
    async () => {
      await using scene = openScene(kind())
      const times = { ...BLOCKS, leaseMs: LEASE_MS }
      await using first = new StallingProcess(scene, { ...times, starts: ['stallsAlways'] })
      await using second = new StallingProcess(scene, { ...times, starts: [] })
      await using client = connect(storeOf(scene.store), { log: silentLog })

      await until(async () => (await client.get('stallsAlways').info())?.status === 'suspended')

      const { error } = (await client.get('stallsAlways').info())!
      expect(error).toMatchObject({ name: 'PoisonError' })
      expect(await Promise.all([first.close(), second.close()])).toEqual([ENDED, ENDED])
    },
    LIMIT_MS,
  )

  test.each([
    ['loops', /^instance "loops" of workflow "loops" 1.0.0 has blocked the event loop for \d s/],
    [
      'loopsSoftly',
      /^instance "loopsSoftly" of workflow "loopsSoftly" 1.0.0 has blocked the event loop for/,
    ],
    [
      'runsLoop',
      /^activity "spin" of instance "runsLoop" of workflow "runsLoop" 1.0.0 has blocked the event loop for/,
    ],
  ] as const)(
    'with kill, an endless loop ends its process, and only its instance is suspended: %s',
    async (name, report) => {
      await using scene = openScene(kind())
      const starts = ['neighbour', name] as const
      await using hung = new StallingProcess(scene, { ...HANGS, starts })
      await using other = new StallingProcess(scene, { ...TAKES_OVER, starts: [] })

      expect(await hung.ended).toEqual(KILLED)
      await endOf(scene, 'neighbour')

      await using client = connect(storeOf(scene.store), { log: silentLog })
      const { status, error } = (await client.get(name).info())!
      expect({ status, error }).toEqual({
        status: 'suspended',
        error: { name: 'Error', message: expect.stringMatching(report) },
      })
      expect(hung.errors).toMatch(/holdfast warn: .*\n.*holdfast error: .*; ending this process\n$/)
      expect(hung.errors.split('\n')).toHaveLength(3)
      expect(hung.did.filter((what) => what !== 'loop')).toEqual(['first'])
      expect(other.did).toEqual(['second'])
    },
    LIMIT_MS,
  )

  test(
    'with kill, an instance that loops in its first turn is suspended, and may be started again',
    async () => {
      await using scene = openScene(kind())
      await using hung = new StallingProcess(scene, { ...HANGS, starts: ['loopsAtOnce'] })

      expect(await hung.ended).toEqual(KILLED)
      const starts = ['loopsAtOnce', 'neighbour'] as const
      await using next = new StallingProcess(scene, { ...HANGS, starts })
      await endOf(scene, 'neighbour')

      expect(next.did).toEqual(['first', 'second'])
      await using client = connect(storeOf(scene.store), { log: silentLog })
      const report =
        /^instance "loopsAtOnce" of workflow "loopsAtOnce" 1.0.0 has blocked the event loop/
      expect(await client.get('loopsAtOnce').info()).toMatchObject({
        status: 'suspended',
        error: { message: expect.stringMatching(report) },
      })
    },
    LIMIT_MS,
  )

  test(
    'with kill, a task that loops ends its process, and no other process claims it',
    async () => {
      await using scene = openScene(kind())
      await using owner = new StallingProcess(scene, { ...STALLS, starts: ['runsFarLoop'] })
      const times = { ...HANGS, leaseMs: LEASE_MS }
      await using hung = new StallingProcess(scene, { ...times, starts: [], tags: ['far'] })

      expect(await hung.ended).toEqual(KILLED)
      const starts = ['neighbour'] as const
      await using next = new StallingProcess(scene, { ...TAKES_OVER, starts, tags: ['far'] })
      await endOf(scene, 'neighbour')

      expect([owner.did, hung.did, next.did]).toEqual([[], ['spin'], ['first', 'second']])
      await using client = connect(storeOf(scene.store), { log: silentLog })
      expect(await client.get('runsFarLoop').info()).toMatchObject({
        status: 'suspended',
        error: { message: expect.stringMatching(/^activity "spin-far-away" of instance "runsFar/) },
      })
    },
    LIMIT_MS,
  )

  test(
    'with kill, a loop blocked by unknown code ends the process, and others take over its work',
    async () => {
      await using scene = openScene(kind())
      const starts = ['neighbour'] as const
      await using hung = new StallingProcess(scene, { ...HANGS, starts, hangs: true })
      await using other = new StallingProcess(scene, { ...TAKES_OVER, starts: [] })

      expect(await hung.ended).toEqual(KILLED)
      await endOf(scene, 'neighbour')

      expect(hung.errors).toMatch(/the event loop has been blocked for \d s/)
      expect(other.did).toContain('second')
    },
    LIMIT_MS,
  )
})

test.concurrent(
  'on postgres a lease is renewed over another connection when that of the thread is cut',
  async () => {
    await using scene = openScene({ kind: 'postgres', url: postgresUrl() })
    await using other = new StallingProcess(scene, { ...TAKES_OVER, starts: [] })
    await other.said('ready')
    await using stalled = new StallingProcess(scene, { ...STALLS, starts: ['stalls'] })
    await stalled.said('did stall')

    await until(async () => (await scene.query(LEASES)).length === 2)
    await scene.query(`select pg_terminate_backend(pid) from (${LEASES}) as lease`)
    await endOf(scene, 'stalls')

    expect(stalled.did).toEqual(['after', 'before', 'stall'])
    expect(other.did).toEqual([])
    expect(await runtimeStates(scene)).toEqual(['alive', 'alive'])
  },
  LIMIT_MS,
)

// How a process ends that does so by itself, and one that was given up.
const ENDED = { code: 0, signal: null }
const KILLED = { code: null, signal: 'SIGKILL' }

// What the server has for the threads of this scene.
const LEASES = `
select pid from pg_stat_activity
where application_name = 'holdfast lease' and query like '%' || current_schema() || '%'`

async function runtimeStates(scene: Scene): Promise<string[]> {
  const rows = await scene.query('select state from runtimes')
  return rows.map(({ state }) => (state === 1 ? 'alive' : String(state)))
}

async function endOf(scene: Scene, id: string): Promise<void> {
  await until(async () => {
    const [row] = await scene.query(`select * from instances where id = '${id}'`).catch(() => [])
    return row !== undefined
  })
  await using client = connect(storeOf(scene.store), { log: silentLog })
  await client.get(id).result({ timeout: '30s' })
}

async function until<T>(ask: () => T | false | Promise<T | false>): Promise<T> {
  for (const limitMs = performance.now() + 30_000; ; await passTime(20)) {
    const answer = await ask()
    if (answer !== false) return answer
    if (performance.now() > limitMs) throw new Error(`waited in vain for ${String(ask)}`)
  }
}
