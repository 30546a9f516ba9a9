// A turn of a copy, from what arrived to the item that records it. What the turn asked for is not
// touched here: it is carried out when the item is recorded.

import type { Next } from '../../../store/commits.ts'
import type { Ending } from '../../../store/instances.ts'
import type { SharedLoopHeartbeat } from '../../../store/lease.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Outcome } from '../../replay/execution.ts'
import type { Pausing } from '../../replay/turn.ts'
import { NO_EFFECTS } from '../../instance/effects.ts'
import type { Committer } from './committer.ts'
import { type ContinueHost, nextExecution } from './next-execution.ts'
import type { LiveInstance, TurnOutput } from '../../instance/live-instance.ts'
import { calledOffBeforeItRan } from '../../instance/read-instance.ts'
import type { Release } from './release.ts'
import { NOTHING, type CommitWriter, type CommitWriterHost } from './commit-writer.ts'
import type { StoreClock } from '../../core/store-clock.ts'
import { type Begin, takeTurn } from '../../instance/turn.ts'
import { endAtOnce, endOf, finalError, startedEvent, turnRow } from '../../instance/turn-record.ts'

/** What turns are taken with. */
export interface TurnsHost extends ContinueHost {
  readonly time: StoreClock
  readonly heartbeat: SharedLoopHeartbeat
  readonly committer: Committer
  readonly writer: CommitWriter
  readonly resting: Release
  readonly call: Begin
  /** Notes what is about to be done with an instance that owners died with; whether it may be. */
  aboutTo(instance: LiveInstance, doing: string): Promise<boolean>
  /** The instance cannot go on. */
  suspend(instance: LiveInstance, error: unknown): Promise<void>
  readonly recorded: CommitWriterHost['recorded']
}

/** Takes turns of copies, and has the scribe write what they led to. */
export class Turns {
  readonly #host: TurnsHost

  constructor(host: TurnsHost) {
    this.#host = host
  }

  *take(instance: LiveInstance): Pausing<void> {
    const { time, values, heartbeat, call, writer, resting } = this.#host
    instance.stop ??= calledOffBeforeItRan(instance)
    if (instance.stop !== undefined) return this.#stop(instance)
    if (instance.quarantined) {
      let may = false
      yield this.#host.aboutTo(instance, 'its own code').then((answer) => (may = answer))
      if (!may || instance.state !== 'ready') return
    }
    let result: TurnOutput
    try {
      result = yield* takeTurn(instance, time.now(), call, heartbeat, () =>
        writer.startOf(instance),
      )
    } catch (error) {
      yield this.#host.suspend(instance, error)
      return
    }
    if (instance.state !== 'ready') return
    instance.state = 'committing'
    const end = endOf(instance, values)
    if (end !== undefined) return this.#end(instance, end, result)
    const { outcome } = instance.run
    if (outcome?.kind === 'continued' && instance.run.open.size === 0) {
      // Not waited for: it may need turns of others.
      return void this.#continue(instance, outcome, result)
    }
    writer.turn(instance, turnRow(instance, result.events), resting.next(instance), result)
  }

  /** The instance ends without its code being asked. */
  #stop(instance: LiveInstance): void {
    const { time, values } = this.#host
    const { status, reason, inboxId } = instance.stop!
    instance.state = 'committing'
    instance.at = Math.max(instance.at, time.now())
    const events = instance.turn === 0 ? [startedEvent(instance)] : []
    const taken = inboxId === undefined ? [] : [inboxId]
    const dropped = [...instance.run.open.keys()]
    const effects = { ...NO_EFFECTS, closes: 'all' as const }
    const end = endAtOnce(instance, { status, reason }, values)
    this.#end(instance, end, { ...NOTHING, events, taken, dropped, effects })
  }

  #end(instance: LiveInstance, end: Ending, result: TurnOutput): void {
    const events = [...result.events, { type: 'ended', status: end.status } as const]
    this.#host.writer.turn(instance, turnRow(instance, events), { kind: 'end', end }, result)
  }

  /** The execution is over and the next one begins, in the same item. */
  async #continue(
    instance: LiveInstance,
    outcome: Extract<Outcome, { kind: 'continued' }>,
    result: TurnOutput,
  ): Promise<void> {
    const { values, committer, writer } = this.#host
    if (instance.turn === 0) {
      // It has to be there before it can go on.
      const [first, ...events] = result.events
      const row = turnRow(instance, [first!])!
      return writer.start(instance, row, { kind: 'keep' }, NOTHING, (verdict) => {
        if (verdict !== 'done') {
          return this.#host.recorded(instance, row, { kind: 'keep' }, NOTHING, verdict)
        }
        instance.turn = instance.seq = 1
        void this.#continue(instance, outcome, { ...result, events })
        committer.flush()
      })
    }
    let next: Next
    try {
      next = await nextExecution(instance, outcome, this.#host)
    } catch (error) {
      if (error instanceof StoreError) return await this.#host.suspend(instance, error)
      const output = values.encodeError(finalError(instance, error))
      return this.#end(instance, { status: 'failed', output }, result)
    } finally {
      // Others may have gone ahead meanwhile.
      queueMicrotask(() => committer.flush())
    }
    if (instance.state !== 'committing') return
    const events = [...result.events, { type: 'ended', status: 'continued' } as const]
    writer.turn(instance, turnRow(instance, events), next, result)
  }
}
