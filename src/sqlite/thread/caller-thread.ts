import type { LeaseKeeper } from '../../store/lease-keeper.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { Database } from '../file/database.ts'
import { openMigrated } from '../file/migrated-image.ts'
import { HintHub } from './hints.ts'
import { SameThread } from './same-thread.ts'
import type { SharedDatabase } from '../file/store-place.ts'
import type { StoreThread } from './store-thread.ts'
import type { ArgsOf, OperationName, ResultOf } from './table.ts'

/**
 * A database in memory that is used from the thread of the caller, with a clock of the caller's. It is
 * ready in a millisecond, and transactions of users use its one connection.
 */
export class CallerThread implements StoreThread {
  readonly settings: SqliteSettings
  readonly hub = new HintHub({ watchChanges() {}, unwatchChanges() {} })
  readonly shared: SharedDatabase
  readonly #thread: SameThread

  /** `now` returns milliseconds since 1970. */
  constructor(settings: SqliteSettings, now: () => number) {
    const thread = (this.#thread = new SameThread(
      settings,
      () => new Database(settings, now, openMigrated),
    ))
    this.settings = settings
    this.shared = {
      now,
      get database() {
        return thread.database
      },
    }
  }

  async open(): Promise<void> {
    // Not an operation, which would wait for the end of a transaction of the user.
    void this.shared.database
  }

  call<Name extends OperationName>(
    operation: Name,
    args: ArgsOf<Name>,
    clockOffsetMs = 0,
  ): Promise<ResultOf<Name>> {
    return this.#thread.call(operation, args, clockOffsetMs)
  }

  /** Needs no thread of its own: no other process could take over. */
  keepLease(): LeaseKeeper {
    return { stop: async () => {} }
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
