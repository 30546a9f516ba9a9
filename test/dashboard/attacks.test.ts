// Requests that mean harm, and data that does.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request as rawRequest } from 'node:http'
import { connect as connectTo } from 'node:net'
import { describe, expect, test, vi } from 'vitest'

import { MAX_BODY_BYTES } from '../../src/dashboard/body.ts'
import type { BulkJob, HistoryAnswer } from '../../src/dashboard/api.ts'
import { dashboard } from '../../src/dashboard/index.ts'
import { READS, WRITES } from '../../src/dashboard/routes.ts'
import { type Client, connect, workflow } from '../../src/index.ts'
import { outbox } from '../../src/outbox/index.ts'
import { openQueue } from '../../src/queue/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { tempFile } from '../support/sqlite.ts'
import { ask, query, TOKEN, written } from './shown.ts'

const SCRIPT = `<script>alert('1')</script><img src=x onerror="alert(2)">'"\`\${3}{{4}}`

// In the query of an address, a label is written name=value.
const LABEL = SCRIPT.replaceAll('=', '')

const hostile = workflow(`w${SCRIPT}`, async (input: string, ctx) => {
  ctx.progress({ [SCRIPT]: SCRIPT })
  await ctx.step(`s${SCRIPT}`, async () => SCRIPT)
  throw Object.assign(new Error(SCRIPT + input), { [SCRIPT]: SCRIPT })
})

describeOnStores('scripts in names and values', (kind) => {
  test('they come back as data of JSON, which no browser takes for a page', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(hostile)
    const id = `../${SCRIPT}/..%2f`
    await runtime.run(hostile, SCRIPT, { id, labels: { [LABEL]: SCRIPT } }).catch(() => {})
    await runtime.schedule(`n${SCRIPT}`, { cron: '0 3 * * *' }, hostile, SCRIPT)
    const shown = ask(space.connect())

    for (const path of [
      'api/instances',
      `api/instances?${query({ label: `${LABEL}=${SCRIPT}` })}`,
      `api/instance?${query({ id })}`,
      `api/instance/history?${query({ id })}`,
      `api/instance/tree?${query({ id })}`,
      `api/instance/output?${query({ id })}`,
      'api/errors',
      'api/workflows',
      'api/schedules',
      'api/runtimes',
      `api/instance?${query({ id: `none ${SCRIPT}` })}`,
      `api/${encodeURIComponent(SCRIPT)}`,
      `api/instances?${query({ [SCRIPT]: SCRIPT })}`,
    ]) {
      const response = await shown.fetch(path)
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; /)
      JSON.parse(await response.text())
    }
    const history = await shown.get<HistoryAnswer>(`api/instance/history?${query({ id })}`)
    expect(history.items.find(({ type }) => type === 'step')!.name).toBe(`s${SCRIPT}`)
    expect(
      await shown.get(`api/instances?${query({ label: `${LABEL}=${SCRIPT}` })}`),
    ).toMatchObject({ items: [{ id, labels: { [LABEL]: SCRIPT } }] })
  })
})

async function withShown(
  work: (shown: ReturnType<typeof ask>, client: Client) => Promise<void>,
): Promise<void> {
  await using client = connect('memory:')
  await work(ask(client), client)
}

