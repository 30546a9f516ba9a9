import type { CommandEvent } from '../../store/history.ts'
import { type CommandPromise, isWaitedFor } from './command-promise.ts'
import { describeCommand } from './describe-command.ts'
import type { IssuedCommand } from './execution.ts'
import { outlastsCode } from './outlasts-code.ts'
import type { Scope } from './scope.ts'
import { sourceLine } from './source-line.ts'

/** A command that is open, with what tells whether anybody waits for it. */
interface Open {
  readonly event: CommandEvent
  readonly scope: Scope
  readonly promise: CommandPromise
}

/** A call that code left behind when it returned. */
export interface Forgotten {
  readonly given: IssuedCommand
  /** Whether it was given in an earlier turn, and so was carried out until then. */
  readonly began: boolean
}

/** How old a command is. */
export interface Age {
  /** It was given in an earlier turn. */
  readonly began: boolean
  /** It was given after the last input: nothing could happen between it and the end of the code. */
  readonly isLast: boolean
}

/**
 * Whether code that has returned forgot to wait for a command that is open: neither for its promise
 * nor for that of a group or scope around it, up to `outermost`, whose code it is. What the workflow
 * gave last is forgotten also when somebody waits for it, as a function does that nobody awaits.
 *
 * Only what is lost then: what outlasts the code is carried out all the same, unless it is in a scope
 * that is left before it began, and a message that nobody received stays where it is.
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

/** A forgotten call as people find it: what was called, and where if that is known. */
export function describeForgotten({ given: { event, stack } }: Forgotten): string {
  const line = stack === undefined ? '' : sourceLine(stack)
  return line === '' ? describeCommand(event) : `${describeCommand(event)} ${line}`
}

/** What fails a workflow whose code forgot to wait, where that is an error. */
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

/** No more calls than this are named. */
export const MAX_NAMED = 10
