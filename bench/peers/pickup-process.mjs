// Shared by the scripts that measure how soon another process gets work. `bench/pickup-peers.ts`
// starts them, one process that works and one that sends:
//
//   node <script> <folder with node_modules> <database url> work|send <plan as JSON>
//
// The worker prints "ready", and the milliseconds that each message took when all have arrived. The
// sender prints "ready", begins when it reads a line, and prints "sent". Both end when their input ends.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [folder, givenUrl, role, planText] = process.argv.slice(2)
const { messages, everyMs } = JSON.parse(planText)

export const url = givenUrl

/** A package of that folder. */
export async function load(name) {
  const home = join(folder, 'node_modules', name)
  const { exports: entries, main = 'index.js' } = JSON.parse(
    readFileSync(join(home, 'package.json'), 'utf8'),
  )
  let entry = entries?.['.'] ?? entries ?? main
  while (typeof entry === 'object') entry = entry.import ?? entry.node ?? entry.default
  return import(pathToFileURL(join(home, entry)).href)
}

/** The time on the clock that the processes of a machine share, to parts of a millisecond. */
function wallMs() {
  return performance.timeOrigin + performance.now()
}

/**
 * `work(seen)` begins to work, and calls `seen` with what was sent of each message. `send()` connects
 * and resolves to what sends one.
 */
export async function runAs({ work, send }) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  if (role === 'work') {
    const took = []
    const all = new Promise((resolve) => {
      void work((sentMs) => {
        took.push(wallMs() - sentMs)
        if (took.length === messages) resolve()
      }).then(() => console.log('ready'))
    })
    void all.then(() => console.log(JSON.stringify(took)))
    await lines.next()
  } else {
    const sendOne = await send()
    console.log('ready')
    await lines.next()
    const startMs = performance.now()
    for (let message = 0; message < messages; message++) {
      await setTimeout(Math.max(0, startMs + message * everyMs - performance.now()))
      await sendOne(wallMs())
    }
    console.log('sent')
    await lines.next()
  }
  process.exit(0)
}
