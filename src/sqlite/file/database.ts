import { StoreError } from '../../store/store-error.ts'
import { untilFree } from './busy.ts'
import { Checkpointer } from './checkpoint.ts'
import {
  type Driver,
  type DriverStatement,
  openDriver,
  type SqliteDatabase,
  type Statement,
} from '../connect/driver.ts'
import { checkPlace, openError } from './file-place.ts'
import { checkFile, isCurrent, migrate } from '../schema/migrate.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { openPrivately } from './private-file.ts'
import { isDiskFull, toStoreError } from '../connect/sqlite-error.ts'
import { WalFile } from './wal-file.ts'
import { walResetWarning } from '../connect/wal-reset-bug.ts'

/** What an operation works with: the inside of one transaction. */
export interface Transaction {
  /** The statement for this SQL, prepared once per connection. */
  sql(text: string): Statement
  /** The store's clock, read once. */
  readonly now: number
  /** Identity of the file. */
  readonly server: string
}

/** A write transaction that its caller ends, by one of the two. */
export interface OpenTransaction {
  readonly tx: Transaction
  /** It is on disk when this returns. Throws when that is not so; then it is rolled back. */
  commit(): void
  rollback(): void
}

/** How many pages were in the WAL, and how many of them are in the file. */
interface Checkpointed {
  readonly log: number
  readonly checkpointed: number
}

/** A page in the WAL, with its header. */
const FRAME = 4_096 + 24

/** One open file, in WAL mode, with the durability asked for. Belongs to one thread. */
export class Database {
  /** The warning about the SQLite library in use, if there is one. */
  readonly warning: string | undefined
  readonly #driver: Driver
  readonly #settings: SqliteSettings
  readonly #now: () => number
  readonly #statements = new Map<string, DriverStatement>()
  readonly #checkpointer: Checkpointer
  readonly #wal: WalFile
  #server: string | undefined
  #synchronous: 'full' | 'normal'
  #isLost = false

