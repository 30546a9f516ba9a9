import { statfsSync, statSync } from 'node:fs'
import type { Transaction } from '../file/database.ts'
import { fileOf } from './file.ts'

// A queue that has filled its disk can only be emptied if there is space left for that: deliveries
// and acknowledgements go through the WAL, which can start over only when all of its content has a
// place in the file.
//
//   - Pushes are refused while they would use the space that is reserved for everything else.
//   - The WAL is emptied while the file still has space for its content.
//
// Other programs may still fill the disk; then the space inside the WAL and the file has to
// do.

const MB = 1024 * 1024
/**
 * This much is kept free: more than one batch without pushes takes. On a small disk it is a
 * fraction of it.
 */
const KEPT = 8 * MB
const KEPT_PART = 1 / 8
/**
 * The disk is measured again when this much of what was found has been used, or this much time has
 * passed.
 */
const USED_PART = 1 / 4
const LOOK_AGAIN_MS = 1_000

/** The sizes of a disk and of the file on it, in bytes. */
export interface Disk {
  readonly total: number
  readonly free: number
  /** How much the file grows when the WAL is emptied into it. */
  readonly owed: number
  /** Free space inside the file. */
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

/** What a batch of this size may do. */
export function allowanceFor(disk: Disk, bytes: number): Allowance {
  const { free, owed, unused, wal } = disk
  const kept = keptOf(disk)
  const growth = owed + Math.max(0, bytes - unused)
  const mayPush =
    free >= growth + bytes + kept ||
    // In the file's own room, and in that of the WAL, which starts over when the disk is full.
    (growth === 0 && free + wal >= bytes + kept)
  return { mayPush, mustEmptyWal: owed > 0 && free < owed + bytes + 2 * kept }
}

function keptOf({ total }: Disk): number {
  return Math.min(KEPT, total * KEPT_PART)
}

/** The disk under one connection. */
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

  // Three small reads. A disk that reports nothing is assumed to be large.
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

/** What a batch of this size may do in this file. */
export function allowanceOf(tx: Transaction, bytes: number): Allowance {
  const file = fileOf(tx)
  if (file === undefined) return UNLIMITED
  let disk = known.get(file)
  if (disk === undefined) known.set(file, (disk = new KnownDisk(file)))
  return disk.allowanceFor(tx, bytes)
}

/** Forgets the disk under a file. Other connections of this process to that file read it again. */
export function forgetDisk(tx: Transaction): void {
  const file = fileOf(tx)
  if (file !== undefined) known.delete(file)
}

/** How many disks are recorded, for tests. */
export function knownDisks(): number {
  return known.size
}

function pragma(tx: Transaction, name: 'page_size' | 'page_count' | 'freelist_count'): number {
  return (tx.sql(`pragma ${name}`).get() as Record<string, number>)[name]!
}
