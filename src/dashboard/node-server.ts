// Serves a `fetch` handler with the HTTP server of Node.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { Readable } from 'node:stream'

/** A server that listens. */
export interface NodeServer extends AsyncDisposable {
  /** `http://127.0.0.1:4747` */
  readonly origin: string
}

/** Answers requests. */
export type Fetch = (request: Request) => Promise<Response>

/** Begins to listen. With several ports, takes the first that is free. */
export async function serve(
  fetch: Fetch,
  host: string,
  ports: readonly number[],
): Promise<NodeServer> {
  const server = createServer((incoming, outgoing) => {
    // Nothing is left to tell a caller who has gone.
    respond(fetch, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await listenOn(server, host, ports)
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function listenOn(server: Server, host: string, ports: readonly number[]): Promise<void> {
  for (const [i, port] of ports.entries()) {
    try {
      server.listen({ port, host })
      await once(server, 'listening')
      return
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== 'EADDRINUSE' || i === ports.length - 1) throw error
    }
  }
}

async function respond(
  fetch: Fetch,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  const request = toRequest(incoming, gone.signal)
  if (request === undefined) {
    outgoing.writeHead(400, { connection: 'close' }).end()
    return
  }
  const response = await fetch(request)
  const isUnread = !incoming.complete
  // What is left of a body that was refused is not waited for.
  if (isUnread) outgoing.setHeader('connection', 'close')
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  await send(response, outgoing, gone.signal)
  if (isUnread) incoming.destroy()
}

/** `undefined` if the address makes no sense. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = 'GET', headers } = incoming
  try {
    const url = new URL(incoming.url ?? '/', `http://${headers.host ?? ''}`)
    const own = new Headers()
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) own.set(name, Array.isArray(value) ? value.join(', ') : value)
    }
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return new Request(url, {
      method,
      headers: own,
      signal,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
    })
  } catch {
    return undefined
  }
}

async function send(
  response: Response,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const reader = response.body?.getReader()
  if (reader === undefined) return void outgoing.end()
  const stop = (): void => void reader.cancel().catch(() => {})
  gone.addEventListener('abort', stop, { once: true })
  while (!gone.aborted) {
    const { done, value } = await reader.read()
    if (done) break
    // Reads on when the other side has taken it.
    if (!outgoing.write(value)) await once(outgoing, 'drain', { signal: gone })
  }
  outgoing.end()
}
