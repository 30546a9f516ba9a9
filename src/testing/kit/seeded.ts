import { seededRandom } from '../../engine/context/random.ts'
import { uuidMaker } from '../../engine/client/ids.ts'

/** Numbers and ids that are the same each time. */
export interface Seeded {
  readonly random: () => number
  readonly newUuid: () => string
}

/** A source of numbers and ids for a seed; `dateMs` is the time that ids begin with. */
export function seeded(seed: number, dateMs: () => number): Seeded {
  const part = (seed >>> 0).toString(16).padStart(8, '0')
  const numbers = seededRandom(part.repeat(4))
  const bytes = seededRandom(`${part}${'0'.repeat(24)}`)
  const fill = (into: Uint8Array): void => {
    for (let i = 0; i < into.length; i++) into[i] = bytes.bits() >>> 24
  }
  return { random: () => numbers.number(), newUuid: uuidMaker(dateMs, fill) }
}
