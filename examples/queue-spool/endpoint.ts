import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that takes readings, on a bad day. */
export interface Endpoint extends AsyncDisposable {
  readonly url: string
}

/**
 * Starts it. Of what comes for the first time, every second reading is answered with 503 and every
 * third not at all; one from the sensor `attic` is never accepted. `onReading` is called with those that are.
 */
export async function startEndpoint(onReading: (key: string) => void): Promise<Endpoint> {
  const seen = new Set<string>()
  const server = createServer((request, response) => {
    void (async () => {
      const key = String(request.headers['idempotency-key'])
      const { sensor } = JSON.parse(await bodyOf(request)) as { sensor: string }
      const isNew = !seen.has(key)
      seen.add(key)
      if (sensor === 'attic') response.writeHead(422).end('no such sensor')
      else if (isNew && seen.size % 3 === 0) request.socket.destroy()
      else if (isNew && seen.size % 2 === 0) response.writeHead(503).end('try again')
      else {
        onReading(key)
        response.writeHead(204).end()
      }
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/readings`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}
