// Work that a workflow of DBOS leaves to another process: a workflow on a queue, which only that other
// one takes work from. This script is both of them, `SERVE` and `TASK`.

import { createInterface } from 'node:readline'

import { DBOS, measure, plan, shape } from './dbos-process.mjs'
import { listenTo, QUEUE } from './dbos-queues.mjs'

// No step: what is on a queue is recorded without one.
const task = DBOS.registerWorkflow(async () => 1, { name: 'task' })
const owner = DBOS.registerWorkflow(runTask, { name: 'owner' })

await (shape === 'SERVE' ? serve() : load())

async function runTask() {
  const handle = await DBOS.startWorkflow(task, { queueName: QUEUE })()
  return await handle.getResult({ pollingIntervalMs: plan.pollMs })
}

async function serve() {
  listenTo(QUEUE)
  await DBOS.launch()
  await DBOS.registerQueue(QUEUE, { minPollingIntervalMs: plan.pollMs })
  console.log('ready')
  for await (const _ of createInterface({ input: process.stdin }));
  await DBOS.shutdown()
  process.exit(0)
}

async function load() {
  listenTo()
  await measure({ load: fullLoad, runOne })
}

async function runOne() {
  const handle = await DBOS.startWorkflow(owner)()
  await handle.getResult()
}

async function fullLoad(ms) {
  const untilMs = performance.now() + ms
  let done = 0
  const lane = async () => {
    do {
      await runOne()
      done++
    } while (performance.now() < untilMs)
  }
  await Promise.all(Array.from({ length: plan.inFlight }, lane))
  return done
}
