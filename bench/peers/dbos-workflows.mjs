// Workflows of DBOS under the same load as those of Holdfast.

import { DBOS, measure, plan, shape } from './dbos-process.mjs'

const CODE = { FAN: fan, CHILD: parent }

const child = DBOS.registerWorkflow(() => DBOS.runStep(noop, { name: 's0' }), { name: 'child' })
const workflow = DBOS.registerWorkflow(CODE[shape] ?? sequential, { name: shape })

await measure({ load: fullLoad, runOne })

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

async function parent() {
  const done = await Promise.all(Array.from({ length: 10 }, () => child()))
  return done.length
}

async function runOne() {
  const handle = await DBOS.startWorkflow(workflow)()
  await handle.getResult()
}

async function fullLoad(ms) {
  const untilMs = performance.now() + ms
  let done = 0
  const lane = async () => {
    while (performance.now() < untilMs) {
      await runOne()
      done++
    }
  }
  await Promise.all(Array.from({ length: plan.inFlight }, lane))
  return done
}
