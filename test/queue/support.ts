import { vi } from 'vitest'
import { type Clock, sleep, type Timer } from '../../src/base/time/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { type DurableQueue, openDurableQueue } from '../../src/queue/durable-queue.ts'
import { openQueue, type Queue, type QueueOptions } from '../../src/queue/index.ts'
import { queueSettings } from '../../src/queue/options.ts'
import { Database } from '../../src/sqlite/file/database.ts'
import { type SqliteSettings, sqliteSettings } from '../../src/sqlite/connect/options.ts'
import { perform } from '../../src/sqlite/thread/perform.ts'
import { SqliteQueueStore, type Thread } from '../../src/sqlite/queue-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { tempFile } from '../support/sqlite.ts'

/** The ways to open a queue. */
export const MODES: readonly (readonly [mode: string, options: QueueMode])[] = [
  ['eager', { lazy: false }],
  ['lazy', { lazy: true }],
  ['lazy and threadless', { lazy: true, thread: false }],
]

type QueueMode = Pick<QueueOptions, 'lazy' | 'thread'>

/** A file for queues, which are closed before it is removed. Tests that end no power need no fsync. */
export function queueFile() {
  const file = tempFile()
  const opened: Queue<never>[] = []
  return {
    path: file.path,
    async open<T>(options: QueueOptions<T> = {}): Promise<Queue<T>> {
      const queue = await openQueue<T>(file.path, { durability: 'os', log: silentLog, ...options })
      opened.push(queue as Queue<never>)
      return queue
    },
    /** Closes a queue and opens it again. */
    async reopen<T>(queue: Queue<T>, options: QueueOptions<T> = {}): Promise<Queue<T>> {
      await queue.close()
      return this.open(options)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(opened.map((queue) => queue.close()))
      file[Symbol.dispose]()
    },
  }
}

/**
 * While it lasts the machine's own time does not move, so that only the test moves that of a store.
 */
export function stillTime(what: 'Date' | 'performance' = 'Date'): Disposable {
  vi.useFakeTimers({ toFake: [what] })
  return { [Symbol.dispose]: () => void vi.useRealTimers() }
}

/** A promise and what resolves it. */
export function gate<T = void>() {
  let open!: (value: T) => void
  const passed = new Promise<T>((resolve) => (open = resolve))
  return { passed, open }
}

/** The data of everything that can be taken now, in order. */
export async function takeAll<T>(queue: Queue<T>): Promise<T[]> {
  const deliveries = await queue.takeMany(1_000)
  return deliveries.map(({ data }) => data)
}

/** Settings for a file with queues. */
export function queueFileSettings(path: string): SqliteSettings {
  return { ...sqliteSettings({ path, durability: 'os' }), holds: 'queues' }
}

/** Does at once what a thread does, so that time and crashes can be played with. */
export function inlineThread(database: Database): Thread {
  return {
    async call(operation, args, clockOffsetMs = 0) {
      return perform(database, operation, args, clockOffsetMs) as never
    },
    async close() {},
  }
}

/** What a test may make of the way to the store. */
export interface Trouble {
  /** Answers come this much later, by the clock of the queue. */
  latencyMs: number
  /** This many of the next calls find the file busy. */
  busyCalls: number
  /** Is called when a batch is committed. */
  afterApply: () => void
}

function troubled(thread: Thread, clock: Clock, trouble: Trouble): Thread {
  return {
    async call(operation, args, clockOffsetMs) {
      if (trouble.busyCalls > 0) {
        trouble.busyCalls--
        throw new StoreError('busy', `sqlite ${operation}`, 'the file is busy')
      }
      const answer = await thread.call(operation, args, clockOffsetMs)
      if (operation === 'queueApply') trouble.afterApply()
      if (trouble.latencyMs > 0) await sleep(clock, trouble.latencyMs)
      return answer
    },
    close: () => thread.close(),
  }
}

/** The same clock, and how many of its timers are set. */
function countingTimers(clock: Clock): { readonly clock: Clock; readonly timers: () => number } {
  const set = new Set<object>()
  const after = (ms: number, fire: () => void): Timer => {
    const timer = clock.after(ms, () => {
      set.delete(timer)
      fire()
    })
    set.add(timer)
    return {
      cancel() {
        set.delete(timer)
        timer.cancel()
      },
    }
  }
  return { clock: { ...clock, after }, timers: () => set.size }
}

/** A queue whose time the test moves, in memory unless it is given a database. */
export async function queueInTime<T>(
  options: QueueOptions<T> & { readonly database?: Database; readonly offsetMs?: number } = {},
) {
  const { database = new Database(queueFileSettings(':memory:')), offsetMs = 0, ...given } = options
  const time = virtualClock()
  const { clock, timers } = countingTimers(time)
  const trouble: Trouble = { latencyMs: 0, busyCalls: 0, afterApply() {} }
  const settings = queueSettings<T>({ log: silentLog, ...given })
  const thread = troubled(inlineThread(database), clock, trouble)
  const store = new SqliteQueueStore(thread, settings.name)
  store.advanceClock(offsetMs)
  const queue: DurableQueue<T> = await openDurableQueue<T>({
    ...settings,
    store,
    clock,
    idleClock: time,
    random: () => 0.5,
  })
  return {
    queue,
    store,
    database,
    trouble,
    /** How many timers keep the process alive. */
    timers,
    /** Lets time pass, for the queue and for its store, with all that falls due. */
    async pass(ms: number): Promise<void> {
      store.advanceClock(ms)
      await time.advance(ms)
    },
    [Symbol.asyncDispose]: () => queue.close(),
  }
}
