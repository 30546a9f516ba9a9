import { setTimeout as passTime } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { Scene } from '../e2e/scene.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { cut, isThere, type Kind, KINDS } from './server-connections.ts'
import { until, workThrough } from './stage.ts'

// `HOLDFAST_OUTAGE_MS=60000 npx vitest run test/trouble/restarts.test.ts` has a minute of outage.
const OUTAGE_MS = Number(process.env['HOLDFAST_OUTAGE_MS'] ?? 3_000)
const LIMIT_MS = 120_000 + 2 * OUTAGE_MS

/** A server that goes with its test. */
async function startServer(): Promise<PostgresServer & AsyncDisposable> {
  const server = await startPostgres()
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.remove() })
}

// Each has a server of its own, and mostly waits; more of them would keep two cores busy.
vi.setConfig({ maxConcurrency: 2 })

test.concurrent(
  'work survives a server that is stopped, crashes, or is away for a while',
  async () => {
    await using server = await startServer()
    const waits: number[] = []

    const { findings, instances } = await workThrough(server.url, async ({ worksAgain }) => {
      await worksAgain()
      for (const how of ['fast', 'immediate'] as const) {
        await server.stop(how)
        await server.start()
        waits.push(await worksAgain())
      }
      await server.stop()
      await passTime(OUTAGE_MS)
      await server.start()
      waits.push(await worksAgain())
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(20)
    expect(Math.max(...waits)).toBeLessThan(30_000)
  },
  LIMIT_MS,
)

test.concurrent(
  'work survives a killed server process, after which the server restarts all of them',
  async () => {
    await using server = await startServer()
    const waits: number[] = []

    const { findings, instances } = await workThrough(server.url, async ({ scene, worksAgain }) => {
      await worksAgain()
      for (let round = 0; round < 3; round++) {
        process.kill(await serverProcess(scene), 'SIGKILL')
        waits.push(await worksAgain())
      }
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(10)
    expect(Math.max(...waits)).toBeLessThan(30_000)
  },
  LIMIT_MS,
)

/** A process of the server that serves a connection of ours: one that commits, if there is one. */
async function serverProcess(scene: Scene): Promise<number> {
  const [found] = await scene.query(
    `select pid
    from pg_stat_activity
    where application_name = 'holdfast'
    order by query like '%commit_batch%' desc
    limit 1`,
  )
  return Number(found!['pid'])
}

test.concurrent(
  'connections of every kind may be cut, again and again',
  async () => {
    await using server = await startServer()
    const kinds = Object.keys(KINDS) as Kind[]
    const cuts = new Map<Kind, number>()

    const { findings, instances } = await workThrough(server.url, async ({ scene, worksAgain }) => {
      await worksAgain()
      for (const kind of kinds) await until(() => isThere(scene, kind))
      for (let round = 0; round < 5; round++) {
        for (const kind of kinds) {
          cuts.set(kind, (cuts.get(kind) ?? 0) + (await cut(scene, kind)))
          await passTime(100)
        }
      }
      await worksAgain()
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(20)
    expect([...cuts.values()].map((count) => count > 0)).toEqual(kinds.map(() => true))
  },
  LIMIT_MS,
)