describe('senders of requests', () => {
  test.each(
    Object.entries({
      'another origin': { origin: 'https://evil.example' },
      'an origin that begins alike': { origin: 'http://localhost.evil.example' },
      'the same name on another port': { origin: 'http://localhost:8080' },
      'no origin at all': { origin: 'null' },
      'a page of another site': { 'sec-fetch-site': 'cross-site' },
      'a page of a sibling site': { 'sec-fetch-site': 'same-site' },
      'a frame of another site': {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'iframe',
      },
      'another name': { host: 'evil.example' },
      'another name with a port': { host: 'evil.example:4747' },
      'a name that begins like an address': { host: '127.0.0.1.evil.example' },
      'a name that ends like an address': { host: 'localhost.example' },
      'a host with a user': { host: 'localhost@evil.example' },
    }),
  )('%s is refused, with and without the token', async (_, headers) => {
    await withShown(async (shown) => {
      const read = await shown.fetch('api/instances', { headers })
      const page = await shown.fetch('', { headers })
      const post = written({ ids: ['a'] })
      const write = await shown.fetch('api/instances/cancel', {
        ...post,
        headers: { ...(post.headers as Record<string, string>), ...headers },
      })

      expect([read.status, page.status, write.status]).toEqual([403, 403, 403])
      expect(await read.json()).toMatchObject({ error: { code: 'forbidden' } })
      expect(read.headers.get('access-control-allow-origin')).toBeNull()
    })
  })

  test.each(
    Object.entries({
      'its own page': { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' },
      'an address that was typed': { 'sec-fetch-site': 'none' },
      'a program': {},
      'an IP address': { host: '192.168.1.7:4747', origin: 'http://192.168.1.7:4747' },
      IPv6: { host: '[::1]:4747', origin: 'http://[::1]:4747' },
      'a name below localhost': { host: 'shop.localhost:4747' },
      'a name that was given': { host: 'OPS.example.com', origin: 'https://ops.example.com' },
      'a name that was given, through a proxy that sends another': {
        host: '127.0.0.1:4747',
        origin: 'https://OPS.example.com:8443',
        'sec-fetch-site': 'same-origin',
      },
    }),
  )('%s is answered', async (_, headers) => {
    await using client = connect('memory:')
    const shown = ask(client, { hosts: ['ops.example.com'] })

    expect((await shown.fetch('api/instances', { headers })).status).toBe(200)
  })

  test('a refusal names the page and the host, and what to do about a proxy', async () => {
    await withShown(async (shown) => {
      const headers = { host: '127.0.0.1:4747', origin: 'https://ops.example.com' }

      const refused = await shown.fetch('api/instances', { headers })

      expect(await refused.text()).toMatch(
        /"https:\/\/ops\.example\.com\\" to the host \\"127\.0\.0\.1:4747\\".*pass on the header Host.*option hosts/,
      )
    })
  })

  test('a path that a server has shortened is named', async () => {
    await using client = connect('memory:')
    const shown = ask(client, { basePath: '/admin/holdfast' })

    const refused = await shown.fetch('api/meta')

    expect(refused.status).toBe(404)
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining('got the path "/api/meta"') },
    })
  })

  test('a link of another site leads to the page, but not to data', async () => {
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    await withShown(async (shown) => {
      expect((await shown.fetch('', { headers })).status).toBe(200)
      expect((await shown.fetch('api/instances', { headers })).status).toBe(403)
    })
  })

  test('every write needs the token, and none is possible without one', async () => {
    await using client = connect('memory:')
    const shown = ask(client)
    const readOnly = dashboard(client)

    for (const name of Object.keys(WRITES)) {
      for (const token of ['', 'wrong', `${TOKEN} `.repeat(2), TOKEN.slice(0, -1), `${TOKEN}x`]) {
        const response = await shown.fetch(`api/${name}`, written({}, token))
        expect([name, token, response.status]).toEqual([name, token, 401])
      }
      const refused = await readOnly.fetch(new Request(`http://localhost/api/${name}`, written({})))
      expect(await refused.json()).toMatchObject({ error: { code: 'read_only' } })
    }
    const inQuery = await shown.fetch(`api/bulk/stop?token=${TOKEN}`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', cookie: `token=${TOKEN}` },
    })
    expect(inQuery.status).toBe(401)
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
      expect((await shown.fetch('api/instances', { method })).status).toBe(405)
    }
  })

  test('with the token for everything, only who has it can read', async () => {
    await using client = connect('memory:')
    const shown = ask(client, { tokenFor: 'everything' })
    const headers = { authorization: `Bearer ${TOKEN}` }

    for (const name of [...Object.keys(READS), 'live']) {
      if (name === 'meta') continue
      expect([name, (await shown.fetch(`api/${name}`)).status]).toEqual([name, 401])
    }
    // What the page needs to ask for the token, and nothing about the store.
    expect(await shown.get('api/meta')).toEqual({ reads: 'token', writes: true, authorized: false })
    const known = await shown.fetch('api/meta', { headers })
    expect(await known.json()).toMatchObject({ reads: 'token', authorized: true, queues: [] })
    expect((await shown.fetch('api/instances', { headers })).status).toBe(200)
  })

  test('a form of another site cannot write, whatever it has', async () => {
    await withShown(async (shown) => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
      ]) {
        const response = await shown.fetch('api/instances/cancel', {
          method: 'POST',
          body: JSON.stringify({ ids: ['a'] }),
          headers: { 'content-type': type, authorization: `Bearer ${TOKEN}` },
        })
        expect(response.status).toBe(400)
      }
    })
  })
})

