import { safeJson } from './safe-text.ts'

/**
 * JSON of any value that Holdfast stores, for people and programs. Dates are in ISO 8601, bigints are
 * strings, maps are lists of pairs, sets are lists, bytes are base64, and errors have `name` and `message`.
 * `shown` may change the strings in it.
 */
export function toJson(
  value: unknown,
  indent?: number,
  shown: (text: string) => string = (text) => text,
): string {
  const replace = (_: string, part: unknown): unknown =>
    typeof part === 'string' ? shown(part) : part
  return safeJson(JSON.stringify(plain(value), replace, indent) ?? 'null')
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Map) return Array.from(value, ([key, item]) => [plain(key), plain(item)])
  if (value instanceof Set) return Array.from(value, plain)
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  }
  if (Array.isArray(value)) return value.map(plain)
  const own = Object.entries(value).map(([key, item]) => [key, plain(item)] as const)
  const error = value instanceof Error ? { name: value.name, message: value.message } : {}
  return { ...error, ...Object.fromEntries(own) }
}
