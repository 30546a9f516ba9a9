// A server that only passes on notifications, for tests of senders and listeners.

import { virtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts'
import {
  type ListenHost,
  type OpenListenConnection,
} from '../../src/postgres/notifier/listen-connection.ts'
import { Notifier, type Server } from '../../src/postgres/notifier/notifier.ts'
import type { Hint, HintReceiver, HintSubscription } from '../../src/store/hints.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'

/** What can be done to it, and what was done through it. */
export interface FakeServer extends Server {
  readonly openConnection: OpenListenConnection
  /** Every LISTEN, UNLISTEN and look, in order. */
  readonly journal: string[]
  /** How many connections were attempted. */
  connects: number
  /** While true, no connection can be opened. */
  down: boolean
  /** While true, notifications are accepted and go nowhere. */
  swallows: boolean
  /** While true, notifications are refused. */
  full: boolean
  /** While true, LISTEN is not answered. */
  silent: boolean
  /** How many letters were sent. */
  notifications: number
  /** Cuts off the present listeners: their connections stay open, and receive nothing more. */
  strand(): void
  /** Ends all connections that listen. */
  cut(): void
  /** Sends a payload to a recipient, as another process would. */
  notify(to: string, payload: object | string): void
}

/** Makes one. */
export function fakeServer(): FakeServer {
  const listenConnections = new Set<{ host: ListenHost; channels: Set<string> }>()
  const server: FakeServer = {
    journal: [],
    connects: 0,
    down: false,
    swallows: false,
    full: false,
    silent: false,
    notifications: 0,
    strand: () => listenConnections.clear(),
    async openConnection(host) {
      server.connects++
      if (server.down) throw new Error('connection refused')
      const connection = { host, channels: new Set<string>() }
      listenConnections.add(connection)
      return {
        async listen(channel) {
          if (server.silent) await new Promise(() => {})
          server.journal.push(`listen ${channel}`)
          connection.channels.add(channel)
        },
        async unlisten(channel) {
          server.journal.push(`unlisten ${channel}`)
          connection.channels.delete(channel)
        },
        close: () => void listenConnections.delete(connection),
      }
    },
    channelOf: async (to) => `test ${to}`,
    async send(notifications) {
      if (server.down) throw new Error('connection refused')
      if (server.full) throw new Error('too many notifications in the NOTIFY queue')
      server.notifications += notifications.length
      for (const { to, payload } of notifications) server.notify(to, payload)
    },
    notify(to, payload) {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
      if (server.swallows) return
      for (const { host, channels } of listenConnections) {
        const channel = `test ${to}`
        if (channels.has(channel)) host.received(channel, text)
      }
    },
    cut() {
      const cut = [...listenConnections]
      listenConnections.clear()
      for (const { host } of cut) host.lost(new Error('cut'))
    },
  }
  return server
}

/** A listener of a notifier on a virtual clock. */
export interface Stage extends AsyncDisposable {
  readonly clock: VirtualClock
  readonly log: MemoryLog
  readonly server: FakeServer
  readonly notifier: Notifier
  /** Adds a listener; `runtime` is its number, 0 for a client. `through` is how it calls the server. */
  listen(runtime: number, through?: Server): Audience
}

/** A listener and what it received. */
export interface Audience {
  readonly listening: HintSubscription & { readonly id: string }
  readonly received: Hint[]
  /** The times at which it was asked to look. */
  readonly polls: number[]
  runtime: number
  /** Whether its polls find something. */
  finds: boolean
  /** Whether it throws when it receives a hint. */
  fails: boolean
}

/** Sets the stage. */
export function stage(): Stage {
  const clock = virtualClock()
  const log = memoryLog()
  const server = fakeServer()
  const notifier = new Notifier({ clock, log, openConnection: server.openConnection })
  return {
    clock,
    log,
    server,
    notifier,
    listen(runtime, through = server) {
      const audience = {
        received: [] as Hint[],
        polls: [] as number[],
        runtime,
        finds: false,
        fails: false,
      }
      const listener: HintReceiver = {
        clock,
        log,
        interest: () => ({ runtime: audience.runtime, workflows: [], tasks: null, ownedTasks: [] }),
        receive(hint) {
          if (audience.fails) throw new Error('it fails')
          audience.received.push(hint)
        },
        async poll() {
          audience.polls.push(clock.now())
          server.journal.push('look')
          return audience.finds
        },
      }
      return Object.assign(audience, { listening: notifier.listen(listener, through) })
    },
    async [Symbol.asyncDispose]() {
      await notifier.close()
    },
  }
}
