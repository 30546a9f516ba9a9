// Messages from a process that only sends to a process that only receives. Measures how soon the
// second one is notified.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { type Duration, open, type Registrable, type Runtime, workflow } from '../build/index.js'
import { mail } from './channel.ts'
import { checkRecorded, type Place, type Recorded } from './holdfast.ts'
import { plainProgram } from './plain-program.ts'

const SENDER = join(import.meta.dirname, 'sender.ts')
// Far longer than any tick.
const LONGEST_WAIT = '2m'

/** What is sent, and how long the lease of the receiving process is. */
export interface CrossingSize {
  readonly instances: number
  readonly messagesEach: number
  /** Messages come evenly, so that they meet each moment between two ticks. */
  readonly everyMs: number
  readonly lease: Duration
}

/** What the sending process is given. */
export interface SenderPlan extends Omit<CrossingSize, 'lease'> {
  readonly url: string
  readonly ids: readonly string[]
}

/** The time on the clock that the processes of a machine share, to parts of a millisecond. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now()
}

/** What else the receiving process does meanwhile, and what that leaves in the tables. */
export interface OtherWork {
  readonly register: Registrable
  begin(runtime: Runtime): { stop(): Promise<Pick<Recorded, 'completed' | 'events'>> }
}

/** Milliseconds since `send` was called there, for each message. */
export interface Crossings {
  /** Until the code of the receiver here has it. */
  readonly received: readonly number[]
  /** Until the receiver has its first effect: by then it is recorded that it has it. */
  readonly seen: readonly number[]
}

/** Sends messages from another process to instances in this one. */
export async function crossings(
  place: Place,
  size: CrossingSize,
  other?: OtherWork,
): Promise<Crossings> {
  let left = { completed: 0, events: 0 }
  const took = { received: [] as number[], seen: [] as number[] }
  const reader = workflow<number, void>('reader', async (messages, ctx) => {
    for (let message = 0; message < messages; message++) {
      const sentMs = await ctx.receive(mail)
      // No history is run through again here, so that each message comes by once.
      took.received.push(wallMs() - sentMs)
      await ctx.step('seen', () => void took.seen.push(wallMs() - sentMs))
    }
  })
  {
    const register = [reader, other?.register ?? []]
    await using runtime = await open(place.store(), { register, lease: size.lease })
    const readers = await Promise.all(
      Array.from({ length: size.instances }, () => runtime.start(reader, size.messagesEach)),
    )
    const working = other?.begin(runtime)
    await sendFromElsewhere({ ...size, url: place.url, ids: readers.map(({ id }) => id) })
    await Promise.all(readers.map((instance) => instance.result({ timeout: LONGEST_WAIT })))
    if (working !== undefined) left = await working.stop()
  }
  await checkRecorded(place, 'CHANNEL between processes', {
    completed: left.completed + size.instances,
    events: left.events + size.instances * (2 + 4 * size.messagesEach),
    waiting: 0,
  })
  return took
}

async function sendFromElsewhere(plan: SenderPlan): Promise<void> {
  const sender = spawn(process.execPath, [plainProgram(SENDER), JSON.stringify(plan)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    const [code] = (await once(sender, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`bench/sender.ts ended with ${code}`)
  } finally {
    sender.kill()
  }
}
