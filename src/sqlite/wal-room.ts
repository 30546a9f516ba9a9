import { closeSync, fstatSync, openSync, statfsSync, writeSync } from 'node:fs'

const ZEROS = Buffer.alloc(256 * 1024)
/** So many times as much has to be free. */
const SPARE = 16

/**
 * Makes the file of a WAL longer by zeros, in which SQLite sees nothing, as in what an earlier round
 * has left there. Only for who holds the lock for writing: nobody else may be at its end.
 *
 * Written, and not only reserved, so that going over them changes no more than what they hold.
 * Answers by how much it is longer now: not at all where the disk has little room left, which the
 * file itself may need.
 */
export function lengthen(path: string, bytes: number): number {
  let made = 0
  try {
    const { bavail, bsize } = statfsSync(path)
    if (bavail * bsize < SPARE * bytes) return 0
    const file = openSync(path, 'r+')
    try {
      const end = fstatSync(file).size
      while (made < bytes) {
        made += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, bytes - made), end + made)
      }
    } finally {
      closeSync(file)
    }
  } catch {
    // Then a commit that makes the file longer says what is wrong.
  }
  return made
}
