// While code is developed, calls that can never be repeated suspend the instance whose code makes them,
// with a pointer to the call that can. In production they are let through: a guard costs a little on
// every call of anybody.
//
//   - Nothing is thrown: a mistake in the code is no error of the workflow, so no `catch`, no
//     `finally` and no undo of a saga may run for it. The code goes on until it next asks its context
//     for something, which never answers; its turn is not committed.
//   - What is called has no effect: no timer is set, nothing is fetched.

import { forever } from '../replay/command-promise.ts'
import { inTurn } from '../replay/turn.ts'
import { sourceLine } from '../replay/source-line.ts'
import { currentExecution } from '../core/unhandled-rejections.ts'

type Call = (...args: never[]) => unknown

interface Guarded {
  readonly on: Record<string, unknown>
  readonly name: string
  readonly called: string
  /** Why it must not be called, and what to call instead. */
  readonly advice: string
  /** What a call that is refused returns. */
  readonly refused: (original: Call) => unknown
}

const GUARDED: readonly Guarded[] = [
  guarded(Date, 'now', 'Date.', differs('ctx.now() instead'), (now) => now()),
  guarded(Math, 'random', 'Math.', differs('ctx.random() or ctx.uuid() instead'), (give) => give()),
  guarded(globalThis, 'setTimeout', '', unrepeatable('ctx.sleep()'), clearedTimer),
  guarded(globalThis, 'setInterval', '', unrepeatable('ctx.sleep() in a loop'), clearedTimer),
  guarded(globalThis, 'setImmediate', '', unrepeatable('ctx.sleep(0)'), clearedImmediate),
  guarded(globalThis, 'fetch', '', unrepeatable('ctx.step() or an activity'), () => forever()),
]

function guarded(
  on: object,
  name: string,
  prefix: string,
  advice: string,
  refused: Guarded['refused'],
): Guarded {
  return { on: on as Record<string, unknown>, name, called: `${prefix}${name}()`, advice, refused }
}

function differs(instead: string): string {
  return `It gives a different value on replay; use ${instead}`
}

function unrepeatable(instead: string): string {
  return `It cannot be replayed; use ${instead}`
}

/** A timer that never fires. */
function clearedTimer(set: Call): unknown {
  const timer = (set as typeof setTimeout)(() => {}, 1)
  clearTimeout(timer)
  return timer
}

function clearedImmediate(set: Call): unknown {
  const immediate = (set as typeof setImmediate)(() => {})
  clearImmediate(immediate)
  return immediate
}

let users = 0
let restore: (() => void)[] = []

/** Guards the globals until every caller has called the function it got. */
export function guardGlobals(): () => void {
  if (users++ === 0) restore = GUARDED.map(guard)
  let guarding = true
  return () => {
    if (!guarding) return
    guarding = false
    if (--users === 0) for (const put of restore.splice(0)) put()
  }
}

function guard({ on, name, called, advice, refused }: Guarded): () => void {
  const original = on[name] as Call
  const replacement = function (this: unknown, ...args: never[]): unknown {
    const execution = currentExecution()
    if (execution !== undefined && inTurn() === execution) {
      execution.break(misuse(execution.label, called, advice))
      return refused(original)
    }
    return Reflect.apply(original, this, args)
  }
  // `util.promisify` and others look at what hangs on the function.
  Object.defineProperties(replacement, Object.getOwnPropertyDescriptors(original))
  on[name] = replacement
  return () => {
    // Other code may have replaced ours since.
    if (on[name] === replacement) on[name] = original
  }
}

function misuse(label: string, called: string, advice: string): Error {
  const line = sourceLine(new Error(called).stack ?? '')
  const where = line === '' ? '' : ` ${line}`
  // Made once the line is known: a stack repeats the message that its error was made with.
  return new Error(
    `${label}: ${called} was called${where}. ${advice}. Fix the code, then resume the instance`,
  )
}
