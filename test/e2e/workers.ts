import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import type { WorkerOrder } from './programs/worker.ts'
import type { StorePlace } from './store-place.ts'

/** Short, so that rounds are. Ticks come three times as often. */
export const LEASE_MS = 2_000
export const TICK_MS = LEASE_MS / 3

/** A worker process. */
export class WorkerProcess {
  readonly pid: number
  /** Resolves when it begins to open the store; also when it ended before. */
  readonly loaded: Promise<void>
  /** Resolves when its runtime works; also when it ended before. */
  readonly ready: Promise<void>
  /** Resolves with the exit code; `null` when it was killed. */
  readonly ended: Promise<number | null>
  /** Ids of the starts that were acknowledged. */
  readonly started: string[] = []
  /** Called with each of them. */
  onStarted: ((id: string) => void) | undefined
  /** What it logged, warnings and errors. */
  log = ''
  readonly #child: ChildProcess
  readonly #lines: Interface

  constructor(program: string, order: WorkerOrder) {
    const args = [program, JSON.stringify(order)]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.pid = this.#child.pid!
    this.#child.stderr!.on('data', (chunk) => (this.log += String(chunk)))
    this.ended = once(this.#child, 'close').then(([code]) => code as number | null)
    this.#lines = createInterface(this.#child.stdout!)
    this.loaded = this.#said('loaded')
    this.ready = this.#said('ready')
    this.#lines.on('line', (line) => {
      if (!line.startsWith('started ')) return
      const id = line.slice('started '.length)
      this.started.push(id)
      this.onStarted?.(id)
    })
  }

  /** Resolves when this many of its starts were acknowledged; also when it ended before. */
  acknowledged(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#lines.on('line', () => this.started.length >= count && resolve())
      void this.ended.then(() => resolve())
    })
  }

  /** Has it call `process.exit`, without closing anything; resolves when it is gone. */
  async exit(): Promise<void> {
    this.#child.kill('SIGUSR2')
    await this.ended
  }

  /** `kill -9`; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  /** Stops it where it is. */
  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  #said(wanted: string): Promise<void> {
    return new Promise((resolve) => {
      this.#lines.on('line', (line) => line === wanted && resolve())
      void this.ended.then(() => resolve())
    })
  }

  /** Asks it to close its runtime and end. */
  stop(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    return this.ended
  }
}

/** The worker processes of one scene. */
export class Workers {
  readonly all: WorkerProcess[] = []
  readonly #killAtExit = (): void => this.all.forEach((worker) => void worker.kill())
  readonly #program: string
  readonly #place: { readonly store: StorePlace; readonly ledger: string }

  constructor(program: string, place: { readonly store: StorePlace; readonly ledger: string }) {
    this.#program = program
    this.#place = place
    process.on('exit', this.#killAtExit)
  }

  start(order: Partial<WorkerOrder> = {}): WorkerProcess {
    const started = new WorkerProcess(this.#program, {
      ...this.#place,
      leaseMs: LEASE_MS,
      ...order,
    })
    this.all.push(started)
    return started
  }

  /** Ids whose start was confirmed to some worker. */
  get acknowledged(): readonly string[] {
    return this.all.flatMap(({ started }) => started)
  }

  async killAll(): Promise<void> {
    process.off('exit', this.#killAtExit)
    await Promise.all(this.all.map((worker) => worker.kill()))
  }
}
