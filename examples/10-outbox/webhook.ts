import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A service that receives orders. */
export interface Webhook extends AsyncDisposable {
  readonly url: string
}

/**
 * Starts it, on loopback. It is busy when the first order for a table comes, fails when the first one for a
 * lamp comes, and accepts nothing that is cursed. It acts once on what it receives twice.
 */
export async function startWebhook(): Promise<Webhook> {
  const troubles = new Map([
    ['table', 429],
    ['lamp', 503],
  ])
  const seen = new Set<string>()
  const server = createServer((request, response) => {
    void (async () => {
      const { id, item } = JSON.parse(await bodyOf(request)) as { id: string; item: string }
      const trouble = troubles.get(item)
      troubles.delete(item)
      if (item.startsWith('cursed')) response.writeHead(422).end('nothing cursed, please')
      else if (trouble === 429) response.writeHead(429, { 'retry-after': '1' }).end()
      else if (trouble !== undefined) response.writeHead(trouble).end()
      else {
        const key = String(request.headers['idempotency-key'])
        if (!seen.has(key)) console.log(`  webhook: ${id}`)
        seen.add(key)
        response.writeHead(204).end()
      }
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
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
