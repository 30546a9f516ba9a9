import { currentExecution } from '../../engine/core/unhandled-rejections.ts'
import { inTurn } from '../../engine/replay/turn.ts'

// Far enough that no rounding of the user hides it, and on another day.
const SHIFT_MS = 86_400_000 + 3_661_001

let users = 0
let restore: (() => void) | undefined
// Fake timers that were installed on top of ours put ours back later: that must not be wrapped again.
const originals = new WeakMap<DateConstructor, DateConstructor>()

/**
 * Makes `new Date()` in workflow code show another time while the code is replayed. A replay follows within
 * the same millisecond in a test, and after minutes in production: code that depends on it must be found.
 */
export function shiftDatesOnReplay(): () => void {
  if (users++ === 0) restore = shift()
  let isShifted = true
  return () => {
    if (!isShifted) return
    isShifted = false
    if (--users === 0) restore?.()
  }
}

function shift(): () => void {
  const before = originals.get(globalThis.Date) ?? globalThis.Date
  const shifted = new Proxy(before, {
    construct(target, args: unknown[], newTarget: NewableFunction) {
      const date = Reflect.construct(target, args, newTarget) as Date
      if (args.length === 0 && isReplay()) date.setTime(date.getTime() + SHIFT_MS)
      return date
    },
    apply: () => new shifted().toString(),
  })
  originals.set(shifted, before)
  globalThis.Date = shifted
  return () => {
    if (globalThis.Date === shifted) globalThis.Date = before
  }
}

/** Whether the caller is workflow code that is being replayed. */
function isReplay(): boolean {
  const execution = currentExecution()
  return execution !== undefined && execution.replaying && inTurn() === execution
}
