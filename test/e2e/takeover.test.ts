import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { checkScene } from './check.ts'
import { type Line, note, readLedger } from './ledger.ts'
import { workflowsOn } from './programs/workflows.ts'
import { openScene, type Scene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'
import { LEASE_MS, TICK_MS, type WorkerProcess } from './workers.ts'

// On a machine that runs all tests at once a process gets its turn late.
const SLACK_MS = 2_000
const LIMIT_MS = 60_000

// They mostly wait for leases to end, so they wait together.
describe.concurrent.each(STORES)('on %s', (_, kind) => {
  test.each<[string, (owner: WorkerProcess, scene: Scene) => unknown]>([
    ['was killed with kill -9', (owner) => owner.kill()],
    ['was frozen with SIGSTOP', freezeAtRest],
    ['ended without closing', (owner) => owner.exit()],
  ])(
    'another process takes over within lease and tick from one that %s',
    { timeout: LIMIT_MS },
    async (_what, harm) => {
      await using scene = openScene(kind())
      const next = scene.workers.start()
      await next.ready
      const hang = { workflow: 'hang', id: 'hang', input: -1 } as const
      const owner = scene.workers.start({ starts: [hang] })
      await until(() => begins(scene).length > 0)

      await harm(owner, scene)
      const harmedMs = performance.now()
      await until(() => begins(scene).some(({ pid }) => pid === next.pid))

      expect(performance.now() - harmedMs).toBeLessThan(LEASE_MS + TICK_MS + SLACK_MS)
      expect(await resultOf(scene, 'hang')).toBe(owner.pid)
      expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
    },
  )

  test(
    'a process that continues after a takeover disturbs nothing and keeps working',
    async () => {
      await using scene = openScene(kind())
      const hang = { workflow: 'hang', id: 'hang', input: -1 } as const
      const slept = scene.workers.start({ starts: [hang] })
      await until(() => begins(scene).length > 0)
      const other = scene.workers.start()
      await freezeAtRest(slept, scene)
      expect(await resultOf(scene, 'hang')).toBe(slept.pid)

      slept.thaw()
      await until(() => slept.log.includes('declared dead'))
      await other.kill()
      await using client = connect(storeOf(scene.store), { log: silentLog })
      const { steps } = workflowsOn(scene.ledger)
      const result = await client.run(steps, { seed: 1, n: 3 }, { id: 'later', timeout: '10s' })

      expect(result).toEqual([1, 2, 3])
      note(scene.ledger, { what: 'ended', id: 'later' })
      expect(begins(scene).filter(({ id }) => id === 'later')).toMatchObject(
        [1, 2, 3].map(() => ({ pid: slept.pid })),
      )
      expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'two processes share the work of one store, and nothing is done twice',
    async () => {
      await using scene = openScene(kind())
      const both = [scene.workers.start({ instances: 4 }), scene.workers.start({ instances: 4 })]
      await Promise.all(both.map(({ ready }) => ready))
      await using client = connect(storeOf(scene.store), { log: silentLog })
      const { sequence } = workflowsOn(scene.ledger)

      const runs = Array.from({ length: 40 }, async (_unused, i) => {
        const id = `sequence-${i}`
        await client.run(sequence, { seed: i, n: 4 }, { id, timeout: '40s' })
        note(scene.ledger, { what: 'ended', id })
      })
      await Promise.all(runs)

      const done = begins(scene)
      expect(new Set(done.map(({ pid }) => pid))).toEqual(new Set(both.map(({ pid }) => pid)))
      expect(done).toHaveLength(160)
      expect(new Set(done.map(({ key }) => key)).size).toBe(160)
      expect(await Promise.all(both.map((worker) => worker.stop()))).toEqual([0, 0])
      expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
    },
    LIMIT_MS,
  )

  test.each<[string, (owner: WorkerProcess) => unknown, number]>([
    // It hands over at once: no runtime waits for its lease.
    ['closed', (owner) => owner.stop(), 60_000],
    ['was killed', (owner) => owner.kill(), LEASE_MS],
  ])(
    'a sleep that began in a process that %s ends in another',
    { timeout: LIMIT_MS },
    async (_what, end, leaseMs) => {
      await using scene = openScene(kind())
      const next = scene.workers.start()
      await next.ready
      // Too short to be released, too long to be over when it is taken over.
      const starts = [{ workflow: 'nap', id: 'nap', input: { seed: 2_000, n: 1 } }] as const
      const first = scene.workers.start({ starts, leaseMs })
      await using client = connect(storeOf(scene.store), { log: silentLog })
      await until(async () => {
        const info = await client.get('nap').info()
        return info?.waitingFor[0]?.startsWith('timer') === true
      })

      await end(first)

      expect(await resultOf(scene, 'nap')).toBe(2_001)
      expect(ends(scene)).toMatchObject([{ pid: first.pid }, { pid: next.pid }])
      expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
    },
  )

  test(
    'a process killed while it opens the store leaves one that others can open',
    async () => {
      await using scene = openScene(kind())

      for (let round = 0; round < 5; round++) {
        const two = [scene.workers.start(), scene.workers.start()]
        await Promise.all(two.map(({ loaded }) => loaded))
        await passTime(Math.random() * 200)
        await Promise.all(two.map((worker) => worker.kill()))
      }
      const starts = [{ workflow: 'steps', id: 'steps', input: { seed: 2, n: 3 } }] as const
      scene.workers.start({ starts })
      await until(() => scene.workers.acknowledged.length > 0)

      expect(await resultOf(scene, 'steps')).toEqual([2, 4, 6])
      expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
    },
    LIMIT_MS,
  )
})

/**
 * Freezes a process, but not in the middle of a write: no other process could write to an SQLite
 * file.
 */
async function freezeAtRest(worker: WorkerProcess, scene: Scene): Promise<void> {
  for (worker.freeze(); scene.isLocked(); worker.freeze()) {
    worker.thaw()
    await passTime(20)
  }
}

function begins(scene: Scene) {
  return attempts(scene).filter(({ what }) => what === 'begin')
}

function ends(scene: Scene) {
  return attempts(scene).filter(({ what }) => what === 'end')
}

function attempts(scene: Scene) {
  return readLedger(scene.ledger).filter(
    (line): line is Extract<Line, { what: 'begin' | 'end' }> =>
      line.what === 'begin' || line.what === 'end',
  )
}

async function resultOf(scene: Scene, id: string): Promise<unknown> {
  await using client = connect(storeOf(scene.store), { log: silentLog })
  const result = await client.get(id).result({ timeout: '20s' })
  note(scene.ledger, { what: 'ended', id })
  return result
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limitMs = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > limitMs) throw new Error(`waited in vain for ${String(holds)}`)
    await passTime(20)
  }
}
