import { crc32 } from 'node:zlib'
import { DAMAGED, type Payload, RAW } from '../../store/queue-store.ts'

// SQLite detects damage to the structure of its pages, not to their content.

/** The checksum of a payload, which belongs to this message alone. */
export function checksumOf(id: number, { data, format }: Payload): number {
  // Of nothing, it would depend on whether there is memory behind it.
  return data.length === 0 ? 0 : crc32(data, (id + format) >>> 0)
}

/** What was found under an id; as `DAMAGED` if it is not what was stored. */
export function verified(id: number, data: unknown, format: number, checksum: number): Payload {
  if (data === null || data === undefined) return damaged('its data is missing')
  const isBytes = data instanceof Uint8Array
  if (!isBytes && typeof data !== 'string') {
    return damaged(`its data is neither text nor bytes but a ${typeof data}`)
  }
  if (format === RAW && !isBytes) return damaged('its data is text where bytes were stored')
  // What is empty cannot be damaged.
  if (data.length > 0 && checksumOf(id, { data, format }) !== checksum) {
    return damaged('its data does not match its checksum')
  }
  return { data, format }
}

function damaged(how: string): Payload {
  return { data: how, format: DAMAGED }
}
