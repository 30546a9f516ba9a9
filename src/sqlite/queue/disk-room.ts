import { statfsSync, statSync } from 'node:fs'
import type { Transaction } from '../file/database.ts'
import { fileOf } from './file.ts'

// A queue that has filled its disk can only be emptied if there is room left for that: deliveries
// and acknowledgements go through the WAL, which can begin anew only when all of its content has
// a place in the file.
//
//   - Pushes are refused while they would take the room that is kept for everything else.
//   - The WAL is emptied before what the file still has to grow by has no place any more.
//
// Others may fill the disk all the same; then what there is in the WAL and in the file has to do.

const MB = 1024 * 1024
/** So much is kept free: more than one batch without pushes takes. On a small disk it is a part of it. */
const KEPT = 8 * MB
const KEPT_PART = 1 / 8
/** The disk is looked at again when so much of what was found has been used, or so much time is over. */
const USED_PART = 1 / 4
const LOOK_AGAIN_MS = 1_000

/** What is known of a disk and of the file on it, in bytes. */
export interface Disk {
  readonly total: number
  readonly free: number
  /** So much longer the file gets when the WAL is emptied into it. */
  readonly owed: number
  /** What nothing is in, in the file. */
  readonly unused: number
  readonly wal: number
}

/** What a batch may do. */
export interface Allowance {
  readonly mayPush: boolean
  /** Whether the WAL has to be emptied now. */
  readonly mustEmptyWal: boolean
}

const UNLIMITED: Allowance = { mayPush: true, mustEmptyWal: false }

/** What a batch may do that takes so much room. */
export function allowanceFor(disk: Disk, bytes: number): Allowance {
  const { free, owed, unused, wal } = disk
  const kept = keptOf(disk)
  const growth = owed + Math.max(0, bytes - unused)
  const mayPush =
    free >= growth + bytes + kept ||
    // In the file's own room, and in that of the WAL, which begins anew when the disk is full.
    (growth === 0 && free + wal >= bytes + kept)
  return { mayPush, mustEmptyWal: owed > 0 && free < owed + bytes + 2 * kept }
}

function keptOf({ total }: Disk): number {
  return Math.min(KEPT, total * KEPT_PART)
}

/** What is known of the disk under one connection. */
class KnownDisk {
  readonly #path: string
  #budget = 0
  #lookedAtMs = -Infinity

  constructor(path: string) {
    this.#path = path
  }

  allowanceFor(tx: Transaction, bytes: number): Allowance {
    const nowMs = performance.now()
    this.#budget -= bytes
    if (this.#budget > 0 && nowMs - this.#lookedAtMs < LOOK_AGAIN_MS) return UNLIMITED
    const disk = this.#look(tx)
    if (disk === undefined) return UNLIMITED
    this.#lookedAtMs = nowMs
    this.#budget = (disk.free - disk.owed - 3 * keptOf(disk)) * USED_PART
    return allowanceFor(disk, bytes)
  }

  // Three small looks. A disk that says nothing of itself is taken for large.
  #look(tx: Transaction): Disk | undefined {
    try {
      const { bsize, blocks, bavail } = statfsSync(this.#path)
      if (blocks === 0) return undefined
      const page = pragma(tx, 'page_size')
      const file = statSync(this.#path).size
      return {
        total: blocks * bsize,
        free: bavail * bsize,
        owed: Math.max(0, pragma(tx, 'page_count') * page - file),
        unused: pragma(tx, 'freelist_count') * page,
        wal: statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      }
    } catch {
      return undefined
    }
  }
}

/** By path, for as long as this thread has a queue open there. */
const known = new Map<string, KnownDisk>()

/** What a batch that takes so much room may do in this file. */
export function allowanceOf(tx: Transaction, bytes: number): Allowance {
  const file = fileOf(tx)
  if (file === undefined) return UNLIMITED
  let disk = known.get(file)
  if (disk === undefined) known.set(file, (disk = new KnownDisk(file)))
  return disk.allowanceFor(tx, bytes)
}

/** Forgets the disk under a file. Whoever else has that open here looks at it again. */
export function forgetDisk(tx: Transaction): void {
  const file = fileOf(tx)
  if (file !== undefined) known.delete(file)
}

/** How many disks are known, for tests. */
export function knownDisks(): number {
  return known.size
}

function pragma(tx: Transaction, name: 'page_size' | 'page_count' | 'freelist_count'): number {
  return (tx.sql(`pragma ${name}`).get() as Record<string, number>)[name]!
}
