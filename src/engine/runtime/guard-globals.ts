// While code is developed, calls that can never be repeated suspend the instance whose code makes them,
// naming the call to use instead. In production they are let through: a guard costs a little on
// every call in the process.
//
//   - Nothing is thrown: a mistake in the code is no error of the workflow, so no `catch`, no
//     `finally` and no undo of a saga may run for it. The code continues until it next asks its context
//     for something, which never answers; its turn is not committed.
//   - What is called has no effect: no timer is set, nothing is fetched.

import { UNREPEATABLE } from '../../base/unrepeatable.ts'
import { forever } from '../replay/command-promise.ts'
import { inTurn } from '../replay/current-turn.ts'
import { sourceLine } from '../../base/source-line.ts'
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
  guarded(Date, 'now', 'Date.', UNREPEATABLE.clock, (now) => now()),
  guarded(Math, 'random', 'Math.', UNREPEATABLE.random, (give) => give()),
  guarded(globalThis, 'setTimeout', '', UNREPEATABLE.setTimeout, clearedTimer),
  guarded(globalThis, 'setInterval', '', UNREPEATABLE.setInterval, clearedTimer),
  guarded(globalThis, 'setImmediate', '', UNREPEATABLE.setImmediate, clearedImmediate),
  guarded(globalThis, 'fetch', '', UNREPEATABLE.io, () => forever()),
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
// Code that replaced ours, such as fake timers, puts ours back later: that must not be guarded again.
const originals = new WeakMap<Call, Call>()

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
  const current = on[name] as Call
  const original = originals.get(current) ?? current
  const replacement = function (this: unknown, ...args: never[]): unknown {
    const execution = currentExecution()
    if (execution !== undefined && inTurn() === execution) {
      execution.break(misuse(execution.label, called, advice))
      return refused(original)
    }
    return Reflect.apply(original, this, args)
  }
  // `util.promisify` and others read properties of the function.
  Object.defineProperties(replacement, Object.getOwnPropertyDescriptors(original))
  originals.set(replacement, original)
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
