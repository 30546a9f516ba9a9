// Workflows here whose activities another process runs: each of them is a task. What a task costs
// more than an activity at the owner is what is measured.

import { join } from 'node:path'

import { activity, open, type Runtime, workflow } from '../build/index.js'
import { checkRecorded, type Place, postgresPlace } from './holdfast.ts'
import { LineProcess } from './line-process.ts'
import type { Measured, Plan } from './peer.ts'
import { type BenchServer, perStep } from './postgres.ts'
import { fullLoad, oneAtATime } from './shapes.ts'

const DATABASE = 'bench_holdfast'
const TASK_RUNTIME = join(import.meta.dirname, 'task-runtime.ts')
// For starting, stopping, and the last workflows.
const SPARE_MS = 120_000

/** What a process has done since it began. */
export interface Did {
  /** Activities that it ran. */
  readonly executed: number
  readonly cpuSeconds: number
}

let count = 0

/** The activity of every task. */
export const noop = activity('noop', () => {
  count++
  return 1
})

/** How many times this process ran it. */
export function executed(): number {
  return count
}

/** This many tasks, one after the other. */
const tasks = workflow<number, number>('tasks', async (many, ctx) => {
  let sum = 0
  for (let task = 0; task < many; task++) sum += await ctx.run(noop)
  return sum
})

/** The figures of tasks under full load. A step is a task. */
export interface TasksMeasured extends Measured {
  /** CPU time of the process that runs the activities, as a share of one core. */
  readonly cpuElsewhere: number
}

/** Workflows of this many tasks each under full load on PostgreSQL. */
export async function tasksOnPostgres(
  server: BenchServer,
  many: number,
  plan: Plan,
): Promise<TasksMeasured> {
  await using place = await postgresPlace(server)
  const fsyncsBefore = await server.fsyncs()
  const { figures, warmUp, done, before, after } = await loadOn(place, many, plan, () =>
    server.counters(DATABASE),
  )
  const fsyncs = (await server.fsyncs()) - fsyncsBefore
  return { ...figures, perStep: perStep(before, after, done, fsyncs, done + warmUp) }
}

/** Workflows of this many tasks each under full load on a place of any kind. */
export async function tasksOn(place: Place, many: number, plan: Plan): Promise<TasksMeasured> {
  const { figures } = await loadOn(place, many, plan, async () => undefined)
  return { ...figures, perStep: undefined }
}

/** How long a workflow of one task takes when nothing else runs, in milliseconds. */
export async function taskLatency(place: Place, plan: Plan): Promise<number[]> {
  const { result } = await withTaskRuntime(place, 1, plan, async (run) => {
    const warmUp = await fullLoad(run, { inFlight: 10, ms: plan.warmUpMs })
    const took = await oneAtATime(run, plan.samples)
    return { workflows: warmUp.workflows + took.length, result: took }
  })
  return result
}

async function loadOn<Look>(place: Place, many: number, plan: Plan, look: () => Promise<Look>) {
  const { result } = await withTaskRuntime(place, many, plan, async (run, did) => {
    const warmUp = await fullLoad(run, { ...plan, ms: plan.warmUpMs })
    const before = await look()
    const cpuBefore = (await did()).cpuSeconds
    const load = await fullLoad(run, plan)
    const cpu = (await did()).cpuSeconds - cpuBefore
    return {
      workflows: warmUp.workflows + load.workflows,
      result: { warmUp, before, load, cpu, after: await look() },
    }
  })
  const { warmUp, load, before, after, cpu } = result
  const done = load.workflows * many
  const figures = {
    workflowsPerSecond: load.workflows / load.seconds,
    stepsPerSecond: done / load.seconds,
    cpu: load.cpu,
    loop: load.loop,
    cpuElsewhere: cpu / load.seconds,
  }
  return { figures, done, warmUp: warmUp.workflows * many, before, after }
}

type Work<T> = (
  run: () => Promise<number>,
  did: () => Promise<Did>,
) => Promise<{ readonly workflows: number; readonly result: T }>

/** Runs workflows of `many` tasks beside a process that takes those. */
async function withTaskRuntime<T>(place: Place, many: number, plan: Plan, work: Work<T>) {
  const executedBefore = executed()
  const worked = await withOwner(place, async (owner) => {
    const longestMs = plan.ms + plan.warmUpMs + plan.samples * 100 + SPARE_MS
    const program = { script: TASK_RUNTIME, args: [place.url], longestMs }
    await using elsewhere = new LineProcess(program)
    await elsewhere.until('ready')
    const did = async () => JSON.parse(await elsewhere.ask('did')) as Did
    // Nothing takes this long; without a limit a bug would look like a slow machine.
    const run = (): Promise<number> => owner.run(tasks, many, { timeout: '1m' })
    const { workflows, result } = await work(run, did)
    const last = await did()
    await elsewhere.end()
    return { workflows, result, executed: last.executed }
  })
  checkExecuted(place, worked.workflows * many, executed() - executedBefore, worked.executed)
  await checkRecorded(place, 'TASK', {
    completed: worked.workflows,
    events: worked.workflows * (2 + 2 * many),
    waiting: 0,
  })
  return worked
}

/** A runtime that runs no activities. */
async function withOwner<T>(place: Place, use: (owner: Runtime) => Promise<T>): Promise<T> {
  const owner = await open(place.store(), { register: tasks, tags: 'none' })
  try {
    return await use(owner)
  } finally {
    await owner.close({ drain: 0 })
  }
}

/** Figures of work that was done somewhere else mean nothing. */
function checkExecuted(place: Place, expected: number, here: number, there: number): void {
  if (here === 0 && there === expected) return
  throw new Error(
    `${place.kind}, TASK: ${expected} activities should have run in the other process, ` +
      `but ${there} did, and ${here} ran here`,
  )
}
