import { describe } from '../../base/describe.ts'
import { makePool } from '../../postgres/connect/connections.ts'
import type { PgPool } from '../../postgres/connect/driver.ts'
import type { PostgresOptions } from '../../postgres/connect/options.ts'
import { postgres } from '../../postgres/store.ts'
import type { Store } from '../../store/store.ts'
import { ActiveFault, type Fault, type Injected } from './fault.ts'
import { faultyPool } from './faulty-pool.ts'

/** A store on PostgreSQL in which things go wrong. */
export interface FaultyPostgres extends Store, AsyncDisposable {
  /**
   * Adds a fault, until the result is disposed of. Several faults may be active at once; their
   * delays add up, and the oldest error wins.
   */
  inject(fault: Fault): Injected
  /**
   * Loses hints of other processes on the way, all or about this share of them, until the result is
   * disposed of. No process notices.
   */
  loseHints(some?: { readonly share?: number; readonly random?: () => number }): Injected
  /**
   * Makes the server end the listen connections, so that they are opened again. Resolves to how
   * many there were.
   */
  reconnect(): Promise<number>
  /** Ends all connections. Close everything that uses the store first. */
  close(): Promise<void>
}

/**
 * A store as `postgres()` makes it, for `open` and `connect`, whose statements can be made slow or
 * made to fail: by an error of the server, by an answer that is lost, by an error in the code that
 * sends them. It represents one process; create another one for another process.
 *
 * The faults are injected between the store and its connections, so that everything behind is real:
 * the server, and how the store handles the error. For faults of the network, such as a cut in the
 * middle of a message, use `postgresProxy`.
 *
 * Faults of the notifier are made in the same way: `inject({ of: 'listen', error })` makes its loop
 * throw, `reconnect()` ends its connection, `loseHints()` drops what it would receive,
 * `inject({ of: 'tick', … })` hits the poll that finds what lost hints would have announced, and
 * `notify: 'off'` turns it off.
 *
 * Leases are renewed by ticks alone, without a thread, so that a fault of `tick` has an effect.
 *
 * @example
 * await using store = faultyPostgres({ url, schema })
 * await using holdfast = await open(store, { register: order })
 *
 * using lost = store.inject({ of: 'commit_batch', sqlState: '08006', when: 'after', nth: 2 })
 * await holdfast.run(order, 1)
 * console.log(lost.struck) // 1: the second batch was recorded, its answer lost, and sent again
 */
export function faultyPostgres(options: FaultyPostgresOptions = {}): FaultyPostgres {
  const { url, ...rest } = options
  for (const name of ['pool', 'listenUrl'] as const) {
    const value = (rest as PostgresOptions)[name]
    if (value === undefined) continue
    throw new TypeError(`faultyPostgres: ${name} cannot be given here, got ${describe(value)}`)
  }
  // Checks them all; connects to nothing.
  postgres(options)
  const active = new Set<ActiveFault>()
  const losing = new Set<ActiveFault>()
  let made: Promise<PgPool> | undefined
  const inner = (): Promise<PgPool> => (made ??= makePool(url, MAX_CONNECTIONS))
  const pool = faultyPool(inner, {
    strikes: (name) => [...active].flatMap((fault) => fault.strike(name) ?? []),
    losesHint: () => [...losing].some((fault) => fault.strike(HINT) !== undefined),
  })
  const close = async (): Promise<void> => {
    const last = await made
    made = undefined
    await last?.end()
  }
  return Object.assign(postgres({ ...rest, pool }), {
    inject: (fault: Fault) => add(active, fault),
    loseHints: (some = {}) => add(losing, { ...some, error: lostHint }),
    async reconnect() {
      const client = await (await inner()).connect()
      try {
        const pids = pool.listeners()
        await client.query({
          text: 'select pg_terminate_backend(pid) from unnest($1::int[]) as listener (pid)',
          values: [pids],
        })
        return pids.length
      } finally {
        client.release()
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  } satisfies Omit<FaultyPostgres, 'kind'>)
}

/** The options of `postgres()`, except those that say where connections come from. */
export type FaultyPostgresOptions = Omit<PostgresOptions, 'pool' | 'listenUrl'>

function add(to: Set<ActiveFault>, fault: Fault): Injected {
  const added = new ActiveFault(fault, (ended) => void to.delete(ended))
  to.add(added)
  return added
}

// Those that a store makes itself, and some for more than one runtime on it.
const MAX_CONNECTIONS = 16
const HINT = 'notification'

function lostHint(): Error {
  return new Error('a notification was lost')
}