describe('what may be asked', () => {
  test.each([
    'assets/../../package.json',
    'assets/..%2f..%2fpackage.json',
    'assets/%2e%2e/%2e%2e/package.json',
    '..%5c..%5cpackage.json',
    'assets//etc/passwd',
    'assets/\u0000',
    'assets/constructor',
    'assets/__proto__',
    '%2e%2e/%2e%2e/etc/passwd',
    'package.json',
    'index.html/../../package.json',
    '__proto__',
    'constructor',
  ])('the path %j leads to no file', async (path) => {
    await withShown(async (shown) => {
      const response = await shown.fetch(encodeURI(path).replaceAll('%25', '%'))
      const body = await response.text()

      expect(body).not.toContain('"version"')
      expect(body).not.toContain('root:')
      expect(response.status === 404 || body.includes('<title>')).toBe(true)
    })
  })

  test.each(['api/__proto__', 'api/constructor', 'api/toString', 'api/instance/../meta2', 'api/'])(
    'the address %s does not exist',
    async (path) => {
      await withShown(async (shown) => {
        expect((await shown.fetch(path)).status).toBe(404)
        expect((await shown.fetch(path, written({}))).status).toBe(404)
      })
    },
  )

  test.each(['__proto__=x', '__proto__=x&__proto__=y', 'constructor=x'])(
    'the parameter %s is refused as any other that is unknown',
    async (parameter) => {
      await withShown(async (shown) => {
        const response = await shown.fetch(`api/instances?${parameter}`)

        expect(response.status).toBe(400)
        expect(await response.text()).toContain('unknown option')
      })
    },
  )

  test('a body that is too large is refused before it is read', async () => {
    await withShown(async (shown) => {
      const large = await shown.fetch('api/instance/send', written('x'.repeat(MAX_BODY_BYTES + 1)))
      let sent = 0
      const endless = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 64 * 1024
          controller.enqueue(new Uint8Array(64 * 1024).fill(32))
        },
      })
      const streamed = await shown.fetch('api/instance/send', {
        ...written({}),
        body: endless,
        duplex: 'half',
      })

      expect([large.status, streamed.status]).toEqual([413, 413])
      expect(sent).toBeLessThan(2 * MAX_BODY_BYTES)
    })
  })

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['nothing', ''],
    ['a text', '"x"'],
    ['an unknown field', '{"idz":["a"]}'],
    ['ids that are none', '{"ids":"a"}'],
    ['both ids and a filter', '{"ids":["a"],"filter":{}}'],
    ['a filter that is none', '{"filter":[]}'],
    ['a filter with an unknown name', '{"filter":{"stats":"failed"}}'],
    ['a status that is none', '{"filter":{"status":["running","runing"]}}'],
    ['a prototype', '{"__proto__":{"ids":["a"]}}'],
    ['too many ids', JSON.stringify({ ids: Array.from({ length: 10_001 }, () => 'a') })],
  ])('a body with %s is refused', async (_, body) => {
    await withShown(async (shown) => {
      const response = await shown.fetch('api/instances/cancel', written(body))

      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'bad_request' } })
    })
  })

  test.each([
    'instances?limit=1000000',
    'instances?limit=-1',
    'instances?limit=1e3',
    'instances?after=nonsense',
    'instances?status=broken',
    'instances?createdAfter=yesterday',
    'instances?label=x',
    'instance?id=a&id=b',
    `instance?id=${'x'.repeat(501)}`,
    'instance',
    'instance/history?id=a&limit=5001',
    'instance/history?id=a&values=everything',
    'tasks?state=lost',
    'live',
    'live?path=instance/history',
    'live?path=nothing',
    `live?${'path=meta&'.repeat(9)}`,
  ])('GET api/%s is refused with a sentence', async (path) => {
    await withShown(async (shown) => {
      const response = await shown.fetch(`api/${path}`)
      const { error } = (await response.json()) as { error: { message: string } }

      expect([400, 404]).toContain(response.status)
      expect(error.message.length).toBeGreaterThan(10)
    })
  })

  test('no wrong value of a parameter or a field is taken for a mistake inside', async () => {
    await using client = connect('memory:')
    using file = tempFile()
    await using queue = await openQueue(file.path)
    const shown = ask(client, { outbox: outbox(client), queues: { mails: queue } })
    const answers: [string, string, number][] = []

    for (const value of ['', 'x'.repeat(501), 'a\u0000b', '\ud800', '-1', '99999999999999999999']) {
      for (const [name, { parameters }] of Object.entries(READS)) {
        for (const parameter of Object.keys(parameters)) {
          const given = { id: 'a', name: 'mails', fingerprint: 'f', [parameter]: value }
          const known = Object.entries(given).filter(([one]) => Object.hasOwn(parameters, one))
          const address = `api/${name}?${query(Object.fromEntries(known))}`
          answers.push([address, value, (await shown.fetch(address)).status])
        }
      }
      for (const [name, { fields }] of Object.entries(WRITES)) {
        for (const [field, wrong] of Object.keys(fields).flatMap((one) =>
          [value, [value], [-1], { [value]: value }].map((all) => [one, all] as const),
        )) {
          const given = { id: 'a', name: 'mails', channel: 'c', job: 'j', at: 1, [field]: wrong }
          const known = Object.entries(given).filter(([one]) => Object.hasOwn(fields, one))
          const response = await shown.fetch(`api/${name}`, written(Object.fromEntries(known)))
          answers.push([`${name} ${field}`, JSON.stringify(wrong), response.status])
        }
      }
    }

    expect(answers.length).toBeGreaterThan(500)
    expect(answers.filter(([, , status]) => status >= 500)).toEqual([])
  })

  test('what goes wrong inside is written to the log, not to the caller', async () => {
    await using space = await openSpace('memory')
    const shown = ask(space.connect(), {
      doctor: () => Promise.reject(new Error('password "secret" was refused')),
    })

    const response = await shown.fetch('api/doctor')

    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
    expect(JSON.stringify(space.log.lines)).toContain('GET /api/doctor failed')
  })

  test('so is a mistake in code, such as of a codec, whatever its class', async () => {
    await using space = await openSpace('memory')
    const codec = {
      encode: (value: unknown) => JSON.stringify(value),
      decode: (): never => {
        throw new TypeError('Cannot read properties of undefined: secret')
      },
    }
    const runtime = await space.open(hostile, { codec })
    await runtime.start(hostile, 'x', { id: 'a', delay: '1h' })
    const shown = ask(space.connect({ codec }))

    const response = await shown.fetch('api/instance/history?id=a')

    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
    expect(JSON.stringify(space.log.lines)).toContain('GET /api/instance/history failed')
  })

  test('so is why a bulk change ended early', async () => {
    await using space = await openSpace('memory')
    const client = space.connect()
    const shown = ask(client)
    vi.spyOn(client.admin, 'cancel').mockRejectedValue(new Error('password "secret" was refused'))

    const job = await shown.post<BulkJob>('api/instances/cancel', { ids: ['a'] })

    expect(job).toMatchObject({ state: 'failed', error: expect.not.stringContaining('secret') })
    expect(JSON.stringify(space.log.lines)).toContain('a bulk change failed')
  })
})

