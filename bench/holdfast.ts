// Holdfast as it is measured: a runtime in this process, which also starts the workflows and waits
// for their results.

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { open, type OpenOptions, type Runtime, type Store } from '../build/index.js'
import { postgres } from '../build/postgres/index.js'
import { openDriver } from '../build/sqlite/connect/driver.js'
import { sqlite } from '../build/sqlite/index.js'
import { databaseFolder } from './folder.ts'
import type { Measured, Plan } from './peer.ts'
import { type BenchServer, perStep } from './postgres.ts'
import { fullLoad, type Load, oneAtATime, type Shape, SHAPE_CODE } from './shapes.ts'

const DATABASE = 'bench_holdfast'

/** An empty place to keep state, on one kind of store. */
export interface Place extends AsyncDisposable {
  readonly kind: 'SQLite' | 'PostgreSQL'
  /** For other processes. */
  readonly url: string
  /** A store on it; any number of them see the same state. */
  store(): Store
  recorded(): Promise<Recorded>
}

/** What is in the tables. */
export interface Recorded {
  readonly completed: number
  readonly events: number
  /** Executions of all instances together. */
  readonly executions: number
  /** Messages that were not received yet. */
  readonly waiting: number
  /** Instances without an owner that are due at some time. */
  readonly asleep: number
}

const RECORDED = (completed: string, schema = ''): string =>
  `select (select count(*) from ${schema}instances where status = ${completed}) as completed,
    (select coalesce(sum(count), 0) from ${schema}history) as events,
    (select coalesce(sum(execution), 0) from ${schema}instances) as executions,
    (select count(*) from ${schema}inbox) as waiting,
    (select count(*) from ${schema}runs where owner is null and wake_at is not null) as asleep`

/** Empty tables on the server. Those of the place before are dropped. */
export async function postgresPlace(server: BenchServer): Promise<Place> {
  const url = await server.database(DATABASE)
  await server.query(DATABASE, 'drop schema if exists holdfast cascade')
  return {
    kind: 'PostgreSQL',
    url,
    store: () => postgres({ url }),
    async recorded() {
      const [row] = await server.query<Record<keyof Recorded, string>>(
        DATABASE,
        RECORDED('2', 'holdfast.'),
      )
      // 64-bit numbers come as text.
      const numbers = Object.entries(row!).map(([what, count]) => [what, Number(count)])
      return Object.fromEntries(numbers) as Recorded
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

/** A file in a folder of its own. `makeStore` has it opened in another way. */
export async function sqlitePlace(
  makeStore: (path: string) => Store = (path) => sqlite({ path }),
): Promise<Place> {
  const folder = mkdtempSync(join(databaseFolder(), 'holdfast-bench-'))
  const path = join(folder, 'bench.db')
  return {
    kind: 'SQLite',
    url: `file:${path}`,
    store: () => makeStore(path),
    async recorded() {
      const driver = openDriver(path, undefined)
      try {
        const row = driver.prepare(RECORDED(`'completed'`)).get()
        return row as Recorded
      } finally {
        driver.close()
      }
    },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Opens a runtime for as long as `use` runs. */
export async function withRuntime<T>(
  store: Store,
  register: OpenOptions['register'],
  use: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const runtime = await open(store, { register })
  try {
    return await use(runtime)
  } finally {
    await runtime.close({ drain: 0 })
  }
}

/** One shape under full load on PostgreSQL. */
export async function holdfastOnPostgres(
  server: BenchServer,
  shape: Shape,
  plan: Plan,
): Promise<Measured> {
  await using place = await postgresPlace(server)
  const fsyncsBefore = await server.fsyncs()
  const { load, warmUp, before, after } = await loadOn(place, shape, plan, () =>
    server.counters(DATABASE),
  )
  const fsyncs = (await server.fsyncs()) - fsyncsBefore
  const steps = load.workflows * shape.steps
  const allSteps = steps + warmUp.workflows * shape.steps
  return { ...rates(load, shape), perStep: perStep(before, after, steps, fsyncs, allSteps) }
}

/** One shape under full load on a place of any kind. */
export async function holdfastOn(place: Place, shape: Shape, plan: Plan): Promise<Measured> {
  const { load } = await loadOn(place, shape, plan, async () => undefined)
  return { ...rates(load, shape), perStep: undefined }
}

/** How long one workflow takes when nothing else runs, in milliseconds. */
export async function holdfastLatency(place: Place, shape: Shape, plan: Plan): Promise<number[]> {
  return withRuntime(place.store(), SHAPE_CODE, async (runtime) => {
    const run = (): Promise<number> => runtime.run(shape.workflow)
    await fullLoad(run, { inFlight: 10, ms: plan.warmUpMs })
    return oneAtATime(run, plan.samples)
  })
}

async function loadOn<Look>(place: Place, shape: Shape, plan: Plan, look: () => Promise<Look>) {
  const figures = await withRuntime(place.store(), SHAPE_CODE, async (runtime) => {
    const run = (): Promise<number> => runtime.run(shape.workflow)
    const warmUp = await fullLoad(run, { ...plan, ms: plan.warmUpMs })
    const before = await look()
    const load = await fullLoad(run, plan)
    return { warmUp, load, before, after: await look() }
  })
  const workflows = figures.load.workflows + figures.warmUp.workflows
  await checkRecorded(place, shape.name, {
    completed: workflows * shape.leaves.instances,
    events: workflows * shape.leaves.events,
  })
  return figures
}

/** Figures of work that was not done mean nothing. */
export async function checkRecorded(
  place: Place,
  what: string,
  expected: Partial<Recorded>,
): Promise<void> {
  const recorded = await place.recorded()
  for (const [name, count] of Object.entries(expected)) {
    const found = recorded[name as keyof Recorded]
    if (found === count) continue
    throw new Error(`${place.kind}, ${what}: ${name} should be ${count}, but ${found} are recorded`)
  }
}

function rates(load: Load, shape: Shape): Omit<Measured, 'perStep'> {
  const workflowsPerSecond = load.workflows / load.seconds
  const stepsPerSecond = workflowsPerSecond * shape.steps
  return { workflowsPerSecond, stepsPerSecond, cpu: load.cpu, loop: load.loop }
}
