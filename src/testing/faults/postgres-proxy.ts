import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { resolveOptions } from '../../base/options.ts'
import { type CutOn, CutTrigger } from './cut-trigger.ts'
import { type LinkHost, ProxyLink, type Way } from './proxy-link.ts'

/** What has passed through a proxy so far. */
export interface ProxyCounts {
  /** Connections that were made. */
  readonly connections: number
  /** Connections that are open now. */
  readonly open: number
  /** Connections that were refused. */
  readonly refused: number
  /** How often a client sent something and the server then answered. */
  readonly roundTrips: number
  readonly bytesToServer: number
  readonly bytesToClient: number
}

/** The network between this process and a PostgreSQL server, as bad as a test needs it. */
export interface PostgresProxy extends AsyncDisposable {
  /** The database through the proxy: for `postgres({ url })`, `open`, `pg`. */
  readonly url: string
  readonly counts: ProxyCounts
  /**
   * From now on, data in this direction is delayed by this much; a direction that is not named
   * stays as it is. A round trip takes both.
   */
  latency(each: { readonly toServer?: Duration; readonly toClient?: Duration }): void
  /** Cuts all open connections. New ones work as before. */
  cut(): void
  /**
   * Cuts one connection, once, at a chosen point: in the middle of a transaction, before or after
   * the answer to its commit. Resolves when that has happened.
   */
  cutOn(when: CutOn): Promise<void>
  /** Ends new connections at once. Open ones stay. */
  refuse(): void
  /**
   * Nothing arrives any longer, in either direction, and neither side notices: connections stay
   * open, and new ones can be made. As when a cable is pulled.
   */
  stall(): void
  /** Ends `refuse` and `stall`. What was held back arrives now. */
  mend(): void
  /** Cuts all connections, and accepts no more. */
  close(): Promise<void>
}

/**
 * Puts a proxy on this machine in front of a PostgreSQL server: plain TCP, on 127.0.0.1 and a port
 * of its own.
 *
 * It can delay, cut, refuse and swallow, and it counts connections, round trips and bytes. All
 * connections of a store go through it if the store is given its `url`: commits, claims,
 * transactions, the listen connection, and that of the thread which renews the lease.
 *
 * Only `cutOn` reads what passes, and it finds no text in encrypted traffic: use an address without
 * TLS for it.
 *
 * @example
 * await using proxy = await postgresProxy('postgres://localhost/test')
 * await using holdfast = await open(postgres({ url: proxy.url }), { register })
 *
 * proxy.latency({ toServer: '35ms', toClient: '35ms' })
 * const cut = proxy.cutOn({ text: 'commit_batch', at: 'answer' })
 * const result = holdfast.run(order, 1)
 * await cut // its turn was recorded, and the answer lost
 * await result
 */
export async function postgresProxy(url: string): Promise<PostgresProxy> {
  const target = targetOf(url)
  const links = new Set<ProxyLink>()
  const delays: Record<Way, number> = { toServer: 0, toClient: 0 }
  const bytes: Record<Way, number> = { toServer: 0, toClient: 0 }
  let [connections, refused, roundTrips] = [0, 0, 0]
  let [refusing, stalled] = [false, false]

  const host: LinkHost = {
    triggers: new Set(),
    delayMs: (way) => delays[way],
    counted: (way, length) => {
      bytes[way] += length
    },
    roundTrip: () => {
      roundTrips++
    },
    closed: (link) => void links.delete(link),
  }
  const cut = (): void => links.forEach((link) => link.cut())

  const server = createServer({ allowHalfOpen: true }, (client: Socket) => {
    if (refusing) {
      refused++
      return void client.resetAndDestroy()
    }
    connections++
    const { hostname, port } = target
    const link = new ProxyLink(
      client,
      connect({ host: hostname, port: Number(port), allowHalfOpen: true }),
      host,
    )
    links.add(link)
    if (stalled) link.stall()
  })
  const { port } = await listening(server)
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)

  const close = (): Promise<void> =>
    new Promise((resolve) => {
      refusing = true
      server.close(() => resolve())
      cut()
    })
  return {
    url: proxied.href,
    get counts() {
      return {
        connections,
        open: links.size,
        refused,
        roundTrips,
        bytesToServer: bytes.toServer,
        bytesToClient: bytes.toClient,
      }
    },
    latency(each) {
      const { toServer, toClient } = resolveOptions('latency', each, {
        toServer: duration(delays.toServer),
        toClient: duration(delays.toClient),
      })
      delays.toServer = toServer
      delays.toClient = toClient
    },
    cut,
    cutOn(when) {
      const trigger = new CutTrigger(when)
      host.triggers.add(trigger)
      return trigger.done
    },
    refuse() {
      refusing = true
    },
    stall() {
      stalled = true
      for (const link of links) link.stall()
    },
    mend() {
      refusing = false
      stalled = false
      for (const link of links) link.resume()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function targetOf(url: unknown): { hostname: string; port: string } {
  if (typeof url === 'string' && URL.canParse(url)) {
    const { protocol, hostname, port } = new URL(url)
    if (/^postgres(ql)?:$/.test(protocol) && hostname !== '') {
      // In a URL, an IPv6 address is in brackets.
      return { hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || '5432' }
    }
  }
  // Whatever it is, it may contain a password.
  const shown = typeof url === 'string' ? 'another text' : describe(url)
  throw new TypeError(`postgresProxy: url must be "postgres://host:port/name", got ${shown}`)
}

function listening(server: Server): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo))
  })
}