describe('over the network', () => {
  test('a forged host, half a request and a flood of live views do no harm', async () => {
    await using client = connect('memory:')
    const shown = dashboard(client, { token: TOKEN, maxStreams: 50 })
    const { url } = await shown.listen({ port: 0 })
    const { port } = new URL(url)

    const forged = await new Promise<number | undefined>((resolve, reject) => {
      const asked = rawRequest(url, { headers: { host: 'evil.example' } })
      asked.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
      asked.end()
    })
    expect(forged).toBe(403)
    const absolute = await answerTo(
      port,
      `GET http://evil.example/api/instances HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    )
    expect(absolute).toMatch(/^HTTP\/1\.1 403/)
    expect(await answerTo(port, `GET //evil HTTP/1.1\r\nHost: [\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400/,
    )

    const live = `${url}api/live?path=instances`
    const answers = await Promise.all(
      Array.from({ length: 2_000 }, () => fetch(live).catch(() => undefined)),
    )
    const open = answers.filter((one) => one?.status === 200)
    const refused = answers.find((one) => one?.status === 503)!
    expect(open.length).toBe(50)
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_streams' } })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect((await fetch(`${url}api/instances`)).status).toBe(200)
    for (const one of answers) if (one?.bodyUsed === false) await one.body?.cancel()
    const again = await eventually(async () => {
      const response = await fetch(live)
      if (response.status === 200) return response
      await response.body?.cancel()
      return undefined
    })
    await again.body!.cancel()
  }, 60_000)

  test('a large upload is cut off', async () => {
    await using client = connect('memory:')
    const { url } = await dashboard(client, { token: TOKEN }).listen({ port: 0 })

    const body = 'x'.repeat(MAX_BODY_BYTES * 2)
    const status = await fetch(`${url}api/instance/send`, written(body)).then(
      (response) => response.status,
      // The connection may be closed before the answer is read.
      () => 413,
    )

    expect(status).toBe(413)
    expect((await fetch(`${url}api/meta`)).status).toBe(200)
  })

  test('another host than loopback needs the token for everything', async () => {
    await using client = connect('memory:')

    await expect(dashboard(client).listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(
      'which needs a token',
    )
    const token = randomUUID()
    const { url, urlWithToken } = await dashboard(client, { token }).listen({
      host: '0.0.0.0',
      port: 0,
    })
    const local = url.replace('0.0.0.0', '127.0.0.1')
    expect(urlWithToken).toBe(`${url}#token=${token}`)
    expect((await fetch(`${local}api/instances`)).status).toBe(401)
    expect((await fetch(local)).status).toBe(200)
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${local}api/instances`, { headers })).status).toBe(200)
  })
})

async function statusUnder(name: string, port: number): Promise<number> {
  const answer = await answerTo(
    `${port}`,
    `GET / HTTP/1.1\r\nHost: ${name}:${port}\r\nConnection: close\r\n\r\n`,
  )
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
}

describe('under a name that `listen` was given', () => {
  // A name to every resolver, and no address to this check, which needs no network.
  const host = '127.1'

  test('the pages are answered, and under any other name still refused', async () => {
    await using client = connect('memory:')
    const shown = dashboard(client, { token: TOKEN, hosts: ['ops.example.com'] })
    const { url } = await shown.listen({ host, port: 0 })
    const port = Number(/:(\d+)\/$/.exec(url)![1])

    expect(url).toBe(`http://${host}:${port}/`)
    expect(await statusUnder(host, port)).toBe(200)
    expect(await statusUnder('ops.example.com', port)).toBe(200)
    expect(await statusUnder('evil.example', port)).toBe(403)
  })

  test('other servers of the same dashboard do not answer under it', async () => {
    await using client = connect('memory:')
    const shown = dashboard(client, { token: TOKEN })
    await shown.listen({ host, port: 0 })
    const { url } = await shown.listen({ port: 0 })

    expect(await statusUnder(host, Number(new URL(url).port))).toBe(403)
  })
})

function answerTo(port: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTo({ port: Number(port), host: '127.0.0.1' }, () => socket.write(text))
    socket.once('data', (data) => {
      resolve(String(data))
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

test('every address is asked by a test', () => {
  const texts = ['routes', 'messages', 'live', 'attacks'].map((name) =>
    readFileSync(new URL(`./${name}.test.ts`, import.meta.url), 'utf8'),
  )
  const asked = new Set(
    texts.flatMap((text) => [...text.matchAll(/api\/([a-z/-]+)/g)].map(([, name]) => name)),
  )
  const names = [...Object.keys(READS), ...Object.keys(WRITES)]

  expect(names.filter((name) => !asked.has(name))).toEqual([])
})
