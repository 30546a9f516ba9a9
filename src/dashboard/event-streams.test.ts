import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { EventStreams } from './event-streams.ts'
import { LiveAnswers } from './live-answers.ts'
import { read } from './route.ts'

function openStreams(answer: () => unknown, max = 10) {
  const clock = virtualClock()
  const reads = { count: 0 }
  const live = new LiveAnswers({
    clock,
    route: () => read({}, async () => {}, 1_000),
    read: async () => {
      reads.count++
      return answer()
    },
    failed() {},
  })
  return { clock, live, reads, streams: new EventStreams(live, clock, max) }
}

async function textOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read()
  return value === undefined ? '' : new TextDecoder().decode(value)
}

test('a slow reader gets the latest change, not all of them', async () => {
  let n = 0
  const { clock, streams } = openStreams(() => n++)
  const stop = new AbortController()
  const reader = streams.open(['x'], stop.signal).body!.getReader()

  expect(await textOf(reader)).toContain('"body":0}')
  await clock.advance(5_000)
  const texts = [await textOf(reader), await textOf(reader)]

  expect(texts[0]).toContain('"body":1}')
  expect(texts[1]).toContain('"body":5}')
  stop.abort()
  expect(streams.size).toBe(0)
})

test('a comment keeps a silent stream open, until the reader stops reading', async () => {
  const { clock, streams, live } = openStreams(() => 'same')
  const reader = streams.open(['x'], new AbortController().signal).body!.getReader()
  await textOf(reader)
  const comment = textOf(reader)
  await clock.advance(15_000)

  expect(await comment).toBe(': still here\n\n')
  await clock.advance(180_000)
  expect([streams.size, live.size]).toEqual([0, 0])
})

test('a stream that is read ends after an hour', async () => {
  const { clock, streams } = openStreams(() => 'same')
  const response = streams.open(['x'], new AbortController().signal)
  const text = response.text()

  await clock.advance(3_600_000)

  expect((await text).split(': still here').length).toBeGreaterThan(200)
  expect(streams.size).toBe(0)
})

test('nothing is read while no one watches, and again when someone does', async () => {
  const { clock, streams, reads } = openStreams(() => 'same')
  const stop = new AbortController()
  streams.open(['x', 'x'], stop.signal)
  await clock.advance(3_500)
  expect(reads.count).toBe(4)

  stop.abort()
  await clock.advance(60_000)
  expect(reads.count).toBe(4)
  expect(clock.pending).toBe(0)

  const again = new AbortController()
  streams.open(['x'], again.signal)
  await clock.advance(1_500)
  expect(reads.count).toBe(6)
  again.abort()
})

test('errors are tried again later and later', async () => {
  let fails = true
  const { clock, streams, reads } = openStreams(() => {
    if (fails) throw new Error('not yet')
    return 'there'
  })
  const stop = new AbortController()
  const text = streams.open(['x'], stop.signal).text()

  await clock.advance(60_000)
  expect(reads.count).toBeLessThan(8)
  fails = false
  await clock.advance(31_000)
  stop.abort()

  const changes = (await text).split('event: change')
  expect(changes.length).toBe(3)
  expect(changes[1]).toContain('"code":"internal"')
  expect(changes[2]).toContain('"body":"there"')
})

test('more streams than allowed are refused, and a wrong address leaves none behind', () => {
  const { streams, live } = openStreams(() => 1, 2)
  const { signal } = new AbortController()
  streams.open(['a'], signal)
  streams.open(['b'], signal)

  expect(() => streams.open(['c'], signal)).toThrow('2 live views are open')
  streams.close()
  expect([streams.size, live.size]).toEqual([0, 0])
})
