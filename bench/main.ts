// Runs the benchmarks named on the command line, or all: `npm run bench -- workers`.
// `--smoke` runs each for a moment, to see that it still works; its figures mean nothing.

import { benchCodec } from './codec.ts'
import { printTable, type Row } from './table.ts'
import { benchWorkers } from './workers.ts'

const BENCHES: Record<string, (options: { smoke: boolean }) => Promise<Row[]>> = {
  workers: benchWorkers,
  codec: benchCodec,
}

const given = process.argv.slice(2)
const smoke = given.includes('--smoke')
const names = given.filter((argument) => argument !== '--smoke')
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name))

if (unknown.length > 0) {
  const known = Object.keys(BENCHES).join(', ')
  console.error(`bench: there is no "${unknown.join('", "')}"; there are ${known} and --smoke`)
  process.exitCode = 1
} else {
  console.log(
    `Node ${process.version}, ${process.platform} ${process.arch}${smoke ? ', smoke' : ''}`,
  )
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (names.length === 0 || names.includes(name)) printTable(name, await bench({ smoke }))
  }
}
