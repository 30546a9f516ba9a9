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
/** This many times as much has to be free. */
const SPARE = 16
const BYTE = Buffer.alloc(1)

// On Linux by the name, since reading the link count reads the times too (see below).
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

  /** Its length; 0 if it cannot be read: the next write to it reports why. */
  size(): number {
    if (this.#path === undefined) return 0
    try {
      return statSync(this.#path).size
    } catch {
      return 0
    }
  }

  /**
   * Whether it is longer than that, judged by reading there. Not by its size: reading that also
   * reads its times, and then Linux records a new time with the next write, which the sync of that
   * write has to wait for.
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
   * Appends zeros, which SQLite ignores like the leftovers of an earlier round. The caller must
   * hold the write lock: no other connection may write to the end of the file.
   *
   * Written, not only allocated, so that overwriting them changes nothing but their content.
   * Returns by how much the file has grown: not at all if the disk is nearly full, since the
   * database itself may need the space.
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
      // Then a commit that makes the file longer reports the error.
    }
    return made
  }

  /**
   * Whether the file that SQLite started to write to has been deleted or replaced: then no other
   * process ever sees what is written to it. Has to be called after the first write.
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

  /** Call it before SQLite closes its own, which may remove it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
