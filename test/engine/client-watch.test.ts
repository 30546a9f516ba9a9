import { expect, test } from 'vitest'

import { channel, type InstanceInfo, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const go = channel<number>('go')

/** Shows each number it receives, up to 3. */
const shows = workflow('shows', async (_: undefined, ctx) => {
  let n = 0
  while (n < 3) {
    n = await ctx.receive(go)
    ctx.progress({ n })
  }
})

describeOnStores('watching', (kind) => {
  test('each change of progress is seen, and then the end', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(shows)
    const handle = await holdfast.start(shows)
    const seen: unknown[] = []

    for await (const { status, progress } of handle.watch()) {
      seen.push([status, progress])
      await handle.send(go, seen.length).catch(() => {})
    }

    expect(seen).toEqual([
      ['running', undefined],
      ['running', { n: 1 }],
      ['running', { n: 2 }],
      ['completed', { n: 3 }],
    ])
  })

  test('a client sees it as well, with all there is to know', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(shows)
    const handle = await holdfast.start(shows, undefined, { labels: { a: 'b' } })
    const watched = space.connect().get(handle.id).watch()[Symbol.asyncIterator]()
    await eventually(async () => (await handle.info())?.waitingFor)

    const first = (await watched.next()).value as InstanceInfo
    await handle.send(go, 7)
    const second = (await watched.next()).value as InstanceInfo
    const third = await watched.next()

    expect(first).toMatchObject({ labels: { a: 'b' }, waitingFor: ['message on channel "go"'] })
    expect(second).toMatchObject({ status: 'completed', progress: { n: 7 }, waitingFor: [] })
    expect(third).toEqual({ done: true, value: undefined })
  })

  test('leaving a watch that waits for a change ends it', async () => {
    await using space = await openSpace(kind)
    const handle = await space.connect().start(shows)
    const watched = handle.watch()[Symbol.asyncIterator]()
    await watched.next()

    const pending = watched.next()
    const left = await watched.return?.()

    expect(left).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
  })

  test('a signal ends it with its reason', async () => {
    await using space = await openSpace(kind)
    const handle = await space.connect().start(shows)
    const stop = new AbortController()
    const watched = handle.watch({ signal: stop.signal })[Symbol.asyncIterator]()
    await watched.next()

    const pending = watched.next()
    stop.abort(new Error('enough'))

    await expect(pending).rejects.toThrow('enough')
    expect(await watched.next()).toEqual({ done: true, value: undefined })
  })

  test('suspending and resuming are changes; an unknown instance is an error', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const handle = await client.start(shows)
    const watched = handle.watch()[Symbol.asyncIterator]()
    const status = async (): Promise<unknown> => {
      const next = await watched.next()
      return next.done === true ? 'over' : next.value.status
    }

    const first = await status()
    await handle.suspend()
    const second = await status()
    await handle.resume()
    const third = await status()
    await handle.terminate()

    expect([first, second, third]).toEqual(['scheduled', 'suspended', 'scheduled'])
    expect([await status(), await status()]).toEqual(['terminated', 'over'])
    await expect(client.get('none').watch()[Symbol.asyncIterator]().next()).rejects.toThrow(
      'watch: there is no instance "none"',
    )
  })
})
