import type { Next } from '../../../store/commits.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { NO_OUTPUT } from '../../instance/turn-output.ts'
import { type Begin, locateMismatch } from '../../instance/turn.ts'
import { startedEvent, turnRow } from '../../instance/turn-record.ts'
import type { Execution } from '../../replay/execution.ts'
import { NondeterminismError } from '../../replay/nondeterminism.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { CommitWriter } from './commit-writer.ts'
import type { Committer } from './committer.ts'

/** What suspending works with. */
export interface SuspensionServices {
  readonly begin: Begin
  readonly committer: Committer
  readonly writer: CommitWriter
  /** A new execution of the same code. */
  makeExecution(instance: LiveInstance): Execution
}

/** Suspends instances that cannot go on, with a report: they are never failed, never guessed around. */
export class Suspension {
  readonly #core: RuntimeCore
  readonly #services: SuspensionServices

  constructor(core: RuntimeCore, services: SuspensionServices) {
    this.#core = core
    this.#services = services
  }

  async suspend(instance: LiveInstance, thrown: unknown): Promise<void> {
    const { alarms, values } = this.#core
    const { writer, committer } = this.#services
    const error =
      thrown instanceof NondeterminismError
        ? withAdvice(await this.#locate(instance, thrown))
        : thrown
    if (instance.isGone) return
    instance.timers.cancelAll(alarms)
    instance.calls.abortAll('the instance was suspended')
    instance.turnFailed()
    const next: Next = { kind: 'suspend', report: values.encodeError(error) }
    if (instance.isStarted) return writer.next(instance, next)
    // It exists from now on, suspended: the start was accepted.
    const row = turnRow(instance, [startedEvent(instance)])!
    const start = { row, next: { kind: 'keep' }, output: NO_OUTPUT } as const
    writer.start(instance, start, () => {
      instance.startCommitted(row)
      writer.next(instance, next)
    })
    committer.flush()
  }

  /** Says where in the code the mismatch is. */
  #locate(instance: LiveInstance, error: NondeterminismError): Promise<NondeterminismError> {
    if (instance.past === undefined) return Promise.resolve(error)
    const run = this.#services.makeExecution(instance)
    return locateMismatch(instance.twin(run, instance.past), this.#services.begin, error)
  }
}

/** Says what to do about it. */
function withAdvice(error: NondeterminismError): Error {
  const { message, position, expected, actual, cause } = error
  const options = cause === undefined ? {} : { cause }
  return new NondeterminismError(`${message}; ${ADVICE}`, position, expected, actual, options)
}

const ADVICE =
  'undo the change, keep both paths with ctx.patched, or register the new code as another ' +
  'version beside the old one; then resume() the instance'
