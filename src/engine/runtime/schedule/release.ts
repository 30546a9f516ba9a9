import type { Next } from '../../../store/commits.ts'
import type { CommandRunner } from './command-runner.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { expectsMail, nextAfterTurn, REST_MS } from '../../instance/next-after-turn.ts'
import type { CommitWriter } from './commit-writer.ts'
import type { StoreClock } from '../../core/store-clock.ts'

// The alarm of an instance that belongs to no command.
const REST = -1

/** What this needs to know of its runtime. */
export interface ReleaseHost {
  readonly time: StoreClock
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** Whether nothing new may begin. */
  closing(): boolean
}

/** Sees to it that instances which have nothing to do here for a while are given back. */
export class Release {
  readonly #host: ReleaseHost
  readonly #commands: CommandRunner
  readonly #writer: CommitWriter

  constructor(host: ReleaseHost, commands: CommandRunner, writer: CommitWriter) {
    this.#host = host
    this.#commands = commands
    this.#writer = writer
  }

  /** What becomes of a copy that has had its turn; `rested` when it has been waiting for a while. */
  next(instance: LiveInstance, rested = false): Next {
    const now = this.#host.time.now()
    const impatient = rested || this.#host.crowded()
    return nextAfterTurn(instance, { now, closing: this.#host.closing(), impatient })
  }

  /**
   * Gives back an instance that has nothing to do here for a while; while closing, any at rest. One
   * that waits for mail is looked at again when it has done so for long enough.
   */
  releaseIfAtRest(instance: LiveInstance, rested = false): void {
    if (instance.state !== 'resting') return
    const next = this.next(instance, rested)
    if (next.kind !== 'release') {
      if (expectsMail(instance) && !instance.alarms.has(REST)) {
        const at = this.#host.time.now() + REST_MS
        this.#commands.setAlarm(instance, REST, at, () => this.releaseIfAtRest(instance, true))
      }
      return
    }
    this.#commands.silence(instance)
    this.#writer.next(instance, next)
  }
}
