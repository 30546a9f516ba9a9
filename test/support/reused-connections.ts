// Connections that one store after the other uses: what a server keeps with a connection, above all
// the plans of our procedures, takes longer to build than most tests do.
//
//   - Only pools for a URL that `keepConnections` returned are kept; all others are unchanged.
//   - A pool that a store has ended is kept if nothing uses it, and handed to the next store that
//     asks for one with the same settings. One that is in use is ended as usual.
//   - A store that has ended a pool gets no more connections or events from it.
//   - A process keeps few unused pools: many processes share the server.

import pg, { Pool as RealPool, type PoolConfig } from 'pg'
import type { PgClient, PgPool } from '../../src/postgres/connect/driver.ts'

const MAX_KEPT = 40

const kept = new Map<string, RealPool[]>()
let urls = 0

/** A URL to the same database, for stores whose connections outlive them; until `letGo`. */
export function keepConnections(url: string): string {
  const marked = new URL(url)
  // Distinguishes URLs, and nothing else: our connections have names, and do not use this one.
  marked.searchParams.set('fallback_application_name', `kept ${++urls}`)
  kept.set(marked.href, [])
  return marked.href
}

/** Ends the connections that are kept for a URL. */
export async function letGo(url: string): Promise<void> {
  const pools = kept.get(url) ?? []
  kept.delete(url)
  await Promise.all(pools.map((pool) => pool.end()))
}

// Stores load the package by themselves, and take what it has under this name.
Object.assign(pg, {
  Pool: new Proxy(RealPool, {
    construct(Pool, args: [PoolConfig?], made) {
      const [settings = {}] = args
      const pools = kept.get(settings.connectionString ?? '')
      if (pools === undefined) return Reflect.construct(Pool, args, made) as RealPool
      const at = pools.findLastIndex(({ options }) => keyOf(options) === keyOf(settings))
      return new KeptPool(at === -1 ? newPool(settings) : pools.splice(at, 1)[0]!)
    },
  }),
})

function newPool(settings: PoolConfig): RealPool {
  // A connection that the server ends while it is unused leaves the pool; nothing else has to be
  // done.
  return new RealPool(settings).on('error', () => {})
}

/** In what pools of one URL differ. */
function keyOf({ max, pipeline, application_name: name }: PoolConfig): string {
  return [max, pipeline, name].join()
}

type Listener = (error: Error) => void

/** A pool as one store sees it, from its making to its end. */
class KeptPool implements PgPool {
  readonly #pool: RealPool
  readonly #listeners: [event: 'error', listener: Listener][] = []
  #ended: Promise<void> | undefined

  constructor(pool: RealPool) {
    this.#pool = pool
  }

  async connect(): Promise<PgClient> {
    if (this.#ended) throw new Error('Cannot use a pool after calling end on the pool')
    return this.#pool.connect()
  }

  on(event: 'error', listener: Listener): this {
    this.#listeners.push([event, listener])
    this.#pool.on(event, listener)
    return this
  }

  removeListener(event: 'error', listener: Listener): this {
    this.#pool.removeListener(event, listener)
    return this
  }

  end(): Promise<void> {
    return (this.#ended ??= this.#end())
  }

  async #end(): Promise<void> {
    const pool = this.#pool
    const pools = kept.get(pool.options.connectionString ?? '')
    if (pools === undefined || !isWorthKeeping(pool)) return pool.end()
    for (const [event, listener] of this.#listeners) pool.removeListener(event, listener)
    pools.push(pool)
  }
}

function isWorthKeeping({ idleCount, totalCount, waitingCount }: RealPool): boolean {
  const isIdle = idleCount === totalCount && waitingCount === 0
  return isIdle && totalCount > 0 && totalCount <= MAX_KEPT - countKept()
}

function countKept(): number {
  return [...kept.values()].flat().reduce((sum, { totalCount }) => sum + totalCount, 0)
}
