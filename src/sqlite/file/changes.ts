// Notices what others commit to the same file: other processes, and connections of the user.
//
//   - SQLite counts the commits of others for each connection (`data_version`): to look costs a few
//     microseconds and no lock. It is looked at in the thread that writes, whose own commits do
//     not count.
//   - It is looked at often while another runtime is alive, more often when something was noticed
//     just now, and seldom otherwise: a process alone on its file hardly notices that it looks.

import { type Clock, systemClock, type Timer } from '../../base/time/clock.ts'
import type { Database, Transaction } from './database.ts'

const WATCHFUL_MS = 5
const IN_COMPANY_MS = 10
const ALONE_MS = 100
// Those who only send have no row that would tell of them. Who sent once may send again.
const STAY_AWAKE_MS = 2_000
const LOOK_AROUND_MS = 1_000

/** Looks for commits of others, now and then. */
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

  /** `noticed` is called after each look that found something. */
  constructor(opened: () => Database, noticed: () => void, clock = systemClock()) {
    this.#clock = clock
    this.#opened = opened
    this.#noticed = noticed
  }

  /** Begins to look, or goes on; `own` are the runtimes of this process. */
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
      // The operations that fail of it say what is wrong with the file.
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
