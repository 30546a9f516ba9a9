// A process that runs tasks and nothing else. Started by `bench/elsewhere.ts`:
//
//   task-runtime.ts <url of the store>
//
// It prints "ready" when it takes tasks, prints what it did so far for each line that it reads, and
// ends when its input ends.

import { createInterface } from 'node:readline'

import { open } from '../build/index.js'
import { type Did, executed, noop } from './elsewhere.ts'

const runtime = await open(process.argv[2]!, { register: noop })
console.log('ready')
for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage()
  const did: Did = { executed: executed(), cpuSeconds: (user + system) / 1e6 }
  console.log(JSON.stringify(did))
}
await runtime.close()
