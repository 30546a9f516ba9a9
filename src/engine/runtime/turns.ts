// A turn of a copy, from what arrived to the item that records it. What the turn asked for is not
// touched here: it is carried out when the item is recorded.

import type { Next } from '../../store/commits.ts'
import type { Ending } from '../../store/instances.ts'
import type { SharedPulse } from '../../store/lease.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Outcome } from '../replay/execution.ts'
import type { Pausing } from '../replay/turn.ts'
import { NO_EFFECTS } from './collect-effects.ts'
import type { Committer } from './committer.ts'
import { type ContinueHost, nextExecution } from './continuing.ts'
import type { Copy, TurnResult } from './copy.ts'
import { calledOffBeforeItRan } from './read-copy.ts'
import type { Resting } from './resting.ts'
import { NOTHING, type Scribe, type ScribeHost } from './scribe.ts'
import type { StoreClock } from './store-clock.ts'
import { type Begin, takeTurn } from './take-turn.ts'
import { endAtOnce, endOf, finalError, startedEvent, turnRow } from './turn-row.ts'

/** What turns are taken with. */
export interface TurnsHost extends ContinueHost {
  readonly time: StoreClock
  readonly pulse: SharedPulse
  readonly committer: Committer
  readonly scribe: Scribe
  readonly resting: Resting
  readonly call: Begin
  /** Notes what is about to be done with an instance that owners died with; whether it may be. */
  aboutTo(copy: Copy, doing: string): Promise<boolean>
  /** The instance cannot go on. */
  setAside(copy: Copy, error: unknown): Promise<void>
  readonly recorded: ScribeHost['recorded']
}

/** Takes turns of copies, and has the scribe write what they led to. */
export class Turns {
  readonly #host: TurnsHost

  constructor(host: TurnsHost) {
    this.#host = host
  }

  *take(copy: Copy): Pausing<void> {
    const { time, values, pulse, call, scribe: writer } = this.#host
    copy.stop ??= calledOffBeforeItRan(copy)
    if (copy.stop !== undefined) return this.#stop(copy)
    if (copy.careful) {
      let may = false
      yield this.#host.aboutTo(copy, 'its own code').then((answer) => (may = answer))
      if (!may || copy.state !== 'ready') return
    }
    let result: TurnResult
    try {
      result = yield* takeTurn(copy, time.now(), call, pulse, () => writer.startOf(copy))
    } catch (error) {
      yield this.#host.setAside(copy, error)
      return
    }
    if (copy.state !== 'ready') return
    copy.state = 'committing'
    const end = endOf(copy, values)
    if (end !== undefined) return this.#end(copy, end, result)
    const { outcome } = copy.run
    if (outcome?.kind === 'continued' && copy.run.open.size === 0) {
      // Not waited for: it may need turns of others.
      return void this.#continue(copy, outcome, result)
    }
    const { scribe, resting } = this.#host
    scribe.turn(copy, turnRow(copy, result.events), resting.next(copy), result)
  }

  /** The instance ends without its code being asked. */
  #stop(copy: Copy): void {
    const { time, values } = this.#host
    const { status, reason, inboxId } = copy.stop!
    copy.state = 'committing'
    copy.at = Math.max(copy.at, time.now())
    const events = copy.turn === 0 ? [startedEvent(copy)] : []
    const taken = inboxId === undefined ? [] : [inboxId]
    const dropped = [...copy.run.open.keys()]
    const effects = { ...NO_EFFECTS, closes: 'all' as const }
    const end = endAtOnce(copy, { status, reason }, values)
    this.#end(copy, end, { ...NOTHING, events, taken, dropped, effects })
  }

  #end(copy: Copy, end: Ending, result: TurnResult): void {
    const events = [...result.events, { type: 'ended', status: end.status } as const]
    this.#host.scribe.turn(copy, turnRow(copy, events), { kind: 'end', end }, result)
  }

  /** The execution is over and the next one begins, in the same item. */
  async #continue(
    copy: Copy,
    outcome: Extract<Outcome, { kind: 'continued' }>,
    result: TurnResult,
  ): Promise<void> {
    const { values, committer, scribe } = this.#host
    if (copy.turn === 0) {
      // It has to be there before it can go on.
      const [first, ...events] = result.events
      const row = turnRow(copy, [first!])!
      return scribe.start(copy, row, { kind: 'keep' }, NOTHING, (verdict) => {
        if (verdict !== 'done') {
          return this.#host.recorded(copy, row, { kind: 'keep' }, NOTHING, verdict)
        }
        copy.turn = copy.seq = 1
        void this.#continue(copy, outcome, { ...result, events })
        committer.flush()
      })
    }
    let next: Next
    try {
      next = await nextExecution(copy, outcome, this.#host)
    } catch (error) {
      if (error instanceof StoreError) return await this.#host.setAside(copy, error)
      const output = values.encodeError(finalError(copy, error))
      return this.#end(copy, { status: 'failed', output }, result)
    } finally {
      // Others may have gone ahead meanwhile.
      queueMicrotask(() => committer.flush())
    }
    if (copy.state !== 'committing') return
    const events = [...result.events, { type: 'ended', status: 'continued' } as const]
    scribe.turn(copy, turnRow(copy, events), next, result)
  }
}
