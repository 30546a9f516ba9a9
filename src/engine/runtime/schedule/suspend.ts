import type { Next } from '../../../store/commits.ts'
import type { Execution } from '../../replay/execution.ts'
import { NondeterminismError } from '../../replay/nondeterminism.ts'
import type { Values } from '../../core/values.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { NOTHING, type CommitWriter } from './commit-writer.ts'
import { type Begin, locateMismatch } from '../../instance/turn.ts'
import { startedEvent, turnRow } from '../../instance/turn-record.ts'

/** What setting aside works with. */
export interface SuspendHost {
  readonly values: Values
  readonly writer: CommitWriter
  readonly call: Begin
  /** A new execution of the same code. */
  execution(instance: LiveInstance): Execution
  silence(instance: LiveInstance): void
  drop(instance: LiveInstance, reason: string): void
  flush(): void
}

/** The instance cannot go on: it is suspended with a report, never failed, never guessed around. */
export async function suspend(
  host: SuspendHost,
  instance: LiveInstance,
  thrown: unknown,
): Promise<void> {
  const { values, writer } = host
  const error =
    thrown instanceof NondeterminismError
      ? withAdvice(await locate(host, instance, thrown))
      : thrown
  if (instance.state === 'gone') return
  host.silence(instance)
  for (const attempt of instance.running.values()) attempt.abort('the instance was set aside')
  instance.running.clear()
  instance.lines = []
  const next: Next = { kind: 'hold', report: values.encodeError(error) }
  if (instance.turn > 0) return writer.next(instance, next)
  // It exists from now on, and is set aside: the start was accepted.
  instance.state = 'committing'
  const row = turnRow(instance, [startedEvent(instance)])!
  writer.start(instance, row, { kind: 'keep' }, NOTHING, (verdict) => {
    if (verdict !== 'done') return host.drop(instance, 'it was not started')
    instance.turn = 1
    writer.next(instance, next)
  })
  host.flush()
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

/** Says where in the code the mismatch is. */
function locate(
  host: SuspendHost,
  instance: LiveInstance,
  error: NondeterminismError,
): Promise<NondeterminismError> {
  if (instance.past === undefined) return Promise.resolve(error)
  const run = host.execution(instance)
  return locateMismatch({ ...instance, run, lines: [], arrivals: [] }, host.call, error)
}
