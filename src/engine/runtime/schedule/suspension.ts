import type { Next, TurnRow } from '../../../store/commits.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { TurnOutput } from '../../instance/turn-output.ts'
import { type Begin, locateMismatch } from '../../instance/turn.ts'
import type { Execution } from '../../replay/execution.ts'
import { NondeterminismError } from '../../replay/nondeterminism.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { CommitWriter } from './commit-writer.ts'
import type { Committer } from './committer.ts'

/** The services it works with. */
export interface SuspensionServices {
  readonly begin: Begin
  readonly committer: Committer
  readonly writer: CommitWriter
  /** A new execution of the same code. */
  makeExecution(instance: LiveInstance): Execution
}

/** Suspends instances that cannot continue, with a report. It never fails them, and never guesses. */
export class Suspension {
  readonly #core: RuntimeCore
  readonly #services: SuspensionServices

  constructor(core: RuntimeCore, services: SuspensionServices) {
    this.#core = core
    this.#services = services
  }

  /** `advice` is what to do about a mismatch. */
  async suspend(instance: LiveInstance, thrown: unknown, advice: string = ADVICE): Promise<void> {
    const { alarms, values } = this.#core
    const { writer, committer } = this.#services
    const error =
      thrown instanceof NondeterminismError
        ? withAdvice(await this.#locate(instance, thrown), advice)
        : thrown
    if (instance.isGone) return
    instance.timers.cancelAll(alarms)
    instance.calls.abortAll('the instance was suspended')
    instance.turnFailed()
    const next: Next = { kind: 'suspend', report: values.encodeError(error) }
    if (instance.isStarted) return writer.next(instance, next)
    // It exists from now on, suspended: the start was accepted.
    writer.startAlone(instance, () => writer.next(instance, next))
    committer.flush()
  }

  /**
   * Suspends an instance whose turn went well, but that may not go on: the turn is committed, so that
   * nothing it was given is lost, and not carried out before the instance is resumed.
   */
  suspendAfter(
    instance: LiveInstance,
    row: TurnRow | null,
    output: TurnOutput,
    error: unknown,
  ): void {
    // Nothing has been carried out or used up: its first turn can be taken anew.
    if (!instance.isStarted) return void this.suspend(instance, error)
    const { alarms, values } = this.#core
    instance.timers.cancelAll(alarms)
    const next: Next = { kind: 'suspend', report: values.encodeError(error) }
    this.#services.writer.commit(instance, { row, next, output })
  }

  /** Adds where in the code the mismatch is. */
  #locate(instance: LiveInstance, error: NondeterminismError): Promise<NondeterminismError> {
    if (instance.past === undefined) return Promise.resolve(error)
    const run = this.#services.makeExecution(instance)
    return locateMismatch(instance.twin(run, instance.past), this.#services.begin, error)
  }
}

/** Adds what to do about it. */
function withAdvice(error: NondeterminismError, advice: string): Error {
  const { message, position, expected, actual, cause } = error
  const options = cause === undefined ? {} : { cause }
  return new NondeterminismError(`${message}; ${advice}`, position, expected, actual, options)
}

const ADVICE =
  'undo the change, keep both paths with ctx.patched, or register the new code as another ' +
  'version beside the old one; then resume() the instance'
