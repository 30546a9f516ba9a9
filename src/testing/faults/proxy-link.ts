import type { Socket } from 'node:net'
import type { CutTrigger } from './cut-trigger.ts'
import { DelayedLane } from './delayed-lane.ts'

/** What a link needs of its proxy. */
export interface LinkHost {
  delayMs(way: Way): number
  /** Counts what comes in. */
  counted(way: Way, bytes: number): void
  roundTrip(): void
  /** Cuts that are still to happen. */
  readonly triggers: Set<CutTrigger>
  closed(link: ProxyLink): void
}

/** Which way bytes go. */
export type Way = 'toServer' | 'toClient'

/** One connection of a client, and its connection to the server. */
export class ProxyLink {
  readonly #client: Socket
  readonly #server: Socket
  readonly #host: LinkHost
  readonly #lanes: Readonly<Record<Way, DelayedLane>>
  /** Something was asked that has no answer yet. */
  #asked = false
  /** A cut that waits for the answer to end. */
  #awaited: CutTrigger | undefined
  #lastBytes: Buffer = Buffer.alloc(0)
  #isCut = false

  constructor(client: Socket, server: Socket, host: LinkHost) {
    this.#client = client
    this.#server = server
    this.#host = host
    this.#lanes = {
      toServer: new DelayedLane(() => host.delayMs('toServer')),
      toClient: new DelayedLane(() => host.delayMs('toClient')),
    }
    client.setNoDelay(true)
    server.setNoDelay(true)
    client.on('data', (piece: Buffer) => this.#fromClient(piece))
    server.on('data', (piece: Buffer) => this.#fromServer(piece))
    client.on('end', () => this.#lanes.toServer.put(() => server.end()))
    server.on('end', () => this.#lanes.toClient.put(() => client.end()))
    client.on('error', () => this.cut())
    server.on('error', () => this.cut())
    let open = 2
    const closed = (): void => {
      if (--open === 0) host.closed(this)
    }
    client.on('close', closed)
    server.on('close', closed)
  }

  /** Ends both connections at once, without notifying either side. */
  cut(): void {
    if (this.#isCut) return
    this.#isCut = true
    this.#clear()
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  stall(): void {
    this.#lanes.toServer.stall()
    this.#lanes.toClient.stall()
  }

  resume(): void {
    this.#lanes.toServer.resume()
    this.#lanes.toClient.resume()
  }

  #fromClient(piece: Buffer): void {
    this.#host.counted('toServer', piece.length)
    this.#asked = true
    // Read when it arrives at the server, so that an answer to it cannot be older than it.
    this.#lanes.toServer.put(() => this.#arrive(piece))
  }

  #arrive(piece: Buffer): void {
    const { triggers } = this.#host
    for (const trigger of triggers) {
      if (!trigger.sees(this, piece)) continue
      triggers.delete(trigger)
      if (trigger.at === 'request') {
        this.cut()
        return trigger.settle()
      }
      this.#awaited = trigger
    }
    this.#pass('toServer', piece)
  }

  #fromServer(piece: Buffer): void {
    this.#host.counted('toClient', piece.length)
    if (this.#asked) this.#host.roundTrip()
    this.#asked = false
    const awaited = this.#awaited
    if (awaited === undefined) return this.#lanes.toClient.put(() => this.#pass('toClient', piece))
    const isOver = this.#endsAnswer(piece)
    if (awaited.at === 'after') this.#lanes.toClient.put(() => this.#pass('toClient', piece))
    if (!isOver) return
    // Not before the server is done with all of it: one that cannot send gives up in the middle.
    if (awaited.at === 'after') return this.#lanes.toClient.put(() => this.#part(awaited))
    this.cut()
    awaited.settle()
  }

  /** Passes data on, up to the byte after which a cut is wanted. */
  #pass(way: Way, piece: Buffer): void {
    const to = way === 'toServer' ? this.#server : this.#client
    for (const trigger of this.#host.triggers) {
      if (trigger.bytesLeft > piece.length) {
        trigger.bytesLeft -= piece.length
        continue
      }
      this.#host.triggers.delete(trigger)
      to.write(piece.subarray(0, trigger.bytesLeft))
      return this.#part(trigger)
    }
    to.write(piece)
  }

  /** Ends both connections after what was sent already. */
  #part(trigger: CutTrigger): void {
    this.#isCut = true
    this.#clear()
    this.#client.destroySoon()
    this.#server.destroySoon()
    trigger.settle()
  }

  #clear(): void {
    this.#lanes.toServer.clear()
    this.#lanes.toClient.clear()
  }

  /** Whether the server is ready for the next statement after this piece. */
  #endsAnswer(piece: Buffer): boolean {
    const last = Buffer.concat([this.#lastBytes, piece.subarray(-READY.length - 1)])
    this.#lastBytes = last.subarray(-READY.length - 1)
    return this.#lastBytes.length > READY.length && this.#lastBytes.indexOf(READY) === 0
  }
}

// The message ReadyForQuery without its last byte, which is the state of the transaction.
const READY = Buffer.from([0x5a, 0, 0, 0, 5])
