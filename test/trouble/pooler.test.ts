import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { channel, connect, open, workflow } from '../../src/index.ts'
import { doctor, postgres } from '../../src/postgres/index.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'
import { hasPooler, type Pooler, startPooler } from './pooler.ts'
import { until } from './stage.ts'

const LIMIT_MS = 90_000
const INSTANCES = 30

const note = channel<number>('note')
const reader = workflow('reader', async (_: null, ctx) => ctx.receive(note))

describe.skipIf(!hasPooler)('behind PgBouncer in transaction mode (where it is installed)', () => {
  let server: OwnServer
  let pooler: Pooler

  beforeAll(async () => {
    server = await ownServer()
    pooler = await startPooler(server.url)
  }, LIMIT_MS)
  afterAll(async () => {
    await pooler[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }, LIMIT_MS)

  test.each([
    ['alone, hints are not heard, and the store is asked instead', false, 'deaf'],
    ['with an address that leads past it, hints are heard', true, 'listening'],
  ] as const)(
    '%s',
    async (_, leadsPast, state) => {
      const schema = `pooled_${state}`
      const listenUrl = leadsPast ? { listenUrl: server.url } : {}
      const store = () => postgres({ url: pooler.url, schema, ...listenUrl })
      const { line, runs } = countedWork()
      const log = memoryLog()
      await using one = await open(store(), { register: [line, reader], log })
      await using other = await open(store(), { register: [line, reader], log: memoryLog() })
      await using client = connect(store(), { log: memoryLog() })

      const all = Array.from({ length: INSTANCES }, (__, i) => [one, other][i % 2]!.run(line, 5))
      expect(await Promise.all(all)).toEqual(all.map(() => 15))
      expect([...runs.values()]).toEqual(Array.from({ length: INSTANCES * 5 }, () => 1))

      await until(() => one.health().hints.state === state)
      const { id } = await one.start(reader, null)
      await client.get(reader, id).send(note, 7)
      expect(await client.get(reader, id).result({ timeout: '30s' })).toBe(7)

      const said = log.at('warn').filter((words) => words.includes('listenUrl'))
      expect(said).toHaveLength(leadsPast ? 0 : 1)
      const found = await doctor({ url: pooler.url, schema, ...listenUrl })
      expect(found.some(({ fix }) => fix.includes('listenUrl'))).toBe(!leadsPast)
    },
    LIMIT_MS,
  )
})
