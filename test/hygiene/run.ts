// oxlint-disable no-console -- a program that prints
//
// Runs workflows at full speed on a PostgreSQL of its own, with a retention of a minute, and prints
// every half-minute how fast they are, how large the tables, how many dead rows they hold, and the
// load of the machine, which shows whether something else ran there:
//
//   npm run hygiene -- [--minutes 10] [--hold-xmin] [--every 30] [--retention 60] [--at-once 100]
//
// With --hold-xmin a session keeps a snapshot open for the middle third of the run. Exits with 1 if
// the run did not stay as it began, within the factors of judge.ts.

import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { Client } from 'pg'

import { quantile } from '../../bench/figures.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { judge, type Sample, type Verdict } from './judge.ts'
import { type Load, startLoad } from './load.ts'
import { type Table, tablesOf } from './tables.ts'

const SCHEMA = 'holdfast'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    every: { type: 'string', default: '30' },
    retention: { type: 'string', default: '60' },
    'at-once': { type: 'string', default: '100' },
    'hold-xmin': { type: 'boolean', default: false },
  },
})
const [minutes, everyS, retentionS, atOnce] = [
  values.minutes,
  values.every,
  values.retention,
  values['at-once'],
].map(positive) as [number, number, number, number]
// By way of exit, so that nothing started here stays behind.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const server = await startPostgres()
try {
  process.exitCode = (await run(server.url)) ? 0 : 1
} finally {
  await server.remove()
}

async function run(url: string): Promise<boolean> {
  const client = await connected(url)
  const load = await startLoad({ url, schema: SCHEMA }, { retention: retentionS * 1_000, atOnce })
  const samples: Sample[] = []
  try {
    await watch(client, load, url, samples)
  } finally {
    await load[Symbol.asyncDispose]()
    await client.end()
  }
  for (const failure of load.failures.slice(0, 5)) console.log('FAILED', failure)
  const verdicts = judge(samples, retentionS)
  verdicts.forEach(say)
  if (verdicts.length === 0) console.log('too short a run to compare its beginning with its end')
  return load.failures.length === 0 && verdicts.every(({ met }) => met)
}

async function watch(client: Client, load: Load, url: string, samples: Sample[]): Promise<void> {
  const begun = performance.now()
  const passedS = (): number => (performance.now() - begun) / 1_000
  const endS = minutes * 60
  let holder: Client | undefined
  for (let next = everyS, last = 0; passedS() < endS; next += everyS) {
    const third = Math.floor((3 * (next - everyS)) / endS)
    if (values['hold-xmin'] && third === 1) holder ??= await holding(url)
    if (third === 2 && holder !== undefined) {
      await holder.end()
      holder = undefined
    }
    await new Promise((resolve) => setTimeout(resolve, (Math.min(next, endS) - passedS()) * 1_000))
    const latencies = load.take()
    const atS = passedS()
    const tables = await tablesOf(client, SCHEMA)
    samples.push({
      atS,
      perSecond: latencies.length / (atS - last),
      p50Ms: quantile(latencies, 0.5) ?? NaN,
      p99Ms: quantile(latencies, 0.99) ?? NaN,
      dead: sum(tables, ({ dead }) => dead),
      bytes: sum(tables, ({ bytes }) => bytes),
      held: holder !== undefined,
    })
    last = atS
    show(samples.at(-1)!, tables)
  }
  await holder?.end()
}

function show(sample: Sample, tables: readonly Table[]): void {
  const { atS, perSecond, p50Ms, p99Ms, dead, bytes, held } = sample
  console.log(
    `${atS.toFixed(0).padStart(4)} s  ${perSecond.toFixed(0).padStart(6)} workflows/s` +
      `  p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms` +
      `  ${megabytes(bytes)}  ${dead} dead  load ${loadavg()[0]!.toFixed(1)}` +
      (held ? '  (vacuum held back)' : ''),
  )
  for (const table of tables) {
    const { name, bytes: own, live, dead: gone } = table
    const each = live === 0 ? '' : `, ${Math.round(own / live)} bytes for each live row`
    console.log(`          ${name.padEnd(12)} ${megabytes(own)}  ${live} live, ${gone} dead${each}`)
  }
}

function say({ what, value, limit, met }: Verdict): void {
  const bound = what.startsWith('workflows') ? 'at least' : 'at most'
  console.log(`${what}: ${value.toFixed(2)}   (${bound} ${limit}: ${met ? 'met' : 'MISSED'})`)
}

/** A session with an old snapshot. */
async function holding(url: string): Promise<Client> {
  const client = await connected(url)
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return client
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1).padStart(7)} MB`
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

function positive(text: string): number {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new RangeError(`hygiene: must be a number above 0, got "${text}"`)
}
