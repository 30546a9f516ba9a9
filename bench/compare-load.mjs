// Load by one build of the package. Started by `bench/compare.ts`:
//
//   node compare-load.mjs <what to do as JSON>
//
// Plain JavaScript, so that nothing but the build itself is measured: a loader of TypeScript changes
// what closures cost. It says "ready" when it is warm, begins when it is sent a line, says what it did
// as JSON, and ends when its input ends.

import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const { dist, url, shape, inFlight, workflows } = JSON.parse(process.argv[2])
const { activity, channel, open, workflow } = await import(
  pathToFileURL(join(dist, 'index.js')).href
)

const noop = activity('noop', () => 1)

const sequential = (steps) => async (_, ctx) => {
  let sum = 0
  for (let step = 0; step < steps; step++) sum += await ctx.run(noop)
  return sum
}

const mail = channel('mail')
const child = workflow('child', async () => 1)
const MESSAGES = 20
const CHILDREN = 10

const CODE = {
  W1: sequential(1),
  W10: sequential(10),
  FAN: async (_, ctx) => {
    const done = await Promise.all(Array.from({ length: 50 }, () => ctx.run(noop)))
    return done.length
  },
  CHANNEL: async (_, ctx) => {
    for (let received = 0; received < MESSAGES; received++) await ctx.receive(mail)
  },
  CHILD: async (_, ctx) => {
    await Promise.all(Array.from({ length: CHILDREN }, () => ctx.run(child)))
  },
}

const measured = workflow(shape, CODE[shape])
const runtime = await open(url, { register: [noop, child, measured] })

/** One workflow, with what is sent to it. */
async function runOne() {
  if (shape !== 'CHANNEL') return runtime.run(measured)
  const instance = await runtime.start(measured)
  for (let sent = 0; sent < MESSAGES; sent++) await instance.send(mail, sent)
  return instance.result()
}

/** Runs this many workflows, some at a time. */
async function load(count) {
  let left = count
  const lane = async () => {
    while (left-- > 0) await runOne()
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

await load(Math.ceil(workflows / 5))
console.log('ready')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await lines.next()
const startMs = performance.now()
const cpuBefore = process.cpuUsage()
await load(workflows)
const { user, system } = process.cpuUsage(cpuBefore)
const seconds = (performance.now() - startMs) / 1_000
console.log(JSON.stringify({ perSecond: workflows / seconds, cpuUs: (user + system) / workflows }))
await lines.next()
await runtime.close({ drain: 0 })
