// AES-256-GCM with keys that have ids.
//
//   - Bytes: length of the key's id, the id, salt (16), nonce (12), ciphertext, tag (16).
//   - A key never encrypts by itself. It derives data keys by a random salt, and each of them
//     encrypts at most `MAX_USES` values. So random nonces do not meet, however much is written.
//   - What the value is (`about`), and the header, are authenticated: a ciphertext that is moved to
//     another place, or whose header is changed, cannot be decrypted.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  KeyObject,
  randomFillSync,
} from 'node:crypto'
import { describe } from '../describe.ts'
import { flag, list, option, resolveOptions } from '../options.ts'
import { isPlainText } from '../plain-text.ts'
import type { Transform } from './transform.ts'

/** A key of `encryption`. */
export interface EncryptionKey {
  /** Stored with every value that the key encrypts: 1 to 100 characters, not secret. */
  readonly id: string
  /** 32 random bytes; as text, in base64. */
  readonly key: Uint8Array | string | KeyObject
}

/** Options of `encryption`. */
export interface EncryptionOptions {
  /** The first key encrypts. All of them decrypt what was encrypted with them. */
  keys: readonly EncryptionKey[]
  /**
   * Encrypts nothing, but reads what is encrypted: for the time until every process has the keys.
   *
   * @default false
   */
  decryptOnly?: boolean
}

const CIPHER = 'aes-256-gcm'
const SALT = 16
const NONCE = 12
const TAG = 16
const MAX_USES = 1 << 20
const MAX_CACHED = 1_000

/** Encrypts what is stored, with AES-256-GCM. Each value names the key that it was encrypted with. */
export function encryption(options: EncryptionOptions): Transform {
  const { keys: given, decryptOnly } = resolveOptions('encryption', options, {
    keys: option(list(checkKey).check, undefined),
    decryptOnly: flag(false),
  })
  const [first] = given ?? []
  if (given === undefined || first === undefined) {
    throw new TypeError('encryption: keys must have at least one key: { id, key }')
  }
  const keys = new Map(given.map((key) => [key.id, key]))
  if (keys.size < given.length) {
    throw new TypeError('encryption: keys must have different ids: an id means one key forever')
  }
  const random = new RandomBytes()
  let current: DataKey | undefined
  let uses = 0
  return {
    kind: 'transform',
    name: 'aes',
    encode(bytes, about) {
      if (decryptOnly) return undefined
      if (current === undefined || uses++ >= MAX_USES) {
        current = first.derive(random.take(SALT))
        uses = 0
      }
      const header = Buffer.concat([current.header, random.take(NONCE)])
      const cipher = createCipheriv(CIPHER, current.key, header.subarray(-NONCE))
      cipher.setAAD(authenticated(header, about))
      return Buffer.concat([header, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    },
    decode(bytes, about) {
      const idEnd = 1 + (bytes[0] ?? 0)
      const headerEnd = idEnd + SALT + NONCE
      if (bytes.length < headerEnd + TAG) throw new Error('it is cut off: it cannot be decrypted')
      const id = Buffer.from(bytes.subarray(1, idEnd)).toString('utf8')
      const key = keys.get(id)
      if (key === undefined) {
        const known = [...keys.keys()].map((one) => `"${one}"`).join(', ')
        throw new Error(
          `it is encrypted with the key "${printable(id)}", and the keys of this process are ${known}; add it to the keys of encryption()`,
        )
      }
      const dataKey = key.derive(bytes.subarray(idEnd, idEnd + SALT))
      const header = bytes.subarray(0, headerEnd)
      const decipher = createDecipheriv(CIPHER, dataKey.key, header.subarray(-NONCE))
      decipher.setAAD(authenticated(header, about))
      decipher.setAuthTag(bytes.subarray(-TAG))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(headerEnd, -TAG)), decipher.final()])
      } catch (cause) {
        throw new Error(
          `it cannot be decrypted with the key "${id}": it is damaged, was moved here from another place, or was encrypted with another key of this id`,
          { cause },
        )
      }
    },
  }
}

/** A key for some values, and the beginning of what it encrypts. */
interface DataKey {
  readonly key: KeyObject
  readonly header: Buffer
}

/** A key of the user, and the data keys derived from it of late. */
class MasterKey {
  readonly id: string
  readonly #key: KeyObject
  readonly #derived = new Map<string, DataKey>()

  constructor(id: string, key: KeyObject) {
    this.id = id
    this.#key = key
  }

  derive(salt: Uint8Array): DataKey {
    const name = Buffer.from(salt).toString('latin1')
    const known = this.#derived.get(name)
    if (known !== undefined) return known
    const secret = createHmac('sha256', this.#key)
      .update('holdfast data key 1')
      .update(salt)
      .digest()
    const id = Buffer.from(this.id, 'utf8')
    const header = Buffer.concat([Buffer.of(id.length), id, salt])
    const derived: DataKey = { key: createSecretKey(secret), header }
    // The oldest goes: reading does not move an entry, since it costs little to derive one again.
    if (this.#derived.size >= MAX_CACHED) {
      const [oldest] = this.#derived.keys()
      this.#derived.delete(oldest!)
    }
    this.#derived.set(name, derived)
    return derived
  }
}

function authenticated(header: Uint8Array, about: string): Buffer {
  return Buffer.concat([Buffer.from('holdfast 1\n'), header, Buffer.from(about, 'utf8')])
}

function printable(id: string): string {
  return isPlainText(id) ? id : '?'
}

/** Random bytes. To get a few costs about as much as to get 4,096. */
class RandomBytes {
  readonly #pool = Buffer.allocUnsafeSlow(4_096)
  #used = 4_096

  take(count: number): Buffer {
    if (this.#used + count > this.#pool.length) {
      randomFillSync(this.#pool)
      this.#used = 0
    }
    const taken = Buffer.from(this.#pool.subarray(this.#used, this.#used + count))
    this.#used += count
    return taken
  }
}

function checkKey(value: unknown, what: string): MasterKey {
  const { id, key } = (value ?? {}) as { id?: unknown; key?: unknown }
  if (!isPlainText(id) || id === '' || Buffer.byteLength(id) > 100) {
    throw new TypeError(
      `${what}: id must be a string of 1 to 100 bytes without control characters, got ${describe(id)}`,
    )
  }
  // Never shown: it is a secret, even if it is invalid.
  return new MasterKey(id, toKey(key, `${what}: the key "${id}" must be`))
}

function toKey(key: unknown, must: string): KeyObject {
  if (key instanceof KeyObject) {
    if (key.type !== 'secret' || key.symmetricKeySize !== 32) {
      throw new TypeError(`${must} a secret key of 32 bytes`)
    }
    return key
  }
  if (!(key instanceof Uint8Array) && typeof key !== 'string') {
    throw new TypeError(`${must} 32 bytes, or 32 bytes in base64, got ${typeof key}`)
  }
  const bytes = Buffer.from(key as string, 'base64')
  if (bytes.length !== 32) {
    throw new TypeError(
      `${must} 32 bytes, or 32 bytes in base64, got ${bytes.length}; make one by randomBytes(32).toString('base64')`,
    )
  }
  return createSecretKey(bytes)
}
