/**
 * Whether a value is an object literal, or an object without a prototype. A literal of another realm
 * (a `vm` context, a test runner) counts as well.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: object | null = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || isForeignRoot(prototype)
}

/** Whether this is the `Object.prototype` of another realm. */
function isForeignRoot(prototype: object): boolean {
  return (
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'constructor') &&
    prototype.constructor?.name === 'Object'
  )
}
