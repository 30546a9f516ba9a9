// Notices what others commit to the same file: other processes, and connections of the user.
//
//   - SQLite counts the commits of others for each connection (`data_version`): reading the count
//     takes a few microseconds and no lock. It is read in the thread that writes, whose own commits
//     do not count.
//   - It is read often while another runtime is alive, more often just after a change, and rarely
//     otherwise: that costs a process which is alone on its file next to nothing.

import { type Clock, systemClock, type Timer } from '../../base/time/clock.ts'
import type { Database, Transaction } from './database.ts'

const WATCHFUL_MS = 5
const IN_COMPANY_MS = 10
const ALONE_MS = 100
// A process that only sends has no row that would show it. One that sent once may send again.
const STAY_AWAKE_MS = 2_000
const LOOK_AROUND_MS = 1_000

/** Polls for commits of other processes. */
export class Changes {
  readonly #opened: () => Database
  readonly #noticed: () => void
  #own: readonly number[] = []
  readonly #clock: Clock
  #timer: Timer | undefined
  #version: number | undefined
  #noticedMs = -Infinity
  #lookedAroundMs = -Infinity
  #hasCompany = false

  /** `noticed` is called after each poll that found a commit. */
  constructor(opened: () => Database, noticed: () => void, clock = systemClock()) {
    this.#clock = clock
    this.#opened = opened
    this.#noticed = noticed
  }

  /** Starts or continues to poll; `own` are the runtimes of this process. */
  watch(own: readonly number[]): void {
    this.#own = own
    this.#lookedAroundMs = -Infinity
    this.stop()
    this.#look()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #look(): void {
    const nowMs = this.#clock.now()
    try {
      const version = this.#opened().dataVersion()
      const isNew = this.#version !== undefined && version !== this.#version
      this.#version = version
      if (isNew) {
        this.#noticedMs = nowMs
        this.#noticed()
      }
      if (isNew || nowMs - this.#lookedAroundMs >= LOOK_AROUND_MS) this.#lookAround(nowMs)
    } catch {
      // Operations that fail because of it report what is wrong with the file.
    }
    this.#timer = this.#clock.after(this.#pauseMs(nowMs), () => this.#look())
  }

  #pauseMs(nowMs: number): number {
    if (nowMs - this.#noticedMs < STAY_AWAKE_MS) return WATCHFUL_MS
    return this.#hasCompany ? IN_COMPANY_MS : ALONE_MS
  }

  #lookAround(nowMs: number): void {
    this.#lookedAroundMs = nowMs
    this.#hasCompany = this.#opened().read('sqlite changes', 0, (tx) => isInCompany(tx, this.#own))
  }
}

const OTHERS = `
select 1 from runtimes
where state = 'alive' and lease_until > ? and runtime not in (select value from json_each(?))
limit 1`

/** Whether another runtime than these is alive. */
function isInCompany(tx: Transaction, own: readonly number[]): boolean {
  return tx.sql(OTHERS).get(tx.now, JSON.stringify(own)) !== undefined
}
