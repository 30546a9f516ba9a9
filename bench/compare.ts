// Two builds of the package side by side, in turns: what a change costs.
//
//   npm run build && npx tsx bench/compare.ts <dist folder of the older build> [--rounds=9] [--only=sqlite:W1,…]
//
// Each measurement is a process of its own on an empty database. A round runs every one with both
// builds, in alternating order, and yields a ratio, new to old; what is printed are the medians of the
// ratios. CPU time says more than throughput on a machine that others use too. `--smoke` runs each for
// a moment; its figures mean nothing.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { median, quantile, rounded } from './figures.ts'
import { databaseFolder } from './folder.ts'
import { LineProcess } from './line-process.ts'
import { type BenchServer, benchServer } from './postgres.ts'
import { printGrid } from './table.ts'

const PROGRAM = join(import.meta.dirname, 'compare-load.mjs')
const LONGEST_MS = 120_000
const IN_FLIGHT = 100
const DATABASE = 'bench_compare'

/** What is measured, and how many workflows of it take a few seconds. */
const CASES = [
  { store: 'sqlite', shape: 'W1', workflows: 15_000 },
  { store: 'sqlite', shape: 'W10', workflows: 5_000 },
  { store: 'sqlite', shape: 'FAN', workflows: 1_500 },
  { store: 'sqlite', shape: 'CHANNEL', workflows: 2_000 },
  { store: 'sqlite', shape: 'CHILD', workflows: 2_000 },
  { store: 'postgres', shape: 'W1', workflows: 10_000 },
  { store: 'postgres', shape: 'W10', workflows: 3_000 },
  { store: 'postgres', shape: 'FAN', workflows: 1_000 },
  { store: 'postgres', shape: 'CHANNEL', workflows: 2_000 },
  { store: 'postgres', shape: 'CHILD', workflows: 2_000 },
] as const

type Case = (typeof CASES)[number]

/** What one build did in one round. */
interface Figures {
  readonly perSecond: number
  /** CPU time of the process for a workflow, all threads, in microseconds. */
  readonly cpuUs: number
  /** CPU time of the sessions at the server, where the system reports it. */
  readonly serverUs?: number
}

const given = process.argv.slice(2)
const smoke = given.includes('--smoke')
const rounds = Number(option('rounds') ?? (smoke ? 1 : 9))
const only = option('only')?.split(',')
const [older] = given.filter((argument) => !argument.startsWith('--'))
const cases = CASES.filter((one) => only?.includes(nameOf(one)) ?? true)

if (older === undefined || !(rounds >= 1) || cases.length === 0) {
  console.error(
    'compare: give the dist folder of the older build; then, if you like, --rounds=<number>, ' +
      `--only=<some of ${CASES.map(nameOf).join(',')}> and --smoke`,
  )
  process.exitCode = 1
} else {
  await compare({ old: resolve(older), new: resolve(import.meta.dirname, '../dist') })
}

async function compare(builds: { readonly old: string; readonly new: string }): Promise<void> {
  const usesServer = cases.some(({ store }) => store === 'postgres')
  await using server = usesServer ? await benchServer() : undefined
  const all = new Map(cases.map((one) => [one, [] as { old: Figures; new: Figures }[]]))
  for (let round = 0; round < rounds; round++) {
    for (const [one, pairs] of all) {
      const figures = new Map<keyof typeof builds, Figures>()
      for (const build of round % 2 === 0 ? (['old', 'new'] as const) : (['new', 'old'] as const)) {
        figures.set(build, await measure(one, builds[build], server))
      }
      pairs.push({ old: figures.get('old')!, new: figures.get('new')! })
    }
  }
  console.log(`Node ${process.version}, ${process.platform} ${process.arch}`)
  const title = `new to old, ${IN_FLIGHT} in flight, medians of ${rounds} rounds in turns (quartiles)`
  printGrid(title, [
    ['', 'workflows/s', 'ratio', 'CPU/workflow', 'ratio', 'CPU/workflow at the server', 'ratio'],
    ...[...all].map(([one, pairs]) => [
      nameOf(one),
      ...cells(pairs, ({ perSecond }) => perSecond, ''),
      ...cells(pairs, ({ cpuUs }) => cpuUs, ' µs'),
      ...cells(pairs, ({ serverUs }) => serverUs, ' µs'),
    ]),
  ])
}

function option(name: string): string | undefined {
  const start = `--${name}=`
  return given.find((argument) => argument.startsWith(start))?.slice(start.length)
}

function nameOf({ store, shape }: Case): string {
  return `${store}:${shape}`
}

async function measure(one: Case, dist: string, server: BenchServer | undefined): Promise<Figures> {
  if (one.store === 'postgres') {
    return loadBy(one, dist, await server!.freshDatabase(DATABASE), () => sessions(server!))
  }
  const folder = mkdtempSync(join(databaseFolder(), 'holdfast-bench-'))
  try {
    return await loadBy(one, dist, `file:${join(folder, 'bench.db')}`, async () => [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function loadBy(
  { shape, ...one }: Case,
  dist: string,
  url: string,
  look: () => Promise<readonly Session[]>,
): Promise<Figures> {
  const workflows = smoke ? IN_FLIGHT : one.workflows
  const load = { dist, url, shape, inFlight: IN_FLIGHT, workflows }
  const args = [JSON.stringify(load)]
  await using child = new LineProcess({ script: PROGRAM, args, longestMs: LONGEST_MS })
  await child.until('ready')
  const before = new Map((await look()).map(({ pid, cpuNs }) => [pid, cpuNs]))
  const figures = JSON.parse(await child.ask('go')) as Figures
  const after = await look()
  await child.end()
  if (after.length === 0) return figures
  const spentNs = after.reduce((sum, { pid, cpuNs }) => sum + cpuNs - (before.get(pid) ?? 0), 0)
  return { ...figures, serverUs: spentNs / 1_000 / workflows }
}

/** A session at the server, and the CPU time that its process has used. */
interface Session {
  readonly pid: number
  readonly cpuNs: number
}

/** None on systems without /proc. */
async function sessions(server: BenchServer): Promise<Session[]> {
  const found = await server.query<{ pid: number }>(
    'postgres',
    `select pid from pg_stat_activity where datname = '${DATABASE}' and backend_type = 'client backend'`,
  )
  try {
    return found.map(({ pid }) => {
      const [cpuNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
      return { pid, cpuNs: Number(cpuNs) }
    })
  } catch {
    return []
  }
}

/** The new build's figure, and how it compares. */
function cells(
  pairs: readonly { readonly old: Figures; readonly new: Figures }[],
  figure: (figures: Figures) => number | undefined,
  unit: string,
): string[] {
  const both = pairs.flatMap((pair) => {
    const [was, is] = [figure(pair.old), figure(pair.new)]
    return was === undefined || is === undefined ? [] : [{ is, ratio: is / was }]
  })
  if (both.length === 0) return ['-', '-']
  const ratios = both.map(({ ratio }) => ratio)
  const [low, high] = [quantile(ratios, 0.25), quantile(ratios, 0.75)]
  return [
    `${rounded(median(both.map(({ is }) => is)))}${unit}`,
    `${median(ratios).toFixed(3)} (${low.toFixed(2)}–${high.toFixed(2)})`,
  ]
}
