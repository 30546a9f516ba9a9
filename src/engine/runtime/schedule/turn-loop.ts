// Gives instances their turns, one at a time, and hands what they decide to the commit writer. What a
// turn asks for is not carried out here, but once its decision is committed.

import { notify } from '../../../base/sync/notify.ts'
import type { Next } from '../../../store/commits.ts'
import type { Ending, Iid } from '../../../store/instances.ts'
import type { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import { StoreError } from '../../../store/store-error.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import { NO_EFFECTS } from '../../instance/effects.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { NO_OUTPUT, type TurnOutput } from '../../instance/turn-output.ts'
import { type Begin, takeTurn } from '../../instance/turn.ts'
import { endAtOnce, endOf, finalError, startedEvent, turnRow } from '../../instance/turn-record.ts'
import type { IssuedCommand, Outcome } from '../../replay/execution.ts'
import type { Pausing } from '../../replay/current-turn.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { CommitWriter } from './commit-writer.ts'
import type { Committer } from './committer.ts'
import type { HistoryLimit } from './history-limit.ts'
import { nextExecution } from './next-execution.ts'
import { observeTurn } from './observe-turn.ts'
import type { Quarantine } from './quarantine.ts'
import { REPEAT_ADVICE, type ReplayCheck } from './replay-check.ts'
import type { Suspension } from './suspension.ts'

// The longest time for which turns keep I/O of the process waiting.
const SLICE_MS = 2

/** The services that turns need. */
export interface TurnServices {
  readonly begin: Begin
  readonly heartbeat: SharedLoopHeartbeat
  readonly committer: Committer
  readonly writer: CommitWriter
  readonly numbers: WorkflowNumbers
  readonly quarantine: Quarantine
  readonly suspension: Suspension
  /** Replays each turn before it is committed, if the runtime has that option. */
  readonly replayCheck: ReplayCheck | undefined
  /** Learns what a turn issued, before it is committed. */
  readonly onTurn: ((iid: Iid, issued: readonly IssuedCommand[]) => void) | undefined
  readonly history: HistoryLimit
}

/** Decides what becomes of instances after their turns. */
export interface TurnPolicy {
  nextAfter(instance: LiveInstance): Next
}

/** Gives instances their turns, in the order they became ready. */
export class TurnLoop {
  readonly #core: RuntimeCore
  readonly #services: TurnServices
  readonly #policy: TurnPolicy
  readonly #wake = notify()
  #ready: LiveInstance[] = []
  #next = 0

  constructor(core: RuntimeCore, services: TurnServices, policy: TurnPolicy) {
    this.#core = core
    this.#services = services
    this.#policy = policy
  }

  /** How many instances wait for a turn. */
  get size(): number {
    return this.#ready.length - this.#next
  }

  /** Puts an instance in line for a turn, unless it is in line, in commit, or gone. */
  enqueue(instance: LiveInstance): void {
    if (!instance.makeReady()) return
    this.#ready.push(instance)
    this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    return worker('turns', { wakeOn: [this.#wake], clock, log, pacing }, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    const { clock } = this.#core
    const until = clock.now() + SLICE_MS
    while (this.#next < this.#ready.length) {
      const instance = this.#ready[this.#next++]!
      if (instance.phase.is === 'ready') {
        // Not in a function of its own, which would create one more promise for every turn.
        const turn = this.#take(instance)
        for (let step = turn.next(); step.done !== true; step = turn.next()) await step.value
      }
      if (clock.now() >= until) break
    }
    // Drops instances that have had their turn, even while more keep coming.
    if (this.#next * 2 >= this.#ready.length) {
      this.#ready = this.#ready.slice(this.#next)
      this.#next = 0
    }
    this.#services.committer.flush()
    return this.size > 0 ? proceed() : idle()
  }

  /** One turn, up to the decision that records it. Never throws. */
  *#take(instance: LiveInstance): Pausing<void> {
    const { begin, heartbeat, writer, quarantine, suspension, history } = this.#services
    const { replayCheck, onTurn } = this.#services
    instance.stopIfNeverRun()
    if (instance.inbox.stop !== undefined) return this.#stop(instance)
    if (instance.isQuarantined) {
      let may = false
      yield quarantine.mayRun(instance, 'its own code').then((answer) => (may = answer))
      if (!may || instance.phase.is !== 'ready') return
    }
    const { time, values } = this.#core
    let output: TurnOutput
    const turnTaken = observeTurn(this.#core, instance)
    try {
      output = yield* takeTurn(instance, time.now(), begin, heartbeat, writer)
    } catch (error) {
      yield suspension.suspend(instance, error)
      return
    }
    onTurn?.(instance.iid, output.issued)
    if (replayCheck !== undefined) {
      let mistake: unknown
      yield replayCheck.findMistake(instance, output).then((found) => (mistake = found))
      if (mistake !== undefined) {
        yield suspension.suspend(instance, mistake, REPEAT_ADVICE)
        return
      }
    }
    if (instance.phase.is !== 'ready') return
    turnTaken?.(output)
    let end: Ending | undefined
    try {
      end = endOf(instance, values)
    } catch (error) {
      const row = turnRow(instance, output.events)
      return suspension.suspendAfter(instance, row, output, error)
    }
    if (end !== undefined) return this.#end(instance, end, output)
    const { outcome, open } = instance.run
    if (outcome?.kind === 'continued' && open.size === 0) {
      instance.beginCommit()
      // Not awaited: it may need turns of others.
      return void this.#continue(instance, outcome, output)
    }
    const row = turnRow(instance, output.events)
    const excess = history.excess(instance, row)
    if (excess !== undefined) return suspension.suspendAfter(instance, row, output, excess)
    writer.commit(instance, { row, next: this.#policy.nextAfter(instance), output })
  }

  /** Ends an instance without running its code. */
  #stop(instance: LiveInstance): void {
    const { time, values } = this.#core
    const { status, reason, inboxId } = instance.inbox.stop!
    instance.beginTurn(time.now())
    const end = endAtOnce(instance, { status, reason }, values)
    this.#end(instance, end, {
      ...NO_OUTPUT,
      events: instance.isStarted ? [] : [startedEvent(instance)],
      taken: inboxId === undefined ? [] : [inboxId],
      dropped: [...instance.run.open.keys()],
      effects: { ...NO_EFFECTS, closes: 'all' },
    })
  }

  #end(instance: LiveInstance, end: Ending, output: TurnOutput): void {
    const events = [...output.events, { type: 'ended', status: end.status } as const]
    const row = turnRow(instance, events)
    this.#services.writer.commit(instance, { row, next: { kind: 'end', end }, output })
  }

  /** The execution is over and the next one begins, in the same commit. */
  async #continue(
    instance: LiveInstance,
    outcome: Extract<Outcome, { kind: 'continued' }>,
    output: TurnOutput,
  ): Promise<void> {
    const { committer, writer, numbers, suspension } = this.#services
    if (!instance.isStarted) {
      // Its start has to be committed before it can continue.
      return writer.startAlone(instance, () => {
        const events = output.events.slice(1)
        void this.#continue(instance, outcome, { ...output, events })
        committer.flush()
      })
    }
    let next: Next
    try {
      next = await nextExecution(instance, outcome, this.#core, numbers)
    } catch (error) {
      if (error instanceof StoreError) return await suspension.suspend(instance, error)
      const failure = this.#core.values.encodeError(finalError(instance, error))
      return this.#end(instance, { status: 'failed', output: failure }, output)
    } finally {
      // The pass of the loop may have ended meanwhile.
      queueMicrotask(() => committer.flush())
    }
    if (instance.phase.is !== 'committing') return
    const events = [...output.events, { type: 'ended', status: 'continued' } as const]
    writer.commit(instance, { row: turnRow(instance, events), next, output })
  }
}
