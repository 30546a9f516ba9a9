import { currentExecution } from '../../engine/core/unhandled-rejections.ts'
import { inTurn } from '../../engine/replay/current-turn.ts'
import type { Execution } from '../../engine/replay/execution.ts'

// Another year, month, weekday and hour: no rounding of the user hides it.
const SHIFT_MS = 400 * 86_400_000 + 3_661_001

let users = 0
let restore: (() => void) | undefined
// Fake timers that were installed on top of ours put ours back later: that must not be wrapped again.
const originals = new WeakMap<DateConstructor, DateConstructor>()
// When each execution is replayed, as its code sees it.
const replayDates = new WeakMap<Execution, number>()

/**
 * Makes `new Date()` in workflow code show what production would show. In a live turn that is the time of
 * the test, which sleeps move. In a replay it is one later time for all turns, since they are repeated
 * within milliseconds: code that depends on the date, or on the time between two dates, must be found.
 */
export function setWorkflowDates(): () => void {
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
      const execution = args.length === 0 ? executionInTurn() : undefined
      if (execution !== undefined) date.setTime(dateMsOf(execution))
      return date
    },
    apply: () => new shifted().toString(),
  })
  originals.set(shifted, before)
  globalThis.Date = shifted
  const prototype: { constructor: unknown } = before.prototype
  const { constructor } = prototype
  // Some libraries tell a date by `date.constructor === Date`.
  prototype.constructor = shifted
  return () => {
    if (Object.is(prototype.constructor, shifted)) prototype.constructor = constructor
    if (globalThis.Date === shifted) globalThis.Date = before
  }
}

function dateMsOf(execution: Execution): number {
  if (!execution.replaying) return execution.at
  let dateMs = replayDates.get(execution)
  if (dateMs === undefined) replayDates.set(execution, (dateMs = execution.at + SHIFT_MS))
  return dateMs
}

/** The execution whose code is the caller, if that is workflow code in its turn. */
function executionInTurn(): Execution | undefined {
  const execution = currentExecution()
  return execution !== undefined && inTurn() === execution ? execution : undefined
}
