import { isPlainObject } from '../../base/plain-object.ts'

/**
 * A copy of data, so that code that changes it afterwards does not change the record of it. Instances of
 * classes are not copied: nothing says how.
 */
export function copyValue(value: unknown): unknown {
  return copy(value, new Map())
}

/** `copies` has what was copied already, since data may contain itself. */
function copy(value: unknown, copies: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (copies.has(value)) return copies.get(value)
  const keep = <T>(made: T): T => {
    copies.set(value, made)
    return made
  }
  // A subclass may hold more than this.
  switch (Object.getPrototypeOf(value)) {
    case Array.prototype: {
      const made = keep<unknown[]>([])
      for (const item of value as unknown[]) made.push(copy(item, copies))
      return made
    }
    case Map.prototype: {
      const made = keep(new Map())
      for (const [key, item] of value as Map<unknown, unknown>) {
        made.set(copy(key, copies), copy(item, copies))
      }
      return made
    }
    case Set.prototype: {
      const made = keep(new Set())
      for (const item of value as Set<unknown>) made.add(copy(item, copies))
      return made
    }
    case Date.prototype:
      return keep(new Date(value as Date))
    case Uint8Array.prototype:
      return keep((value as Uint8Array).slice())
  }
  if (!isPlainObject(value)) return value
  const made = keep<Record<string, unknown>>(Object.create(Object.getPrototypeOf(value)) as {})
  for (const name of Object.keys(value)) {
    // Not an assignment, which would call a setter for `__proto__`.
    Object.defineProperty(made, name, {
      value: copy(value[name], copies),
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return made
}
