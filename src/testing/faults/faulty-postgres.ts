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
   * From now on this goes wrong, until the result is disposed of. Several faults may be at work at
   * once; their delays add up, and the oldest error wins.
   */
  inject(fault: Fault): Injected
  /**
   * From now on hints of other processes are lost on the way, all or about this share of them, until
   * the result is disposed of. Nobody is told.
   */
  loseHints(some?: { readonly share?: number; readonly random?: () => number }): Injected
  /**
   * Has the server end the connections that listen, so that they are opened again. Resolves to how
   * many there were.
   */
  reconnect(): Promise<number>
  /** Ends all connections. First close what uses the store. */
  close(): Promise<void>
}

/**
 * A store as `postgres()` makes it, for `open` and `connect`, whose statements can be made slow or
 * made to fail: by an error of the server, by an answer that is lost, by an error in the code that
 * sends them. It stands for one process; make another one for another.
 *
 * The faults come in between the store and its connections, so that everything behind is real: the
 * server, and what the store makes of the error. One that is to be seen on the network, such as a cut
 * in the middle of a message, is for `postgresProxy`.
 *
 * What the notifier can suffer is made of the same: `inject({ of: 'listen', error })` has its loop
 * throw, `reconnect()` ends its connection, `loseHints()` makes it deaf, `inject({ of: 'tick', … })`
 * hits the look that finds what hints did not tell, and `notify: 'off'` leaves it out.
 *
 * Leases are renewed by ticks alone, without the help of a thread, so that a fault of `tick` is felt.
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
    loseHints: (some = {}) => add(losing, { ...some, error: unheard }),
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

/** As for `postgres()`, but for where connections come from. */
export type FaultyPostgresOptions = Omit<PostgresOptions, 'pool' | 'listenUrl'>

function add(to: Set<ActiveFault>, fault: Fault): Injected {
  const added = new ActiveFault(fault, (ended) => void to.delete(ended))
  to.add(added)
  return added
}

// Those that a store makes itself, and some for more than one runtime on it.
const MAX_CONNECTIONS = 16
const HINT = 'notification'

function unheard(): Error {
  return new Error('a notification was lost')
}
