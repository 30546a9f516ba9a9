import { setTimeout as passTime } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'

const LIMIT_MS = 90_000
const INSTANCES = 20
const STEPS = 40

let server: OwnServer

beforeAll(async () => {
  server = await ownServer()
  await server.query('create role app login')
  await server.query('grant create on database postgres to app')
}, LIMIT_MS)
afterAll(() => server[Symbol.asyncDispose](), LIMIT_MS)

test(
  'a role may lose its privileges for a while, and no instance is suspended for that',
  async () => {
    const url = new URL(server.url)
    url.username = 'app'
    const { line, runs } = countedWork()
    const log = memoryLog()
    await using runtime = await open(postgres({ url: url.href }), { register: line, log })

    const starts = Array.from({ length: INSTANCES }, () => runtime.start(line, STEPS))
    const results = (await Promise.all(starts)).map((instance) => instance.result())
    for (let ms = 10; ms <= 160; ms *= 2) {
      await server.query('revoke insert on holdfast.history from app')
      await passTime(ms)
      await server.query('grant insert on holdfast.history to app')
      await passTime(50)
    }

    const sum = (STEPS * (STEPS + 1)) / 2
    expect(await Promise.all(results)).toEqual(results.map(() => sum))
    expect([...runs.values()]).toEqual(Array.from({ length: INSTANCES * STEPS }, () => 1))
    expect(log.at('error')).toEqual([])
  },
  LIMIT_MS,
)
