// Whether a user of a queue is alive: it holds a lock on a small file beside the queue's for as
// long as it lives. The system drops a lock when its process ends, for whatever reason; process ids
// mean nothing across containers, and some containers show a boot of their own.
//
//   - A user takes its lock before others can see it: within the transaction that adds it.
//   - A missing file proves nothing. The process that removes a user from the table removes its
//     file.
//
// SQLite itself locks the file, as it does with the queue's; that works across containers, too.

import { existsSync, rmSync } from 'node:fs'
import type { Transaction } from '../file/database.ts'
import { type Driver, openDriver } from '../connect/driver.ts'
import { openPrivately } from '../file/private-file.ts'
import { isBusy } from '../connect/sqlite-error.ts'
import { fileOf } from './file.ts'

/** One that was found to be there is so for a while: looking means to open a file. */
const TRUSTED_MS = 250

const held = new Map<string, Driver>()
/** When others were found to be there, the latest last; only as long as that is trusted. */
const seenAtMs = new Map<string, number>()

/** Holds the lock of a user, if this thread does not do so already. */
export function lockPresence(tx: Transaction, session: number): void {
  const path = presencePath(tx, session)
  if (path === undefined || held.has(path)) return
  const lock = openPrivately(path, () => openLock(path), fileOf(tx))
  if (typeof lock === 'object') held.set(path, lock)
  // A file without a lock would say that its user has ended.
  else if (lock === 'failed') remove(path)
  // Otherwise another process checks it at this moment, or a thread before this one has not quite ended:
  // with the next thing that this user does it retries.
}

/** Gives up the lock of a user, of this thread or of none, and removes its file. */
export function unlockPresence(tx: Transaction, session: number): void {
  const path = presencePath(tx, session)
  if (path === undefined) return
  held.get(path)?.close()
  held.delete(path)
  seenAtMs.delete(path)
  remove(path)
}

/** Whether a user holds its lock; `undefined` if that cannot be determined. */
export function isPresent(tx: Transaction, session: number): boolean | undefined {
  const path = presencePath(tx, session)
  if (path === undefined) return undefined
  if (held.has(path) || performance.now() - (seenAtMs.get(path) ?? -Infinity) < TRUSTED_MS) {
    return true
  }
  if (!existsSync(path)) return undefined
  const lock = openLock(path)
  if (lock === 'failed') return undefined
  if (lock === 'busy') {
    remember(path)
    return true
  }
  lock.close()
  return false
}

/** How many locks are held, and how many locks of others were seen, for tests. */
export function presenceCounts(): { readonly held: number; readonly seen: number } {
  return { held: held.size, seen: seenAtMs.size }
}

// Users come and go, and each has a number of its own: what is no longer trusted must go.
function remember(path: string): void {
  const nowMs = performance.now()
  for (const [other, atMs] of seenAtMs) {
    if (nowMs - atMs < TRUSTED_MS) break
    seenAtMs.delete(other)
  }
  seenAtMs.delete(path)
  seenAtMs.set(path, nowMs)
}

/** The lock; or `busy`, when another process has it, or `failed`, when that cannot be determined. */
function openLock(path: string): Driver | 'busy' | 'failed' {
  let lock: Driver | undefined
  try {
    lock = openDriver(path, undefined)
    // Nothing is ever written to it: without this SQLite would prepare for that.
    lock.exec('pragma journal_mode = memory; begin immediate')
    return lock
  } catch (error) {
    lock?.close()
    return isBusy(error) ? 'busy' : 'failed'
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Some systems cannot remove an open file. It is no longer needed.
  }
}

function presencePath(tx: Transaction, session: number): string | undefined {
  const file = fileOf(tx)
  return file === undefined ? undefined : `${file}-user-${session}`
}
