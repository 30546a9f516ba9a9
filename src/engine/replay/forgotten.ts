import type { CommandEvent } from '../../store/history.ts'
import { type CommandPromise, isWaitedFor } from './command-promise.ts'
import { describeCommand } from './describe-command.ts'
import type { IssuedCommand } from './execution.ts'
import { outlastsCode } from './outlasts-code.ts'
import type { Scope } from './scope.ts'
import { sourceLine } from '../../base/source-line.ts'

/** An open command, and what tells whether the code waits for it. */
interface Open {
  readonly event: CommandEvent
  readonly scope: Scope
  readonly promise: CommandPromise
}

/** A call that the code did not await before it returned. */
export interface Forgotten {
  readonly given: IssuedCommand
  /** Whether an earlier turn issued it, so that it began to run. */
  readonly began: boolean
}

/** How old a command is. */
export interface Age {
  /** An earlier turn issued it. */
  readonly began: boolean
  /** It was issued after the last input: nothing could happen between it and the end of the code. */
  readonly isLast: boolean
}

/**
 * Whether code that has returned forgot to await an open command: it awaited neither its promise nor
 * that of a group or scope around it, up to `outermost`, the scope of the code. A command that the
 * workflow issued last counts as forgotten even when it is awaited, because the function that awaits it
 * is not.
 *
 * Only commands whose work is lost count. What outlasts the code is carried out anyway, unless it is in
 * a scope that ended before it began, and a message that was not received stays in its channel.
 */
export function isForgotten(
  { event, scope, promise }: Open,
  outermost: Scope,
  { began, isLast }: Age,
): boolean {
  const isWorkflow = outermost.parent === undefined
  if (!LOST.has(event.type)) return false
  if (outlastsCode(event) && (isWorkflow || began)) return false
  if (isWorkflow && isLast && event.type !== 'timer') return true
  if (!isWaitedFor(promise)) return true
  for (let one = scope; one !== outermost && one.parent !== undefined; one = one.parent) {
    if (one.promise !== undefined && !isWaitedFor(one.promise)) return true
  }
  return false
}

const LOST: ReadonlySet<CommandEvent['type']> = new Set(['activity', 'step', 'child', 'timer'])

/** Describes a forgotten call: what was called and, if known, where. */
export function describeForgotten({ given: { event, stack } }: Forgotten): string {
  const line = stack === undefined ? '' : sourceLine(stack)
  return line === '' ? describeCommand(event) : `${describeCommand(event)} ${line}`
}

/** The error of a workflow that fails because of a forgotten `await`. */
export function forgottenError(label: string, forgotten: readonly Forgotten[]): Error {
  const calls = forgotten.slice(0, MAX_NAMED).map((call) => describeForgotten(call))
  const more = forgotten.length > MAX_NAMED ? `, and ${forgotten.length - MAX_NAMED} more` : ''
  const [was, it] = forgotten.length > 1 ? ['they were', 'them'] : ['it was', 'it']
  const error = new Error(
    `${label} ended without awaiting ${calls.join(', ')}${more}, so ${was} cancelled and may never ` +
      `have run; await ${it}, or call cancel() on ${it} if that is what you want`,
  )
  error.name = 'ForgottenAwaitError'
  return error
}

/** The most calls that a message names. */
export const MAX_NAMED = 10
