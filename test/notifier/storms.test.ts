import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'

import { silentLog } from '../../src/base/log.ts'
import { channel, open, type Runtime, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'

// Hints between runtimes must come to an end. Each runtime represents a process: they share nothing
// but the server. What is counted are ticks, the most expensive thing that a hint can cause.

vi.setConfig({ testTimeout: 60_000 })

const RUNTIMES = 4
const TICK_MS = 10_000

test('runtimes that are all full do not keep each other awake', async () => {
  await using database = await testSchema('storms')
  let done = 0
  // Long enough that the hints they cause would cause others.
  const busy = workflow('busy', async (_: undefined, ctx) =>
    ctx.step('work', async () => {
      await sleep(100)
      done++
    }),
  )
  await using crowd = await crowdOn(database, busy, { instances: 1 })
  const starts = Array.from({ length: 80 }, () => crowd.runtimes[0]!.start(busy))
  await Promise.all(starts)

  const { ticks, ofTime } = await crowd.during(() => eventually(() => done === starts.length))

  expect(ticks).toBeLessThanOrEqual(ofTime + RUNTIMES)
})

test('terminating instances without children and tasks wakes no runtime', async () => {
  await using database = await testSchema('storms')
  const go = channel('go')
  const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
  await using crowd = await crowdOn(database, waits, {})
  const [first] = crowd.runtimes
  const instances = await Promise.all(Array.from({ length: 100 }, () => first!.start(waits)))

  const { ticks, ofTime } = await crowd.during(async () => {
    for (const instance of instances) await instance.terminate()
    // All hints so far have arrived by then.
    const ended = await Promise.all(
      crowd.runtimes.map(async (runtime) => {
        const last = await runtime.start(waits)
        const results = crowd.runtimes.map((other) => other.get(last.id).result().catch(String))
        await last.terminate()
        return Promise.all(results)
      }),
    )
    expect(ended.flat()).toHaveLength(RUNTIMES * RUNTIMES)
  })

  expect(ticks).toBeLessThanOrEqual(ofTime)
})

test('a termination reaches children in other processes, owned or not', async () => {
  await using database = await testSchema('storms')
  const go = channel('go')
  const child = workflow('child', async (_: undefined, ctx) => ctx.receive(go))
  const parent = workflow('parent', async (_: undefined, ctx) =>
    ctx.run(child, undefined, { id: 'child' }),
  )
  const { url, schema } = database
  const options = { log: silentLog }
  await using elsewhere = await open(postgres({ url, schema }), { ...options, register: child })
  await using here = await open(postgres({ url, schema }), { ...options, register: parent })
  const instance = await here.start(parent)
  await eventually(async () => (await elsewhere.get('child').info())?.status === 'running')
  const begunMs = performance.now()

  await instance.terminate()
  const ended = await elsewhere
    .get('child')
    .result()
    .catch((error: Error) => error.name)

  expect(ended).toBe('CancelledError')
  expect(performance.now() - begunMs).toBeLessThan(TICK_MS / 2)
})

/** Runtimes that listen to each other, and how often they tick. */
interface Crowd extends AsyncDisposable {
  readonly runtimes: readonly Runtime[]
  /** How many ticks there are while something is done, and how many there would be anyway. */
  during(work: () => Promise<unknown>): Promise<{ ticks: number; ofTime: number }>
}

async function crowdOn(
  { url, schema }: TestSchema,
  register: Parameters<typeof open>[1]['register'],
  concurrency: { instances?: number },
): Promise<Crowd> {
  let ticks = 0
  const metrics = {
    count(name: string, by: number, { procedure }: Readonly<Record<string, string>>) {
      if (name === 'holdfast_db_calls' && procedure === 'tick') ticks += by
    },
    record() {},
  }
  const runtimes: Runtime[] = []
  for (let i = 0; i < RUNTIMES; i++) {
    const store = postgres({ url, schema, metrics })
    runtimes.push(await open(store, { register, log: silentLog, concurrency }))
  }
  await eventually(() => runtimes.every((runtime) => runtime.health().hints.state === 'listening'))
  return {
    runtimes,
    async during(work) {
      const [before, begunMs] = [ticks, performance.now()]
      await work()
      const beats = Math.ceil((performance.now() - begunMs) / TICK_MS)
      return { ticks: ticks - before, ofTime: RUNTIMES * beats }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(runtimes.map((runtime) => runtime.close()))
    },
  }
}
