// Disturbs a test at chosen points: writes of its processes, code of activities, and calls of the scenario.
//
//   - Points are numbered in the order in which they are reached. With the same seed and the same faults
//     that order is the same each time.
//   - Each call of the store waits for a few rounds of the event loop, as the seed says, so that processes
//     overtake each other.

import type { Random } from '../../engine/context/random.ts'
import type { CommitAnswer } from '../../store/commits.ts'
import type { Fault, FaultKind } from './fault-plan.ts'
import type { AroundCode } from './stubs.ts'
import type { TestClock } from './test-clock.ts'
import type { TestProcess } from './test-process.ts'
import type { TestProcesses } from './test-processes.ts'
import type { AroundCall } from './test-runtime.ts'
import { type CallObserver, never, type Settled } from './test-store.ts'
import { isRecorded, WriteTrace } from './write-trace.ts'

// As it is now: a test that replaces timers later must not stop us.
const { setImmediate } = globalThis

const MAX_ROUNDS = 3
// Most waits are short, and some are longer than common timeouts.
const MIN_MS = 10
const MAX_MS = 100_000
// What a lost notification would have announced is found by the next tick.
const TICK_MS = 10_000

type PointKind = 'write' | 'code' | 'call'

interface Effect {
  readonly kind: FaultKind
  readonly when: 'before' | 'after'
}

const EFFECTS: Readonly<Record<PointKind, readonly Effect[]>> = {
  write: [
    { kind: 'crash', when: 'before' },
    { kind: 'crash', when: 'after' },
    { kind: 'freeze', when: 'before' },
    { kind: 'freeze', when: 'after' },
    { kind: 'delay', when: 'before' },
    { kind: 'delay', when: 'after' },
    { kind: 'lost-hint', when: 'before' },
  ],
  code: [
    { kind: 'freeze', when: 'before' },
    { kind: 'delay', when: 'before' },
    { kind: 'delay', when: 'after' },
  ],
  call: [
    { kind: 'duplicate', when: 'after' },
    { kind: 'lost-hint', when: 'before' },
  ],
}

interface Strike extends Effect {
  readonly ms: number
}

/** The faults of one run. */
export class FaultInjector {
  /** What happened, in order. */
  readonly trace: string[] = []
  /** Which faults have struck. */
  readonly struck: string[] = []
  readonly #writes = new WriteTrace()
  readonly #faults: ReadonlyMap<number, Fault>
  readonly #kinds: ReadonlySet<FaultKind>
  readonly #order: Random | undefined
  #points = 0
  #overMs = 0
  #clock!: TestClock
  #processes!: TestProcesses

  /** Without `order`, processes do not overtake each other. */
  constructor(faults: readonly Fault[], kinds: readonly FaultKind[], order: Random | undefined) {
    this.#faults = new Map(faults.map((fault) => [fault.point, fault]))
    this.#kinds = new Set(kinds)
    this.#order = order
  }

  /** How many points were reached. */
  get points(): number {
    return this.#points
  }

  /** How long it takes until all faults are over. */
  get remainingMs(): number {
    return Math.max(0, this.#overMs - this.#clock.now())
  }

  /** A turn issued these commands. */
  get onTurn(): WriteTrace['onTurn'] {
    return this.#writes.onTurn
  }

  readonly attach = (clock: TestClock, processes: TestProcesses): void => {
    this.#clock = clock
    this.#processes = processes
  }

  readonly observe = (process: TestProcess): CallObserver => ({
    around: async (name, args, send) => {
      await this.#overtaken()
      if (!isRecorded(name)) return send()
      const what = this.#writes.describe(name, args)
      const strike = this.#reach('write', `runtime ${process.number} writes ${what}`)
      if (strike?.when === 'before') await this.#disturb(strike, process)
      const answer: Settled = process.isDead ? await never() : await send()
      if (isRefused(name, answer)) this.trace.push('  (refused: another runtime owns it by now)')
      if (strike?.when === 'after') await this.#disturb(strike, process)
      return process.isDead ? never() : answer
    },
  })

  readonly aroundCode: AroundCode = ({ idempotencyKey, info }, run) => {
    const process = this.#processes.caller!
    const what = this.#writes.callOf(idempotencyKey) ?? `activity "${info.activity}"`
    const strike = this.#reach('code', `runtime ${process.number} runs ${what}`)
    if (strike === undefined) return run()
    return this.#disturbCode(strike, process, run)
  }

  readonly aroundCall: AroundCall = (what, perform, repeat) => {
    const strike = this.#reach('call', `the scenario makes ${what}`)
    if (strike?.kind === 'lost-hint') this.#loseHints()
    if (strike?.kind === 'duplicate') {
      // Whether the second one succeeds is not for the scenario to know, which has its answer.
      this.#later(strike.ms, () => void repeat().catch(() => {}))
    }
    return perform()
  }

  async #disturbCode({ when, ms, kind }: Strike, process: TestProcess, run: () => unknown) {
    // What was sent stays on its way although the process is frozen, and arrives late.
    if (kind === 'freeze') process.freeze(ms)
    if (when === 'before') await this.#pauseCode(process, ms)
    const output = await run()
    if (when === 'after') await this.#pauseCode(process, ms)
    return output
  }

