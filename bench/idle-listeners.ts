// What a thousand listen connections cost sessions that commit. A notification wakes every listener
// of a database, so what matters is how many are sent.

import { Client, Pool } from 'pg'

import { type CrossingSize, crossings } from './between-processes.ts'
import { median } from './figures.ts'
import { holdfastOn, type Place } from './holdfast.ts'
import type { Plan } from './peer.ts'
import { fullLoad, SHAPES } from './shapes.ts'

// How many connect at a time: the server takes one after the other.
const AT_ONCE = 20

/** How much is measured. */
export interface ListenersSize {
  readonly listeners: number
  readonly rounds: number
  readonly plan: Plan
  readonly crossing: CrossingSize
}

/** With listeners and without them, in turns. */
export interface AmongListeners {
  /** W1 of one runtime, with them as a share of without. */
  readonly workflows: number
  /** Plain commits of another application, with the listeners as a share of without. */
  readonly commits: number
  /** Messages between two processes, each with a notification, in milliseconds. */
  readonly crossedAlone: readonly number[]
  readonly crossedAmong: readonly number[]
}

/** Measures both in turns, so that whatever else the machine does meets both. */
export async function amongListeners(
  makePlace: () => Promise<Place>,
  size: ListenersSize,
): Promise<AmongListeners> {
  const taken = { alone: nothingTaken(), among: nothingTaken() }
  for (let round = 0; round < size.rounds; round++) {
    await takeRound(makePlace, size, taken.alone)
    const { url } = await makePlace()
    const connections = await listenAll(url, size.listeners)
    try {
      await takeRound(makePlace, size, taken.among)
    } finally {
      await Promise.all(connections.map((listener) => listener.end()))
    }
  }
  const share = (of: (side: Samples) => readonly number[]): number =>
    median(of(taken.among)) / median(of(taken.alone))
  return {
    workflows: share(({ workflows }) => workflows),
    commits: share(({ commits }) => commits),
    crossedAlone: taken.alone.crossed,
    crossedAmong: taken.among.crossed,
  }
}

interface Samples {
  readonly workflows: number[]
  readonly commits: number[]
  readonly crossed: number[]
}

function nothingTaken(): Samples {
  return { workflows: [], commits: [], crossed: [] }
}

async function takeRound(
  makePlace: () => Promise<Place>,
  { plan, crossing }: ListenersSize,
  taken: Samples,
): Promise<void> {
  const { workflowsPerSecond } = await holdfastOn(await makePlace(), SHAPES[0]!, plan)
  taken.workflows.push(workflowsPerSecond)
  const place = await makePlace()
  taken.commits.push(await commitRate(place.url, plan))
  taken.crossed.push(...(await crossings(place, crossing)).seen)
}

/** Single-row commits per second over four connections. */
async function commitRate(url: string, { ms, warmUpMs }: Plan): Promise<number> {
  const pool = new Pool({ connectionString: url, max: 4 })
  try {
    await pool.query('drop table if exists plain_rows')
    await pool.query('create table plain_rows (id bigserial primary key, text text)')
    const insert = { name: 'insert', text: 'insert into plain_rows (text) values ($1)' }
    const commit = (): Promise<unknown> => pool.query({ ...insert, values: ['x'.repeat(100)] })
    await fullLoad(commit, { inFlight: 4, ms: warmUpMs })
    const { workflows: commits, seconds } = await fullLoad(commit, { inFlight: 4, ms })
    return commits / seconds
  } finally {
    await pool.end()
  }
}

async function listenAll(url: string, count: number): Promise<Client[]> {
  const connections = Array.from({ length: count }, () => new Client({ connectionString: url }))
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < connections.length) {
      const number = next++
      const listener = connections[number]!
      await listener.connect()
      await listener.query(`listen bench_listener_${number}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return connections
}
