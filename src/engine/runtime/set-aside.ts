import type { Next } from '../../store/commits.ts'
import type { Execution } from '../replay/execution.ts'
import { NondeterminismError } from '../replay/nondeterminism.ts'
import type { Values } from '../values.ts'
import type { Copy } from './copy.ts'
import { NOTHING, type Scribe } from './scribe.ts'
import { type Begin, locateMismatch } from './take-turn.ts'
import { startedEvent, turnRow } from './turn-row.ts'

/** What setting aside works with. */
export interface AsideHost {
  readonly values: Values
  readonly scribe: Scribe
  readonly call: Begin
  /** A new execution of the same code. */
  execution(copy: Copy): Execution
  silence(copy: Copy): void
  drop(copy: Copy, reason: string): void
  flush(): void
}

/** The instance cannot go on: it is suspended with a report, never failed, never guessed around. */
export async function setAside(host: AsideHost, copy: Copy, thrown: unknown): Promise<void> {
  const { values, scribe } = host
  const error =
    thrown instanceof NondeterminismError ? withAdvice(await locate(host, copy, thrown)) : thrown
  if (copy.state === 'gone') return
  host.silence(copy)
  for (const attempt of copy.running.values()) attempt.abort('the instance was set aside')
  copy.running.clear()
  copy.lines = []
  const next: Next = { kind: 'hold', report: values.encodeError(error) }
  if (copy.turn > 0) return scribe.next(copy, next)
  // It exists from now on, and is set aside: the start was accepted.
  copy.state = 'committing'
  const row = turnRow(copy, [startedEvent(copy)])!
  scribe.start(copy, row, { kind: 'keep' }, NOTHING, (verdict) => {
    if (verdict !== 'done') return host.drop(copy, 'it was not started')
    copy.turn = 1
    scribe.next(copy, next)
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
  host: AsideHost,
  copy: Copy,
  error: NondeterminismError,
): Promise<NondeterminismError> {
  if (copy.past === undefined) return Promise.resolve(error)
  const run = host.execution(copy)
  return locateMismatch({ ...copy, run, lines: [], arrivals: [] }, host.call, error)
}
