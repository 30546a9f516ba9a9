// Control characters separate the fields of history, and no database stores lone surrogates.
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSAFE = /[\x00-\x1f\p{Surrogate}]/u

/** Whether text can be stored in any database, and sent to it in a list, without escaping. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && !UNSAFE.test(value)
}
