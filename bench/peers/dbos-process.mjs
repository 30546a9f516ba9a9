// What every script that measures DBOS shares. They are started by `bench/dbos.ts`:
//
//   node <script> <folder with node_modules> <database url> <shape> <plan as JSON>
//
// A script says "ready" when it is warm, begins when it is sent a line, prints one line of JSON, and
// ends when its input ends.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const [folder, url, givenShape, planText] = process.argv.slice(2)

export const { DBOS } = createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk')
export const shape = givenShape
export const plan = JSON.parse(planText)

DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  systemDatabasePoolSize: 10,
  logLevel: 'error',
  runAdminServer: false,
})

/**
 * Launches DBOS, with what is registered by then. `load(ms)` resolves to how much was done, `runOne`
 * does one thing; `finish` waits for what still runs.
 */
export async function measure({ prepare = async () => {}, load, runOne, finish = async () => {} }) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  await DBOS.launch()
  await prepare()
  const warmUp = await load(plan.warmUpMs)
  console.log('ready')
  await lines.next()

  const startMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const latencies = plan.samples > 0 ? await oneAtATime(runOne) : []
  const done = plan.samples > 0 ? plan.samples : await load(plan.ms)
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpu = (user + system) / 1e6 / seconds
  await finish()
  console.log(JSON.stringify({ done, seconds, cpu, latencies, warmUp }))

  await lines.next()
  await DBOS.shutdown()
  process.exit(0)
}

async function oneAtATime(runOne) {
  const took = []
  for (let sample = 0; sample < plan.samples; sample++) {
    const beganMs = performance.now()
    await runOne()
    took.push(performance.now() - beganMs)
    await setTimeout(2)
  }
  return took
}
