import {
  closeSync,
  fstatSync,
  openSync,
  readlinkSync,
  readSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'

const ZEROS = Buffer.alloc(256 * 1024)
/** So many times as much has to be free. */
const SPARE = 16
const BYTE = Buffer.alloc(1)

// On Linux by the name, since asking for the number of names asks for the times too (see below).
function hasNoName(file: number): boolean {
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${file}`).endsWith(' (deleted)')
    } catch {
      // There is no /proc here.
    }
  }
  return fstatSync(file).nlink === 0
}

/** The file of a WAL, beside SQLite, which has it open itself. */
export class WalFile {
  readonly #path: string | undefined
  #file: number | undefined

  /** A database in memory has none. */
  constructor(path: string | undefined) {
    this.#path = path
  }

  /** How long it is; 0 for one that cannot be looked at: whoever writes to it is told why. */
  size(): number {
    if (this.#path === undefined) return 0
    try {
      return statSync(this.#path).size
    } catch {
      return 0
    }
  }

  /**
   * Whether it is longer than that, told by what can be read there. Not by its size: who asks for
   * that asks for its times too, and then Linux notes a new time with the next write, for which that
   * write's sync has to wait.
   */
  isLongerThan(bytes: number): boolean {
    if (this.#path === undefined) return false
    try {
      this.#file ??= openSync(this.#path, 'r')
      return readSync(this.#file, BYTE, 0, 1, bytes) > 0
    } catch {
      // There is none yet.
      return false
    }
  }

  /**
   * Makes it longer by zeros, in which SQLite sees nothing, as in what an earlier round has left
   * there. Only for who holds the lock for writing: nobody else may be at its end.
   *
   * Written, and not only reserved, so that going over them changes no more than what they hold.
   * Answers by how much it is longer now: not at all where the disk has little room left, which the
   * database itself may need.
   */
  lengthen(bytes: number): number {
    let made = 0
    if (this.#path === undefined) return made
    try {
      const { bavail, bsize } = statfsSync(this.#path)
      if (bavail * bsize < SPARE * bytes) return 0
      const file = openSync(this.#path, 'r+')
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

  /**
   * Whether the file that SQLite began to write to is no longer there for others: then nobody will
   * ever see what is written to it. To be called after the first write.
   */
  isDeleted(): boolean {
    if (this.#path === undefined) return false
    try {
      this.#file ??= openSync(this.#path, 'r')
      return hasNoName(this.#file)
    } catch (error) {
      return (error as { code?: string }).code === 'ENOENT'
    }
  }

  /** To be called before SQLite closes its own, which may remove it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
