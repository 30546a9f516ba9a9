// What queues do all day, without an end. Without a thread, so that what the file's side keeps is
// in the same heap.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../../src/base/log.ts'
import {
  type Delivery,
  MemoryQueue,
  openQueue,
  type Queue,
  type QueueOptions,
} from '../../src/queue/index.ts'
import type { Load, NamedLoad, OpenLoad } from './watch.ts'

const OPTIONS: QueueOptions<string> = {
  durability: 'os',
  lazy: true,
  log: silentLog,
  thread: false,
  backoff: { initial: 0, max: 0 },
}

/** Something that is done with a queue; `times` is how often. */
type Use = (queue: Queue<string>, times: number, signal: AbortSignal) => Promise<void>

/** A queue in a file that is used. */
function used(use: Use): OpenLoad {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-leaks-'))
    const queue = await openQueue<string>(join(folder, 'queue.db'), OPTIONS)
    const { signal } = new AbortController()
    return {
      run: (times) => use(queue, times, signal),
      async [Symbol.asyncDispose]() {
        await queue.close()
        rmSync(folder, { recursive: true })
      },
    }
  }
}

const AT_ONCE = 100

async function inBatches(times: number, one: (size: number) => Promise<unknown>): Promise<void> {
  for (let left = times; left > 0; left -= AT_ONCE) await one(Math.min(left, AT_ONCE))
}

async function flaky({ attempt, id }: Delivery<string>): Promise<void> {
  if (attempt === 1 && id % 10 === 0) throw new Error('once more')
}

async function handle(queue: Queue<string>, times: number): Promise<void> {
  await using _ = queue.handle(flaky, { concurrency: 20 })
  await inBatches(times, async (size) => {
    await queue.pushMany(Array.from({ length: size }, () => 'x'))
    await queue.drain({ timeout: '1m' })
  })
}

async function cycle(queue: Queue<string>, times: number, signal: AbortSignal): Promise<void> {
  const one = async (): Promise<void> => {
    await queue.push('x', { key: `key ${Math.random()}`, dedupeKey: `d ${Math.random()}` })
    const delivery = await queue.take({ timeout: '1m', signal })
    if (Math.random() < 0.1) await delivery!.nack()
    else await delivery!.ack()
  }
  await inBatches(times, (size) => Promise.all(Array.from({ length: size }, one)))
  for (const delivery of await queue.takeMany(1_000)) await delivery.ack()
}

async function lookInVain(queue: Queue<string>, times: number, signal: AbortSignal): Promise<void> {
  const one = async (): Promise<void> => {
    await queue.take({ signal })
    await queue.take({ timeout: 1, signal })
    await queue.drain({ signal })
  }
  await inBatches(times, (size) => Promise.all(Array.from({ length: size }, one)))
}

/** Queues that are opened and closed, each in a file of its own. */
async function files(): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-leaks-'))
  let number = 0
  return {
    async run(times) {
      for (let i = 0; i < times; i++) {
        const path = join(folder, `${++number}.db`)
        const queue = await openQueue<string>(path, OPTIONS)
        await queue.push('x')
        await queue.close()
        rmSync(path)
      }
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true })
    },
  }
}

/** Users of one queue that come and go, beside one that stays. */
async function users(): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-leaks-'))
  const path = join(folder, 'queue.db')
  const stays = await openQueue<string>(path, OPTIONS)
  return {
    async run(times) {
      for (let i = 0; i < times; i++) {
        const queue = await openQueue<string>(path, OPTIONS)
        await queue.push('x')
        await (await stays.take())!.ack()
        await queue.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await stays.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function inMemory(): Promise<Load> {
  const queue = new MemoryQueue<string>()
  const { signal } = new AbortController()
  return {
    async run(times) {
      await inBatches(times, async (size) => {
        const polls = Array.from({ length: size }, () => queue.poll({ timeout: '1m', signal }))
        for (let i = 0; i < size; i++) queue.push('x')
        await Promise.all(polls)
      })
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** All loads on queues. */
export const QUEUE_LOADS: readonly NamedLoad[] = [
  { name: 'messages that are handled', open: used(handle), share: 1, maxBytesEach: 64 },
  { name: 'messages that are pushed and taken', open: used(cycle), share: 1, maxBytesEach: 64 },
  { name: 'takes and drains in vain', open: used(lookInVain), share: 1, maxBytesEach: 64 },
  { name: 'messages in memory', open: inMemory, share: 1, maxBytesEach: 64 },
  { name: 'queues in files of their own', open: files, share: 1 / 20, maxBytesEach: 200 },
  { name: 'users of one queue', open: users, share: 1 / 20, maxBytesEach: 200 },
]
