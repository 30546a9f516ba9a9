// DBOS under the same load as Holdfast. Started by `bench/dbos.ts`:
//
//   node dbos.mjs <folder with node_modules> <database url> <shape> <plan as JSON>
//
// Says "ready" when it is warm, begins when it is sent a line, prints one line of JSON, and ends
// when its input ends.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const [folder, url, shape, planText] = process.argv.slice(2)
const { inFlight, ms, warmUpMs, samples } = JSON.parse(planText)
const { DBOS } = createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk')

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  systemDatabasePoolSize: 10,
  logLevel: 'error',
  runAdminServer: false,
})
const workflow = DBOS.registerWorkflow(shape === 'FAN' ? fan : sequential, { name: shape })
await DBOS.launch()

const warmUp = await fullLoad(warmUpMs)
console.log('ready')
await lines.next()

const startMs = performance.now()
const cpuBefore = process.cpuUsage()
const latencies = samples > 0 ? await oneAtATime() : []
const workflows = samples > 0 ? samples : await fullLoad(ms)
const seconds = (performance.now() - startMs) / 1_000
const { user, system } = process.cpuUsage(cpuBefore)
const cpu = (user + system) / 1e6 / seconds
console.log(JSON.stringify({ workflows, seconds, cpu, latencies, warmUp }))

await lines.next()
await DBOS.shutdown()
process.exit(0)

async function noop() {
  return 1
}

async function sequential() {
  const steps = Number(shape.slice(1))
  let sum = 0
  for (let step = 0; step < steps; step++) sum += await DBOS.runStep(noop, { name: `s${step}` })
  return sum
}

async function fan() {
  const done = await Promise.all(
    Array.from({ length: 50 }, (_, i) => DBOS.runStep(noop, { name: `f${i}` })),
  )
  return done.length
}

async function runOne() {
  const handle = await DBOS.startWorkflow(workflow)()
  await handle.getResult()
}

async function fullLoad(forMs) {
  const untilMs = performance.now() + forMs
  let done = 0
  const lane = async () => {
    while (performance.now() < untilMs) {
      await runOne()
      done++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return done
}

async function oneAtATime() {
  const took = []
  for (let sample = 0; sample < samples; sample++) {
    const beganMs = performance.now()
    await runOne()
    took.push(performance.now() - beganMs)
    await setTimeout(2)
  }
  return took
}
