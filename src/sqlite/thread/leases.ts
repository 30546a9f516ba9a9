import type { LeaseOrder } from '../../store/lease-keeper.ts'
import { checkMs, type LeaseStore, LeaseWatch, currentProcess } from '../../watchdog/lease-watch.ts'
import type { Database, Transaction } from '../file/database.ts'
import { start } from '../operations/commit.ts'
import { look } from '../operations/look.ts'
import { unregister } from '../operations/runtimes.ts'
import { suspend } from '../operations/suspend.ts'
import { finishTasks } from '../operations/task-results.ts'
import { MOMENT_MS } from './waiting-writes.ts'

/** Leases that the thread of the file renews between its operations. */
export class Leases {
  readonly #store: LeaseStore
  readonly #timers = new Map<number, NodeJS.Timeout>()

  constructor(opened: () => Database) {
    this.#store = leaseStore(opened)
  }

  /** Renews a lease until it is dropped under the same key. */
  keep(key: number, order: LeaseOrder): void {
    // The operations that fail report what is wrong with the file.
    const watch = new LeaseWatch(
      order,
      this.#store,
      currentProcess(() => {}),
    )
    this.#timers.set(
      key,
      setInterval(() => void watch.check(), checkMs(order)),
    )
  }

  drop(key: number): void {
    clearInterval(this.#timers.get(key))
    this.#timers.delete(key)
  }

  /** Drops all. */
  clear(): void {
    for (const key of this.#timers.keys()) this.drop(key)
  }
}

function leaseStore(opened: () => Database): LeaseStore {
  return {
    renewLease: async (runtime, leaseMs) =>
      // It need not survive power loss: no runtime does. It is retried soon, so that reads need not
      // wait for it while the file is locked.
      opened().write(
        'sqlite renewLease',
        0,
        (tx) => renewLease(tx, runtime, leaseMs),
        false,
        MOMENT_MS,
      ),
    endLease: async (runtime) =>
      opened().write('sqlite endLease', 0, (tx) => endLease(tx, runtime), false),
    look: async (iids) => opened().read('sqlite look', 0, (tx) => look(tx, iids)),
    start: async (items, { runtime } = {}) =>
      opened().write('sqlite start', 0, (tx) => start(tx, items, runtime)),
    suspend: async (ids, report) =>
      opened().write('sqlite suspend', 0, (tx) => suspend(tx, ids, report)),
    finishTasks: async (runtime, results) =>
      opened().write('sqlite finishTasks', 0, (tx) => finishTasks(tx, runtime, results)),
    unregister: async (runtime) =>
      opened().write('sqlite unregister', 0, (tx) => unregister(tx, runtime)),
  }
}

// Never shortened, since a store under test may be ahead of the machine's clock.
const RENEW = `
update runtimes set lease_until = max(lease_until, ?)
where runtime = ? and state = 'alive'`

function renewLease(tx: Transaction, runtime: number, leaseMs: number): boolean {
  return tx.sql(RENEW).run(tx.now + leaseMs, runtime) > 0
}

/** Ends a lease now: others take over what the runtime owned. */
export function endLease(tx: Transaction, runtime: number): void {
  tx.sql('update runtimes set lease_until = ? where runtime = ?').run(tx.now, runtime)
}
