// What a durable push can be measured against: the disk, a bare log, and two stores that others build
// queues on. Those are installed into a folder of their own when they are wanted.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Batcher } from '../build/base/sync/batcher.js'

/** Something that stores a text so that it survives power loss. */
export interface Peer {
  readonly name: string
  push(text: string): Promise<unknown>
  close(): Promise<unknown>
}

/** The name of the log that is only appended to, from the main thread. */
export const BARE_LOG = 'bare append log'

/** How many times a second the disk takes 4 KiB more at the end of a file, synced. */
export function fdatasyncRate(folder: string, times: number): number {
  const file = openSync(join(folder, 'fdatasync'), 'w')
  const page = Buffer.alloc(4_096, 1)
  const startMs = performance.now()
  for (let i = 0; i < times; i++) {
    writeSync(file, page)
    fdatasyncSync(file)
  }
  const seconds = (performance.now() - startMs) / 1_000
  closeSync(file)
  return times / seconds
}

/** A log that is only appended to: no ids, no deliveries, nothing to find anything by. */
export async function appendLog(folder: string): Promise<Peer> {
  const file = await openFile(join(folder, 'append-log'), 'a')
  const batcher = new Batcher<string, void>(
    async (texts) => {
      await file.write(`${texts.join('\n')}\n`)
      await file.datasync()
      return texts.map(() => undefined)
    },
    { maxItems: 100_000 },
  )
  return { name: BARE_LOG, push: (text) => batcher.call(text), close: () => file.close() }
}

const LOG_IN_THREAD = `
const { openSync, writeSync, fdatasyncSync } = require('node:fs')
const { parentPort, workerData } = require('node:worker_threads')
const file = openSync(workerData, 'a')
parentPort.on('message', (text) => {
  writeSync(file, text)
  fdatasyncSync(file)
  parentPort.postMessage(0)
})`

/** The same log behind a thread: the least that something costs whose driver is synchronous. */
export function threadLog(folder: string): Peer {
  const path = join(folder, 'append-log-in-thread')
  const thread = new Worker(LOG_IN_THREAD, { eval: true, workerData: path })
  const batcher = new Batcher<string, void>(
    async (texts) => {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
      thread.postMessage(`${texts.join('\n')}\n`)
      await once(thread, 'message')
      return texts.map(() => undefined)
    },
    { maxItems: 100_000 },
  )
  return {
    name: 'append log in a thread',
    push: (text) => batcher.call(text),
    close: () => thread.terminate(),
  }
}

const WANTED = ['lmdb@^3.5.0', 'classic-level@^3.0.0']
const INSTALL_MS = 120_000

interface Lmdb {
  open(options: object): {
    put(key: number, value: string): Promise<boolean>
    readonly flushed: Promise<unknown>
    close(): Promise<void>
  }
}

interface ClassicLevel {
  readonly ClassicLevel: new (path: string) => {
    open(): Promise<void>
    batch(operations: readonly object[], options: { sync: boolean }): Promise<void>
    close(): Promise<void>
  }
}

/** LMDB and LevelDB; a text says why they cannot be had. */
export async function storePeers(folder: string): Promise<readonly Peer[] | string> {
  const home = join(tmpdir(), 'holdfast-bench-queue-peers')
  if (!existsSync(join(home, 'node_modules/classic-level'))) {
    mkdirSync(home, { recursive: true })
    const { status, stderr, error } = spawnSync(
      'npm',
      ['install', '--prefix', home, '--no-audit', '--no-fund', ...WANTED],
      { cwd: home, encoding: 'utf8', timeout: INSTALL_MS },
    )
    if (status !== 0) return `cannot be installed: ${error?.message ?? stderr.trim().slice(-200)}`
  }
  try {
    const require = createRequire(join(home, 'package.json'))
    return [
      lmdb(require('lmdb') as Lmdb, folder),
      await level(require('classic-level') as ClassicLevel, folder),
    ]
  } catch (error) {
    return `cannot be loaded: ${(error as Error).message}`
  }
}

function lmdb(module: Lmdb, folder: string): Peer {
  const store = module.open({ path: join(folder, 'lmdb'), noSync: false })
  let id = 0
  return {
    name: 'lmdb',
    async push(text) {
      await store.put(id++, text)
      await store.flushed
    },
    close: () => store.close(),
  }
}

async function level({ ClassicLevel }: ClassicLevel, folder: string): Promise<Peer> {
  const store = new ClassicLevel(join(folder, 'classic-level'))
  await store.open()
  let id = 0
  const batcher = new Batcher<string, void>(
    async (texts) => {
      const puts = texts.map((value) => ({
        type: 'put',
        key: String(id++).padStart(16, '0'),
        value,
      }))
      await store.batch(puts, { sync: true })
      return texts.map(() => undefined)
    },
    { maxItems: 100_000 },
  )
  return { name: 'classic-level', push: (text) => batcher.call(text), close: () => store.close() }
}
