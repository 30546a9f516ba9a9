// While code is developed, calls that can never be repeated fail inside a turn, with a pointer to the
// call that can. In production they are let through: a guard costs a little on every call of anybody.

import { inTurn } from '../replay/turn.ts'
import { currentExecution } from './strays.ts'

type Call = (...args: never[]) => unknown

interface Guarded {
  readonly on: Record<string, unknown>
  readonly name: string
  readonly called: string
  readonly instead: string
}

const GUARDED: readonly Guarded[] = [
  guarded(Date, 'now', 'Date.now()', 'ctx.now()'),
  guarded(Math, 'random', 'Math.random()', 'ctx.random() or ctx.uuid()'),
  guarded(globalThis, 'setTimeout', 'setTimeout()', 'ctx.sleep()'),
  guarded(globalThis, 'setInterval', 'setInterval()', 'ctx.sleep() in a loop'),
  guarded(globalThis, 'setImmediate', 'setImmediate()', 'ctx.sleep(0)'),
  guarded(globalThis, 'fetch', 'fetch()', 'ctx.step() or an activity'),
]

function guarded(on: object, name: string, called: string, instead: string): Guarded {
  return { on: on as Record<string, unknown>, name, called, instead }
}

let users = 0
let restore: (() => void)[] = []

/** Guards the globals until the returned function is called by all who asked for it. */
export function guardGlobals(): () => void {
  if (users++ === 0) restore = GUARDED.map(guard)
  let guarding = true
  return () => {
    if (!guarding) return
    guarding = false
    if (--users === 0) for (const put of restore.splice(0)) put()
  }
}

function guard({ on, name, called, instead }: Guarded): () => void {
  const original = on[name] as Call
  const replacement = function (this: unknown, ...args: never[]): unknown {
    const execution = currentExecution()
    if (execution !== undefined && inTurn() === execution) {
      throw new Error(
        `${execution.label}: ${called} is not the same when the code is repeated; use ${instead}`,
      )
    }
    return Reflect.apply(original, this, args)
  }
  // `util.promisify` and others look at what hangs on the function.
  Object.defineProperties(replacement, Object.getOwnPropertyDescriptors(original))
  on[name] = replacement
  return () => {
    // Somebody else may have put theirs over ours since.
    if (on[name] === replacement) on[name] = original
  }
}
