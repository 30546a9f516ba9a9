// A process that sends messages and runs nothing. Started by `bench/between-processes.ts`:
//
//   sender.ts <plan as JSON>

import { setTimeout } from 'node:timers/promises'

import { connect } from '../build/index.js'
import { type SenderPlan, wallMs } from './between-processes.ts'
import { mail } from './channel.ts'

const { url, ids, messagesEach, everyMs } = JSON.parse(process.argv[2]!) as SenderPlan

await using client = connect(url)
const instances = ids.map((id) => client.get(id))
// Connects, which is no part of the first message.
await instances[0]!.info()

const startMs = performance.now()
for (let message = 0; message < messagesEach * instances.length; message++) {
  await setTimeout(Math.max(0, startMs + message * everyMs - performance.now()))
  await instances[message % instances.length]!.send(mail, wallMs())
}
