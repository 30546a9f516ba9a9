import { describe } from '../describe.ts'

/**
 * Checks a signal that was given to something that waits, before it gets in line.
 *
 * It is recognised by its methods, not by its class: a signal may come from another realm.
 */
export function checkSignal(
  value: unknown,
  what: string,
): asserts value is AbortSignal | undefined {
  if (value === undefined || isSignal(value)) return
  const hint = value instanceof AbortController ? '; pass its signal' : ''
  throw new TypeError(`${what}: signal must be an AbortSignal, got ${describe(value)}${hint}`)
}

function isSignal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  )
}
