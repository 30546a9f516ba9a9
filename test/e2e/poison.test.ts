import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { type Client, connect } from '../../src/index.ts'
import { type Poison, type PoisonOrder, workflowsOf } from './programs/poison.ts'
import { openScene, type Scene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'

const LIMIT_MS = 60_000
// As short as it can be: with PostgreSQL each death is noticed by it.
const LEASE_MS = 1_000
const NEIGHBOURS = 4
// Five that count, and some in which only others were at work.
const MAX_DEATHS = 15

/** Starts the program again whenever it died, as a supervisor does. */
class Supervisor implements AsyncDisposable {
  /** How the lives so far ended: `SIGKILL`, an exit code, or `closed`. */
  readonly deaths: string[] = []
  errors = ''
  readonly #program: string
  readonly #order: PoisonOrder
  #child: ChildProcess | undefined
  #closing = false
  readonly #ended: Promise<void>

  constructor(scene: Scene, mended: boolean) {
    this.#program = scene.program('poison')
    this.#order = { store: scene.store, leaseMs: LEASE_MS, mended }
    this.#ended = this.#supervise()
  }

  async #supervise(): Promise<void> {
    while (!this.#closing && this.deaths.length < MAX_DEATHS) {
      this.#child = spawn(process.execPath, [this.#program, JSON.stringify(this.#order)])
      this.#child.stderr!.on('data', (chunk) => (this.errors += String(chunk)))
      const [code, signal] = (await once(this.#child, 'close')) as [number | null, string | null]
      this.deaths.push(signal ?? String(code))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true
    this.#child?.kill('SIGTERM')
    await this.#ended
  }
}

describe.each(STORES)('on %s', (store, kind) => {
  const poisons: readonly [Poison, RegExp, string][] = [
    ['activity', /^5 runtimes died while running activity "kills" \(command 2\);/, 'SIGKILL'],
    ['task', /^5 runtimes died while running activity "kills" as a task;/, 'SIGKILL'],
    ['step', /^5 runtimes died while running step "kills" \(command 2\);/, '1'],
    ['code', /^5 runtimes died while running its own code;/, '1'],
  ]

  // With PostgreSQL each death takes a lease; what is blamed is decided by the same code.
  test.concurrent.each(store === 'sqlite' ? poisons : poisons.slice(0, 2))(
    'an instance that kills its process is suspended and named, and no other is: %s',
    { timeout: LIMIT_MS },
    async (poison, report, death) => {
      await using scene = openScene(kind())
      await using client = connect(storeOf(scene.store), { log: silentLog })
      const { deadly, neighbour } = workflowsOf(true)
      const neighbours = Array.from({ length: NEIGHBOURS }, (_, n) => `neighbour ${n}`)
      for (const [n, id] of neighbours.slice(0, 2).entries())
        await client.start(neighbour, n, { id })
      await client.start(deadly, poison, { id: 'deadly' })
      for (const [n, id] of neighbours.slice(2).entries()) await client.start(neighbour, n, { id })

      {
        await using supervisor = new Supervisor(scene, false)
        const { status, error } = await untilSuspended(client, 'deadly')
        expect({ status, error }).toEqual({
          status: 'suspended',
          error: { name: 'PoisonError', message: expect.stringMatching(report) },
        })
        for (const id of neighbours) await client.get(id).result({ timeout: '20s' })
        expect(supervisor.deaths).toHaveLength(5)
        expect(new Set(supervisor.deaths)).toEqual(new Set([death]))
      }

      await client.get('deadly').resume()
      await using mended = new Supervisor(scene, true)
      expect(await client.get('deadly').result({ timeout: '20s' })).toBe('survived')
      expect(mended.deaths).toEqual([])
    },
  )
})

async function untilSuspended(client: Client, id: string) {
  for await (const info of client
    .get(id)
    .watch({ signal: AbortSignal.timeout(LIMIT_MS - 10_000) })) {
    if (info.status === 'suspended') return info
  }
  throw new Error(`${id} has ended`)
}
