// A process that puts its share of a load on a store. Started by `bench/many-processes.ts`:
//
//   load-process.ts <share as JSON>
//
// It says "ready" when it is warm, begins when it is sent a line, says what it did, and ends when its
// input ends.

import { createInterface } from 'node:readline'

import { open } from '../build/index.js'
import type { LoadDone, ShareOfLoad } from './many-processes.ts'
import { fullLoad, SHAPE_CODE, SHAPES } from './shapes.ts'

const share = JSON.parse(process.argv[2]!) as ShareOfLoad
const { url, inFlight, ms, warmUpMs } = share
const shape = SHAPES.find(({ name }) => name === share.shape)!

const runtime = await open(url, { register: SHAPE_CODE })
const run = (): Promise<number> => runtime.run(shape.workflow)
const warmUp = await fullLoad(run, { inFlight, ms: warmUpMs })
console.log('ready')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await lines.next()
const load = await fullLoad(run, { inFlight, ms })
const done: LoadDone = { load, warmUp }
console.log(JSON.stringify(done))
await lines.next()
await runtime.close()