  /**
   * Opens the file, creates it if it is missing, and brings its schema up to date. `now` is its clock, in
   * milliseconds since 1970; `open` makes the connection.
   */
  constructor(
    settings: SqliteSettings,
    now: () => number = Date.now,
    open: (settings: SqliteSettings) => Driver = openAt,
  ) {
    this.#settings = settings
    this.#now = now
    this.#synchronous = settings.durability === 'fsync' ? 'full' : 'normal'
    checkPlace(settings.path)
    this.#driver = open(settings)
    try {
      this.#configure()
      // A file that is up to date can be opened, and read, while another process holds its lock.
      if (!isCurrent(this.#driver, settings)) {
        this.#transact('begin immediate', 'sqlite open', () => migrate(this.#driver, settings))
      }
      this.warning = walResetWarning(this.#driver, settings.path)
      const wal = (this.#wal = new WalFile(
        settings.path === ':memory:' ? undefined : this.#walPath(),
      ))
      this.#checkpointer = new Checkpointer({
        size: () => wal.size(),
        isLongerThan: (bytes) => wal.isLongerThan(bytes),
        checkpoint: () => this.#checkpoint('passive').log * FRAME,
        shorten: () => void this.#checkpoint('truncate'),
        lengthen: (bytes) => wal.lengthen(bytes),
      })
    } catch (error) {
      this.#driver.close()
      throw openError(settings.path, error)
    }
  }

  /** The connection as the driver made it. */
  get connection(): SqliteDatabase {
    return this.#driver.connection
  }

  /** Whether a transaction is open on this connection. */
  get isInTransaction(): boolean {
    const { inTransaction, isTransaction } = this.#driver.connection as {
      inTransaction?: boolean
      isTransaction?: boolean
    }
    return inTransaction ?? isTransaction ?? false
  }

  /** The statement for this SQL, prepared once. */
  sql(text: string): DriverStatement {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      statement = this.#driver.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }

  /** Does reads in one snapshot. */
  read<T>(operation: string, clockOffsetMs: number, work: (tx: Transaction) => T): T {
    if (this.#isLost) throw this.#lost(operation)
    return this.#transact('begin', operation, () => work(this.#transaction(clockOffsetMs)))
  }

  /**
   * Does reads and writes in one transaction, which is on disk when this returns. One that need not
   * be `durable` is there with the next that is; until then power loss may undo it.
   *
   * `work` may be called several times when the file is locked, always on a clean slate. After
   * `busyMs` of that it throws `busy`.
   */
  write<T>(
    operation: string,
    clockOffsetMs: number,
    work: (tx: Transaction) => T,
    durable = true,
    busyMs = this.#settings.busyMs,
  ): T {
    if (this.#isLost) throw this.#lost(operation)
    const isSynced = durable && this.#settings.durability === 'fsync'
    this.#syncCommits(isSynced)
    const transact = (): T => {
      const inside = (): T => {
        if (isSynced) this.#checkpointer.makeRoom()
        return work(this.#transaction(clockOffsetMs))
      }
      const result = this.#transact('begin immediate', operation, inside, busyMs)
      this.#checkWal(operation)
      return result
    }
    try {
      return transact()
    } catch (error) {
      if (!isDiskFull(error) || !this.#emptyWal()) throw error
      return transact()
    } finally {
      this.#checkpointer.wrote()
    }
  }

  /**
   * Begins what `write` does in one go, for work that calls back. It must end before anything is waited
   * for: until then no other connection can write, and this one can do nothing else.
   */
  begin(operation: string, clockOffsetMs: number): OpenTransaction {
    if (this.#isLost) throw this.#lost(operation)
    const isSynced = this.#settings.durability === 'fsync'
    this.#syncCommits(isSynced)
    untilFree(operation, this.#settings.busyMs, () => {
      this.sql('begin immediate').run()
      try {
        if (isSynced) this.#checkpointer.makeRoom()
      } catch (error) {
        this.#rollback()
        throw error
      }
    })
    return {
      tx: this.#transaction(clockOffsetMs),
      commit: () => {
        try {
          this.sql('commit').run()
          this.#checkWal(operation)
        } catch (error) {
          this.#rollback()
          throw toStoreError(operation, error)
        } finally {
          this.#checkpointer.wrote()
        }
      },
      rollback: () => this.#rollback(),
    }
  }

  /** A number that changes when another connection commits. */
  dataVersion(): number {
    return (this.sql('pragma data_version').get() as { data_version: number }).data_version
  }

  /** Call it between operations, after the answer has left: may move pages out of the WAL. */
  tidy(): void {
    this.#checkpointer.tidy()
  }

  /** Ends the connection. The last one on a file also empties the WAL. */
  close(): void {
    this.#checkpointer.stop()
    this.#wal.close()
    // Closing would copy the deleted WAL into the file, over what other processes have written.
    if (!this.#isLost) this.#driver.close()
  }

  #transaction(clockOffsetMs: number): Transaction {
    const readServer = (): string => this.#readServer()
    return {
      sql: (text) => this.sql(text),
      now: this.#now() + clockOffsetMs,
      get server() {
        return readServer()
      },
    }
  }

  // Only a file of workflows has an identity, which is read when it is needed.
  #readServer(): string {
    this.#server ??= (this.sql('select server from store').get() as { server: string }).server
    return this.#server
  }

  #syncCommits(wanted: boolean): void {
    const synchronous = wanted ? 'full' : 'normal'
    if (synchronous === this.#synchronous) return
    this.#driver.exec(`pragma synchronous = ${synchronous}`)
    this.#synchronous = synchronous
  }

  // A deferred transaction that begins to write fails where an immediate one would have waited
  // (SQLITE_BUSY_SNAPSHOT), so writers always begin immediate. Nothing here awaits: a transaction
  // never outlives its call.
  #transact<T>(
    begin: 'begin' | 'begin immediate',
    operation: string,
    work: () => T,
    busyMs = this.#settings.busyMs,
  ): T {
    return untilFree(operation, busyMs, () => {
      this.sql(begin).run()
      try {
        const result = work()
        this.sql('commit').run()
        return result
      } catch (error) {
        this.#rollback()
        throw error
      }
    })
  }

  // Before anything is acknowledged: other processes never see what is written to a deleted WAL.
  #checkWal(operation: string): void {
    if (!this.#wal.isDeleted()) return
    this.#isLost = true
    throw this.#lost(operation)
  }

  #lost(operation: string): StoreError {
    return new StoreError(
      'unavailable',
      operation,
      `the WAL of ${this.#settings.path} was deleted while it was in use, so nothing can be written ` +
        'any more until this process is restarted. Another SQLite library in this process has opened ' +
        'the file and closed it again, or another program has deleted the WAL. Open the file in this process ' +
        'only with openDatabase() of holdfast/sqlite',
    )
  }

  #rollback(): void {
    try {
      this.sql('rollback').run()
    } catch {
      // Some errors (disk full, I/O) have ended the transaction already; the first error is the
      // one to report.
    }
  }

  #configure(): void {
    const { path, durability, busyMs } = this.#settings
    // First of all, since the journal mode is written into the file.
    untilFree('sqlite open', busyMs, () => checkFile(this.#driver, this.#settings))
    this.#driver.exec(`
      pragma busy_timeout = 0;
      pragma synchronous = ${durability === 'fsync' ? 'full' : 'normal'};
      -- On macOS a plain fsync leaves data in the drive's cache. Without effect elsewhere.
      pragma fullfsync = ${durability === 'fsync' ? 'on' : 'off'};
      pragma checkpoint_fullfsync = on;
      -- Done between operations instead, see \`checkpoint.ts\`.
      pragma wal_autocheckpoint = 0;
      pragma temp_store = memory;
      pragma cache_size = -32768;
    `)
    const mode = untilFree(
      'sqlite open',
      busyMs,
      () =>
        (this.#driver.prepare('pragma journal_mode = wal').get() as { journal_mode: string })
          .journal_mode,
    )
    if (mode !== 'wal' && path !== ':memory:') {
      throw new StoreError(
        'misconfigured',
        'sqlite open',
        `${path} cannot be used in WAL mode, only in "${mode}"; is it on a network drive?`,
      )
    }
  }

  // As SQLite has it: the path given may be a link, or be relative to where the process was then.
  #walPath(): string {
    return `${(this.sql('pragma database_list').get() as { file: string }).file}-wal`
  }

  /** Moves what it can from the WAL into the file, without waiting for other connections. */
  #checkpoint(mode: 'passive' | 'truncate'): Checkpointed {
    return this.sql(`pragma wal_checkpoint(${mode})`).get() as Checkpointed
  }

  // The disk is full. The pages in the WAL may still fit into the file; then the WAL starts over in
  // the space that it has.
  #emptyWal(): boolean {
    try {
      const { log, checkpointed } = this.#checkpoint('passive')
      return log > 0 && checkpointed === log
    } catch {
      return false
    }
  }
}

function openAt({ path, driver, busyMs }: SqliteSettings): Driver {
  try {
    return untilFree('sqlite open', busyMs, () =>
      openPrivately(path, () => openDriver(path, driver)),
    )
  } catch (error) {
    throw openError(path, error)
  }
}
