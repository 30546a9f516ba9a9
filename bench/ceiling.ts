// The physical limit of a server: the bare rows that an engine has to write, of many workflows at
// once, joined into as few statements as possible. No engine: there is no ownership, no retry, no
// check of anything.

import { randomUUID } from 'node:crypto'

import { Pool } from 'pg'

import type { Measured, Plan } from './peer.ts'
import { type BenchServer, perStep } from './postgres.ts'
import { fullLoad, type Shape } from './shapes.ts'

const DATABASE = 'bench_ceiling'
const CONNECTIONS = 4
const MAX_ROWS = 200

const TABLES = `
  drop table if exists workflow, step;
  create table workflow (
    id uuid primary key, name text not null, status smallint not null default 0,
    input jsonb, output jsonb, created timestamptz default now()
  );
  create table step (
    workflow uuid not null, number int not null, name text, output jsonb,
    primary key (workflow, number)
  )`

const STATEMENTS = {
  start: `insert into workflow (id, name, input)
    select * from unnest($1::uuid[], $2::text[], $3::jsonb[])`,
  step: `insert into step select * from unnest($1::uuid[], $2::int[], $3::text[], $4::jsonb[])`,
  end: `update workflow set status = 1, output = given.output
    from unnest($1::uuid[], $2::jsonb[]) as given (id, output) where workflow.id = given.id`,
} as const

type Kind = keyof typeof STATEMENTS

interface Write {
  readonly values: readonly (string | number)[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** One shape under full load. */
export async function ceiling(server: BenchServer, shape: Shape, plan: Plan): Promise<Measured> {
  const pool = new Pool({
    connectionString: await server.database(DATABASE),
    max: CONNECTIONS,
  })
  const fsyncsBefore = await server.fsyncs()
  try {
    await pool.query(TABLES)
    const run = workflowOf(shape, joinedWrites(pool))
    const warmUp = await fullLoad(run, { ...plan, ms: plan.warmUpMs })
    const before = await server.counters(DATABASE)
    const load = await fullLoad(run, plan)
    const after = await server.counters(DATABASE)
    await pool.end()
    const steps = load.workflows * shape.steps
    const allSteps = steps + warmUp.workflows * shape.steps
    const [row] = await server.query<{ steps: string }>(
      DATABASE,
      'select count(*) as steps from step join workflow w on w.id = workflow where status = 1',
    )
    if (Number(row!.steps) !== allSteps) {
      throw new Error(`ceiling, ${shape.name}: ${allSteps} steps, but ${row!.steps} are recorded`)
    }
    const fsyncs = (await server.fsyncs()) - fsyncsBefore
    return {
      workflowsPerSecond: load.workflows / load.seconds,
      stepsPerSecond: steps / load.seconds,
      cpu: load.cpu,
      loop: load.loop,
      perStep: perStep(before, after, steps, fsyncs, allSteps),
    }
  } finally {
    if (!pool.ended) await pool.end()
  }
}

type Put = (kind: Kind, ...values: Write['values']) => Promise<void>

function workflowOf({ name, steps }: Shape, put: Put): () => Promise<void> {
  return async () => {
    const id = randomUUID()
    await put('start', id, name, '{}')
    const step = (number: number): Promise<void> => put('step', id, number, `s${number}`, '1')
    if (name === 'FAN') await Promise.all(Array.from({ length: steps }, (_, i) => step(i)))
    else for (let number = 0; number < steps; number++) await step(number)
    await put('end', id, String(steps))
  }
}

/** Writes of one kind that come together go together, on whichever connection is free. */
function joinedWrites(pool: Pool): Put {
  const waiting: Record<Kind, Write[]> = { end: [], step: [], start: [] }
  let busy = 0
  let planned = false

  const send = (kind: Kind, writes: readonly Write[]): void => {
    busy++
    const columns = writes[0]!.values.map((_, i) => writes.map(({ values }) => values[i]))
    pool
      .query({ name: kind, text: STATEMENTS[kind], values: columns })
      .then(
        () => writes.forEach(({ resolve }) => resolve()),
        (error: unknown) => writes.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        busy--
        sendAll()
      })
  }
  const sendAll = (): void => {
    for (const kind of ['end', 'step', 'start'] as const) {
      while (waiting[kind].length > 0 && busy < CONNECTIONS) {
        send(kind, waiting[kind].splice(0, MAX_ROWS))
      }
    }
  }
  return (kind, ...values) =>
    new Promise((resolve, reject) => {
      waiting[kind].push({ values, resolve, reject })
      if (planned) return
      planned = true
      setImmediate(() => {
        planned = false
        sendAll()
      })
    })
}
