import { expect, test } from 'vitest'

import type { BulkJob, InstancesAnswer, LiveChange } from '../../src/dashboard/api.ts'
import { type Client, channel, connect, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { ask, query, TOKEN, written } from './shown.ts'

const go = channel<number>('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

/** Reads changes from a stream of server-sent events. */
function changesOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const reader = response.body!.getReader()
  const pending: LiveChange[] = []
  let text = ''
  return {
    async next(): Promise<LiveChange> {
      while (pending.length === 0) {
        const { value, done } = await reader.read()
        if (done) throw new Error('the stream has ended')
        text += new TextDecoder().decode(value)
        const events = text.split('\n\n')
        text = events.pop()!
        for (const event of events.filter((one) => one.startsWith('event: change'))) {
          pending.push(JSON.parse(event.split('\ndata: ')[1]!) as LiveChange)
        }
      }
      return pending.shift()!
    },
    close: () => reader.cancel(),
  }
}

describeOnStores('live views', (kind) => {
  test('a stream has the answers of its addresses now, and again when they change', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits)
    await runtime.start(waits, undefined, { id: 'one' })
    const shown = ask(space.connect())
    const list = 'instances?workflow=waits'
    const one = 'instance?id=one'

    const response = await shown.fetch(
      `api/live?path=${encodeURIComponent(list)}&path=${encodeURIComponent(one)}`,
    )
    const changes = changesOf(response)
    const first = [await changes.next(), await changes.next()]
    expect(first.map(({ path }) => path).toSorted()).toEqual([one, list])
    expect(first.find(({ path }) => path === list)!.body).toMatchObject({
      items: [{ id: 'one', status: 'running' }],
    })
    await runtime.get('one').send(go, 7)
    const ended = await eventually(async () => {
      const { path, body } = await changes.next()
      const { items } = body as InstancesAnswer
      return path === list && items[0]!.status === 'completed' && items
    })
    expect(ended).toMatchObject([{ id: 'one' }])
    await changes.close()
  })

  test('an address of something that is missing sends an error until it is there', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits)
    const shown = ask(space.connect())

    const changes = changesOf(
      await shown.fetch(`api/live?path=${encodeURIComponent('instance?id=late?')}`),
    )
    expect(await changes.next()).toMatchObject({ error: { code: 'not_found' } })
    await runtime.start(waits, undefined, { id: 'late?' })

    expect(await changes.next()).toMatchObject({ body: { instance: { id: 'late?' } } })
    await changes.close()
  })

  test('a bulk change reports how far it is, and can be stopped', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits)
    const ids = Array.from({ length: 120 }, (_, i) => `w-${i}`)
    await Promise.all(ids.map((id) => runtime.start(waits, undefined, { id })))
    const shown = ask(space.connect())

    const { job } = await shown.post<BulkJob>('api/instances/suspend', { filter: {} })
    const changes = changesOf(
      await shown.fetch(`api/live?path=${encodeURIComponent(`bulk?${query({ job })}`)}`),
    )
    const done = await eventually(async () => {
      const { body } = await changes.next()
      return (body as BulkJob).state === 'done' && (body as BulkJob)
    })
    await changes.close()

    expect(done).toMatchObject({ total: 120, seen: 120, changed: 120 })
    expect(await shown.post('api/bulk/stop', { job })).toMatchObject({ state: 'done' })
    expect((await shown.fetch('api/bulk?job=unknown')).status).toBe(404)
  })
})

/** A client that counts its lists. */
function counted(client: Client): { readonly client: Client; lists: number } {
  const counts = {
    lists: 0,
    client: new Proxy(client, {
      get(target, name) {
        if (name === 'list') counts.lists++
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }),
  }
  return counts
}

test('all who watch an address share its reads, and none is read when no one watches', async () => {
  await using client = connect('memory:')
  const counts = counted(client)
  const shown = ask(counts.client)

  const views = await Promise.all(
    Array.from({ length: 100 }, async () =>
      changesOf(await shown.fetch('api/live?path=instances')),
    ),
  )
  await Promise.all(views.map((view) => view.next()))
  expect(counts.lists).toBe(1)
  await Promise.all(views.map((view) => view.close()))
  const before = counts.lists
  await new Promise((resolve) => setTimeout(resolve, 1_500))

  expect(counts.lists).toBe(before)
})

test('streams end with the dashboard, and with its client', async () => {
  await using client = connect('memory:')
  const shown = ask(client)
  const kept = ask(client)
  const one = await shown.fetch('api/live?path=instances')
  const other = await kept.fetch('api/live?path=instances')

  await shown.dashboard[Symbol.asyncDispose]()
  await one.text()
  expect((await shown.fetch('api/meta')).status).toBe(503)
  expect((await kept.fetch('api/meta')).status).toBe(200)
  await client.close()

  await other.text()
  expect((await kept.fetch('api/meta')).status).toBe(503)
})

test('nothing begins after its end: no server, and no change whose body was on its way', async () => {
  await using client = connect('memory:')
  const shown = ask(client)
  const body = new TransformStream<Uint8Array, Uint8Array>()
  const writer = body.writable.getWriter()
  const { headers } = written({})
  const late = shown.fetch('api/instances/delete', {
    method: 'POST',
    body: body.readable,
    headers: headers!,
    duplex: 'half',
  })
  const listening = shown.dashboard.listen({ port: 0 })

  await shown.dashboard[Symbol.asyncDispose]()
  void writer.write(new TextEncoder().encode('{"filter":{}}'))
  void writer.close()

  expect((await late).status).toBe(503)
  await expect(listening).rejects.toThrow('the dashboard is closed')
  await expect(shown.dashboard.listen({ port: 0 })).rejects.toThrow('the dashboard is closed')
})

test('it listens where it is asked to, or at any free port, and is mounted anywhere', async () => {
  await using client = connect('memory:')
  const shown = ask(client, { basePath: '/admin/holdfast/' })
  const { url } = await shown.dashboard.listen()
  const second = await shown.dashboard.listen()
  const { port } = new URL(url)

  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/admin\/holdfast\/$/)
  expect(second.url).not.toBe(url)
  expect(second.urlWithToken).toBe(`${second.url}#token=${TOKEN}`)
  await expect(shown.dashboard.listen({ port: Number(port) })).rejects.toThrow('EADDRINUSE')
  const page = await (await fetch(url)).text()
  expect(page).toContain('<base href="/admin/holdfast/" />')
  expect((await fetch(`${url}api/meta`)).status).toBe(200)
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-type')).toContain('text/html')
  expect((await fetch(`http://127.0.0.1:${port}/api/meta`)).status).toBe(404)
  expect((await fetch(`http://127.0.0.1:${port}/admin/holdfast`)).status).toBe(200)
  expect((await fetch(`${url}instance?id=%2E%2E`)).status).toBe(200)
})
