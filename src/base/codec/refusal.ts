import { types } from 'node:util'

// The message for a value that cannot be stored: what it is, and where.

/** Why a value cannot be stored. Its place is the packer's path at the time it is thrown. */
export class Refusal extends Error {
  readonly hint: string

  constructor(what: string, hint = '') {
    super(what)
    this.hint = hint
  }
}

/** The error for an object of a class that the tagged form does not support. */
export function refusalOf(value: object, prototype: object): Refusal {
  if (types.isPromise(value)) return new Refusal('a Promise', '; did you forget await?')
  const name: unknown = prototype.constructor?.name
  const className = typeof name === 'string' && name !== '' ? name : 'a class without a name'
  if (types.isBoxedPrimitive(value)) return new Refusal(`a boxed ${className}`)
  return new Refusal(`an instance of ${className}`, '; convert it to plain data')
}

/** A key, or a position in an array, Map or Set: those of a Map are key, value, key, value, … */
export type Step = string | number

/**
 * Writes a path such as `$.items[3]["unit price"]`; a very long one without its middle.
 *
 * `containers[i]` is what step `i` was taken in.
 */
export function writePath(steps: readonly Step[], containers: readonly object[]): string {
  const written = steps.map((step, i) => stepIn(containers[i], step))
  if (steps.length > 100) written.splice(40, steps.length - 80, ' … ')
  return '$' + written.join('')
}

function stepIn(container: object | undefined, step: Step): string {
  if (typeof step === 'string') {
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(step) ? `.${step}` : `[${quote(step)}]`
  }
  if (types.isSet(container)) return `.values()[${step}]`
  if (!types.isMap(container)) return `[${step}]`
  const position = Math.floor(step / 2)
  if (step % 2 === 0) return `.keys()[${position}]`
  const key: unknown = [...container.keys()][position]
  return typeof key === 'string' ? `.get(${quote(key)})` : `.values()[${position}]`
}

function quote(text: string): string {
  return JSON.stringify(text)
}
