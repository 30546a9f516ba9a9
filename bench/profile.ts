// Where the time of a step goes: `npm run bench -- profile`. W10 at full load on both stores and W1
// one at a time, with the sampling profiler on in the main thread, which costs a few percent.

import { Session } from 'node:inspector/promises'

import type { EngineOptions } from './engine.ts'
import { rounded } from './figures.ts'
import { type Place, postgresPlace, sqlitePlace, withRuntime } from './holdfast.ts'
import type { BenchServer } from './postgres.ts'
import { fullLoad, oneAtATime, type Shape, SHAPE_CODE, SHAPES } from './shapes.ts'
import { printGrid, type Row } from './table.ts'

interface Size {
  readonly ms: number
  readonly samples: number
}

const FULL: Size = { ms: 5_000, samples: 800 }
const SMOKE: Size = { ms: 30, samples: 5 }
const IN_FLIGHT = 100
const SAMPLE_EVERY_US = 200

/** Parts of the main thread, by the path of a function's file; the first that matches counts. */
const PARTS: readonly [string, RegExp][] = [
  ['waiting', /^\(idle\)$/],
  ['collecting garbage', /^\(garbage collector\)$/],
  ['workflow code, contexts and replay', /\/build\/engine\/(replay|context)\/|\/bench\/shapes/],
  ['values (codec)', /\/build\/base\/(codec|pack|unpack|error-)|\/build\/engine\/values/],
  ['clients: start, result', /\/build\/engine\/client\//],
  ['loops of the runtime', /\/build\/(engine|workers|base)\//],
  ['the store, this side', /\/build\/(sqlite|postgres|store)\//],
  ['driver', /\/node_modules\/pg/],
  ['Node and the system', /./],
]

/** Prints where time goes. */
export async function benchProfile(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const server = await options.server()
  const [w1, w10] = [shapeOf('W1'), shapeOf('W10')]
  await profiled(() => sqlitePlace(), w10, size, 'SQLite')
  await profiled(() => postgresPlace(server), w10, size, 'PostgreSQL')
  if (!options.smoke) await printStatements(server)
  await profiled(() => sqlitePlace(), w1, size, 'SQLite', true)
  await profiled(() => postgresPlace(server), w1, size, 'PostgreSQL', true)
  return [{ what: 'samples are taken every', value: `${SAMPLE_EVERY_US} µs` }]
}

function shapeOf(name: Shape['name']): Shape {
  return SHAPES.find((shape) => shape.name === name)!
}

async function profiled(
  makePlace: () => Promise<Place>,
  shape: Shape,
  { ms, samples }: Size,
  kind: string,
  isAlone = false,
): Promise<void> {
  await using place = await makePlace()
  await withRuntime(place.store(), SHAPE_CODE, async (runtime) => {
    const run = (): Promise<number> => runtime.run(shape.workflow)
    await fullLoad(run, { inFlight: IN_FLIGHT, ms: ms / 3 })
    const session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
    await session.post('Profiler.start')
    const startMs = performance.now()
    const runs = isAlone
      ? (await oneAtATime(run, samples)).length
      : (await fullLoad(run, { inFlight: IN_FLIGHT, ms })).workflows
    const tookMs = performance.now() - startMs
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    const steps = runs * shape.steps
    const how = isAlone ? 'one at a time' : `${IN_FLIGHT} in flight`
    const rate = `${rounded((steps / tookMs) * 1_000)} steps/s`
    print(`${kind}, ${shape.name}, ${how}: ${rate}; the main thread`, profile, steps)
  })
}

/** The shape of what the inspector gives. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
  }[]
  readonly samples?: readonly number[] | undefined
  readonly timeDeltas?: readonly number[] | undefined
}

function print(title: string, profile: Profile, steps: number): void {
  const named = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const parts = new Map<string, number>()
  let total = 0
  profile.samples?.forEach((id, i) => {
    const { functionName, url } = named.get(id)!
    const where = url === '' ? functionName : url
    const [part] = PARTS.find(([, pattern]) => pattern.test(where)) ?? PARTS.at(-1)!
    const us = profile.timeDeltas?.[i] ?? 0
    parts.set(part, (parts.get(part) ?? 0) + us)
    total += us
  })
  const lines = [...parts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([part, us]) => [part, `${((us / total) * 100).toFixed(1)} %`, (us / steps).toFixed(1)])
  printGrid(title, [['', 'share', 'µs/step'], ...lines])
}

/** What the server says that its time went into. */
async function printStatements(server: BenchServer): Promise<void> {
  const rows = await server.query<{ what: string; calls: string; mean: number; share: number }>(
    // The database that has the extension, which covers all databases.
    'postgres',
    `select regexp_replace(left(query, 60), '\\s+', ' ', 'g') as what, calls::text,
       mean_exec_time as mean, total_exec_time / sum(total_exec_time) over () as share
     from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = 'bench_holdfast' and s.toplevel
     order by total_exec_time desc limit 5`,
  )
  printGrid('PostgreSQL: the statements that took longest', [
    ['', 'calls', 'mean ms', 'share'],
    ...rows.map(({ what, calls, mean, share }) => [
      what,
      calls,
      mean.toFixed(2),
      `${(share * 100).toFixed(0)} %`,
    ]),
  ])
}
