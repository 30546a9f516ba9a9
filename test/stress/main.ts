// oxlint-disable no-console -- a program that prints

// Puts load on stores and says what they came to: `npm run stress`. Ends with 1 when a criterion was
// not met.
//
//   npm run stress -- [scenario …] [--store file,postgres] [--long] [--smoke]
//
// A store is `memory`, `file`, `postgres` (one of its own, or what HOLDFAST_STRESS_PG_URL names), or the
// path of a module whose default export opens a place on another one (`OpenPlace` in `scenario.ts`).

import { parseArgs } from 'node:util'

import { printGrid } from '../../bench/table.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { cellsOf, COLUMNS } from './outcome.ts'
import { placesOn } from './places.ts'
import { play, type Played, SCENARIOS } from './play.ts'
import type { Scenario, Size } from './scenario.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'file,postgres' },
    long: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
})
const size: Size = values.smoke ? 'smoke' : 'full'

const scenarios = chosen(positionals)
if (scenarios !== undefined) {
  let server: PostgresServer | undefined
  const postgresUrl = async (): Promise<string> =>
    process.env['HOLDFAST_STRESS_PG_URL'] ?? (server ??= await startPostgres()).url
  // By way of exit, so that nothing started here stays behind.
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  try {
    for (const store of values.store.split(',')) await playAll(store, scenarios, postgresUrl)
  } finally {
    await server?.remove()
  }
}

/** Those that were named, or all; `undefined` when there is none of such a name. */
function chosen(names: readonly string[]): readonly Scenario[] | undefined {
  const known = SCENARIOS.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    console.error(`stress: there is no "${unknown.join('", "')}"; there are ${known.join(', ')}`)
    process.exitCode = 1
    return undefined
  }
  if (names.length > 0) return SCENARIOS.filter(({ name }) => names.includes(name))
  return SCENARIOS.filter(({ isLong = false }) => !isLong || values.long)
}

async function playAll(
  store: string,
  wanted: readonly Scenario[],
  postgresUrl: () => Promise<string>,
): Promise<void> {
  const openPlace = await placesOn(store, postgresUrl)
  const all: Played[] = []
  for (const scenario of wanted) {
    console.log(`${store}: ${scenario.name}: ${scenario.what}`)
    all.push(await play(scenario, openPlace, size))
  }
  printGrid(`${store}, Node ${process.version}${size === 'smoke' ? ', smoke' : ''}`, [
    ['', ...COLUMNS, 'verdict'],
    ...all.flatMap(linesOf),
  ])
  for (const { scenario, results } of all) {
    for (const finding of results.flatMap(({ findings }) => findings)) {
      console.log(`  ${store}, ${scenario.name}: ${finding}`)
      process.exitCode = 1
    }
  }
}

function linesOf({ scenario, results, skipped }: Played): string[][] {
  if (skipped !== undefined) return [[scenario.name, ...COLUMNS.map(() => '–'), skipped]]
  return results.map(({ part, outcome, findings }) => [
    part === undefined ? scenario.name : `${scenario.name}, ${part}`,
    ...cellsOf(outcome),
    findings.length === 0 ? 'met' : 'MISSED',
  ])
}