  async #pauseCode(process: TestProcess, ms: number): Promise<void> {
    await this.#clock.sleep(ms, new AbortController().signal)
    if (process.isDead) await never()
  }

  async #disturb({ kind, ms }: Strike, process: TestProcess): Promise<void> {
    switch (kind) {
      case 'crash':
        process.crash()
        return this.#later(ms, () => void this.#processes.replace(process))
      case 'freeze':
        return process.freeze(ms)
      case 'delay':
        return process.pause(ms)
      case 'lost-hint':
        return this.#loseHints()
      case 'duplicate':
    }
  }

  #loseHints(): void {
    for (const process of this.#processes.all) process.deafen(TICK_MS)
  }

  #later(ms: number, then: () => void): void {
    this.#clock.after(ms, then)
  }

  /** A point is reached: returns the fault that strikes there. */
  #reach(kind: PointKind, what: string): Strike | undefined {
    const number = ++this.#points
    this.trace.push(what)
    const fault = this.#faults.get(number)
    const effects = EFFECTS[kind].filter((effect) => this.#kinds.has(effect.kind))
    if (fault === undefined || effects.length === 0) return undefined
    const effect = effects[Math.floor(fault.choice * effects.length)]!
    const ms = lengthOf(effect.kind, fault.length)
    this.#overMs = Math.max(this.#overMs, this.#clock.now() + ms)
    this.struck.push(`${describe(kind, effect, ms)}: ${what}`)
    this.trace.push(`  ! ${describe(kind, effect, ms)}`)
    return { ...effect, ms }
  }

  async #overtaken(): Promise<void> {
    if (this.#order === undefined) return
    const rounds = Math.floor(this.#order.number() * (MAX_ROUNDS + 1))
    for (let round = 0; round < rounds; round++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
}

/** Whether a commit had no effect. */
function isRefused(name: string, answer: Settled): boolean {
  if (name !== 'commit' || 'error' in answer) return false
  const committed = answer.value as CommitAnswer
  if (committed.state !== 'ok') return true
  return [...committed.starts, ...committed.turns].every((verdict) => verdict === 'refused')
}

function lengthOf(kind: FaultKind, share: number): number {
  if (kind === 'lost-hint') return TICK_MS
  return Math.round(MIN_MS * (MAX_MS / MIN_MS) ** share)
}

const WORDS: Readonly<Record<PointKind, string>> = {
  write: 'this write',
  code: 'this code',
  call: 'this call',
}

function describe(point: PointKind, { kind, when }: Effect, ms: number): string {
  const what = WORDS[point]
  const time = `${ms / 1_000} s`
  switch (kind) {
    case 'crash':
      return `its process crashes ${when} ${what}, and is started again ${time} later`
    case 'freeze':
      return `its process freezes for ${time} ${when} ${what}, and others take over`
    case 'delay':
      return when === 'before' ? `${what} is ${time} late` : `the answer to ${what} is ${time} late`
    case 'lost-hint':
      return `no runtime is notified of ${what}; the next tick finds it`
    case 'duplicate':
      return `${what} is made once more ${time} later, as by a caller who got no answer`
  }
}
