// A process whose event loop is blocked for a while, or forever: `stalls.ts <order as JSON>`. It
// prints `ready` when its runtime works, and `did <what>` for each activity that it began. On
// SIGTERM it closes its runtime and ends by itself.

import { writeSync } from 'node:fs'
import { setTimeout as passTime } from 'node:timers/promises'
import { activity, open, workflow } from '../../../src/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'

/** What such a process is given. */
export interface StallOrder {
  readonly store: StorePlace
  readonly leaseMs: number
  readonly watchdogMs: number
  /** Whether the watchdog ends the process. */
  readonly kill?: boolean
  /** Instances to be started, by the name of their workflow, which is their id as well. */
  readonly starts: readonly StallWorkflow[]
  /** Tags of activities that it serves, beside those without one. */
  readonly tags?: readonly string[]
  /** Code outside workflows loops forever after the starts. */
  readonly hangs?: boolean
}

export type StallWorkflow = keyof typeof workflows

// Written to the pipe at once: a loop that hangs writes nothing later.
const say = (line: string): unknown => writeSync(1, `${line}\n`)

const NO_RETRY = { retry: { maxAttempts: 1 } } as const

const begin = activity('begin', NO_RETRY, async (what: string) => say(`did ${what}`) as number)
/** Keeps working while the event loop is blocked. */
const await3s = activity('await3s', NO_RETRY, async () => {
  say('did wait')
  await passTime(3_000)
})
const stall = activity('stall', NO_RETRY, async (ms: number) => {
  say('did stall')
  block(ms)
})
const spinInActivity = activity('spin', NO_RETRY, async () => spin())

const spinFarAway = activity('spin-far-away', { ...NO_RETRY, tag: 'far' }, async () => {
  say('did spin')
  spin()
})

const workflows = {
  stalls: workflow('stalls', async (_: null, ctx) => {
    await ctx.run(begin, 'before')
    await ctx.run(stall, 6_000)
    await ctx.run(begin, 'after')
  }),
  /** Blocks every process that repeats it, but not forever. */
  stallsAlways: workflow('stallsAlways', async (_: null, ctx) => {
    await ctx.run(begin, 'before')
    block(2_500)
    await ctx.run(begin, 'after')
  }),
  waits: workflow('waits', async (_: null, ctx) => {
    await ctx.run(await3s)
    await ctx.run(begin, 'waited')
  }),
  neighbour: workflow('neighbour', async (_: null, ctx) => {
    await ctx.run(begin, 'first')
    await ctx.sleep('1s')
    await ctx.run(begin, 'second')
  }),
  loops: workflow('loops', async (_: null, ctx) => {
    await ctx.run(begin, 'loop')
    spin()
  }),
  loopsAtOnce: workflow('loopsAtOnce', async () => spin()),
  loopsSoftly: workflow('loopsSoftly', async (_: null, ctx) => {
    await ctx.run(begin, 'loop')
    for (;;) await Promise.resolve()
  }),
  runsLoop: workflow('runsLoop', (_: null, ctx) => ctx.run(spinInActivity)),
  runsFarLoop: workflow('runsFarLoop', (_: null, ctx) => ctx.run(spinFarAway)),
}

/** Blocks the loop, and leaves the core to the other processes of a test. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function spin(): never {
  for (;;);
}

const order = JSON.parse(process.argv[2]!) as StallOrder
const runtime = await open(storeOf(order.store), {
  // A process that never ran its workflow has to be given the activity.
  register: { ...workflows, spinFarAway },
  lease: order.leaseMs,
  watchdog: { after: order.watchdogMs, kill: order.kill ?? false },
  tags: order.tags ?? [],
})
process.once('SIGTERM', () => void runtime.close({ drain: 0 }))
say('ready')
for (const name of order.starts) await runtime.start(workflows[name], null, { id: name })
if (order.hangs === true) setTimeout(() => spin(), 200)
