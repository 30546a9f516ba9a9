import { putTogether } from './error-parts.ts'
import { BANG, MAX_DEPTH } from './pack.ts'

// Reads the tagged form, which `pack.ts` explains and writes. What it never wrote is a `SyntaxError`.

/** Reads the tagged form, in place. `depth` is how deep this value is, from 1. */
export function unpack(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.charCodeAt(0) === BANG ? unpackTag(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw damaged(`more than ${MAX_DEPTH} levels of nesting`)
  if (Array.isArray(value)) return unpackList(value, depth)
  const record = value as Record<string, unknown>
  for (const key of Object.keys(record)) {
    const member = record[key]
    const unpacked = unpack(member, depth + 1)
    // A key `__proto__` is an own property here, as the parser made it, so this sets no prototype.
    if (unpacked !== member) record[key] = unpacked
  }
  return record
}

function unpackList(list: unknown[], depth: number): unknown {
  const tag = list[0]
  if (tag === '!e') {
    const data = list[1]
    if (list.length !== 2 || typeof data !== 'object' || data === null) throw damaged('an error')
    return putTogether(data, (member) => unpack(member, depth + 1))
  }
  const isTagged = tag === '!m' || tag === '!s'
  for (let i = isTagged ? 1 : 0; i < list.length; i++) list[i] = unpack(list[i], depth + 1)
  if (!isTagged) return list
  if (tag === '!s') return new Set(list.slice(1))
  if (list.length % 2 === 0) throw damaged('a Map with a key that has no value')
  const map = new Map<unknown, unknown>()
  for (let i = 1; i < list.length; i += 2) map.set(list[i], list[i + 1])
  return map
}

function unpackTag(text: string): unknown {
  const rest = text.slice(2)
  switch (text.charAt(1)) {
    case '!':
      return text.slice(1)
    case 'u':
      if (rest === '') return undefined
      break
    case 'n':
      if (/^(?:NaN|-0|-?Infinity)$/.test(rest)) return Number(rest)
      break
    case 'i':
      if (/^-?\d+$/.test(rest)) return BigInt(rest)
      break
    case 'd': {
      const date = new Date(rest === '' ? Number.NaN : rest)
      if (rest === '' || !Number.isNaN(date.getTime())) return date
      break
    }
    case 'b': {
      // Copied, since a Buffer may share its memory with others. Base64 that is damaged is short.
      const bytes = new Uint8Array(Buffer.from(rest, 'base64'))
      if (Math.ceil(bytes.length / 3) * 4 === rest.length) return bytes
      break
    }
    default:
      throw new SyntaxError(
        `codec: unknown tag ${JSON.stringify(text.slice(0, 20))}; was it written by a newer version?`,
      )
  }
  throw damaged(excerpt(text))
}

/** The beginning of a text, in quotes. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

/** The error for what `encode` never wrote. */
export function damaged(what: string, cause?: unknown): SyntaxError {
  return new SyntaxError(`codec: cannot read ${what}`, cause === undefined ? {} : { cause })
}
