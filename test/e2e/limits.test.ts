import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { CONCURRENCY, limitedOn, type Noted, RATE, readNotes } from './programs/limits.ts'
import { randomFrom } from './random.ts'
import { openScene, type Scene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'
import { LEASE_MS } from './workers.ts'

const TROUBLE_MS = 4_000
const KEYS = ['a', 'b', 'c']
const COUNTED = 60
const RATED = 12

describe.concurrent.each(STORES)('on %s', (_, kind) => {
  test('no limit is exceeded, and nothing waits forever, while processes are killed with kill -9', async () => {
    await using scene = openScene(kind())
    await using client = connect(storeOf(scene.store), { log: silentLog })
    const { counted, rated } = limitedOn(scene.ledger)
    await using crowd = new Crowd(scene)
    crowd.start()
    const ids: string[] = []
    for (let i = 0; i < COUNTED; i++) {
      const id = `counted-${i}`
      const input = { id, key: KEYS[i % KEYS.length]!, ms: (i * 7) % 40 }
      await client.start(counted, input, { id, priority: i % 3 })
      ids.push(id)
    }
    const since = Date.now()
    for (let i = 0; i < RATED; i++) {
      const id = `rated-${i}`
      await client.start(rated, { id, key: '', ms: 1 }, { id })
      ids.push(id)
    }

    const until = performance.now() + TROUBLE_MS
    await Promise.all(
      [1, 2, 3].map(async (slot) => {
        const random = randomFrom(slot)
        while (performance.now() < until) {
          const child = crowd.start()
          await passTime(400 + random() * 900)
          await crowd.kill(child)
        }
      }),
    )
    crowd.start()
    crowd.start()
    const results = ids.map((id) => client.get(id).result({ timeout: '60s' }))

    expect(await Promise.all(results)).toEqual(ids)
    const lines = readNotes(scene.ledger)
    expect(mostAtOnce(lines)).toBeLessThanOrEqual(CONCURRENCY)
    expect(beyondRate(lines, since)).toEqual([])
    expect(await scene.query('select count(*) as count from admissions')).toMatchObject([
      { count: expect.toSatisfy((count: unknown) => Number(count) === 0) as unknown },
    ])
  }, 120_000)
})

/** How many of one key had begun and not ended, at the most. */
function mostAtOnce(lines: readonly Noted[]): number {
  const noted = lines.filter(({ name }) => name === 'counted')
  const lastEnds = new Map<string, number>()
  for (const [i, { what, id }] of noted.entries()) if (what === 'end') lastEnds.set(id, i)
  const running = new Map<string, Set<string>>()
  let most = 0
  for (const [i, { what, id, key }] of noted.entries()) {
    const own = running.get(key) ?? new Set()
    running.set(key, own)
    if (what === 'begin') own.add(id)
    else if (lastEnds.get(id) === i) own.delete(id)
    most = Math.max(most, own.size)
  }
  return most
}

/** Those that began earlier than the rate allows, if the first was admitted at once. */
function beyondRate(lines: readonly Noted[], since: number): string[] {
  const began = new Map<string, number>()
  for (const { what, id, name, at } of lines) {
    if (name === 'rated' && what === 'begin' && !began.has(id)) began.set(id, at)
  }
  const times = [...began].toSorted(([, a], [, b]) => a - b)
  const share = RATE.perMs / RATE.count
  return times
    .map(([id, at], i) => ({ id, at: at - since, earliest: (i + 1 - RATE.count) * share }))
    .filter(({ at, earliest }) => at < earliest)
    .map(({ id, at, earliest }) => `${id} began after ${at} ms, ${earliest} ms at the earliest`)
}

/** Processes that run the workflows. */
class Crowd implements AsyncDisposable {
  readonly #scene: Scene
  readonly #children = new Set<ChildProcess>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  start(): ChildProcess {
    const { store, ledger } = this.#scene
    const order = JSON.stringify({ store, ledger, leaseMs: LEASE_MS })
    const child = spawn(process.execPath, [this.#scene.program('limits'), order], {
      stdio: 'ignore',
    })
    this.#children.add(child)
    return child
  }

  async kill(child: ChildProcess): Promise<void> {
    const ended = child.exitCode === null && child.signalCode === null && once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    this.#children.delete(child)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.kill(child)))
  }
}
