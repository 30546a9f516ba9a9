import { ALL, apart, deadly, type OutboxContract, message, payloads } from './scene.ts'

const TEXTS = [
  '',
  ' ',
  `it's "quoted" and \\ escaped`,
  `'; drop table outbox_messages; --`,
  '{"json": [1, null, "x"]}',
  'line\nbreak\ttab\r\n',
  'naïve €5 日本語',
  '😀 4 bytes 𝒳',
  '\u0003 control \u007F',
  '{a,b} (c) %s $1 ?',
  'e\u0301 is not \u00E9',
]

/** Texts are stored as they are. */
export function describeTexts({ describe, test, expect, open }: OutboxContract): void {
  describe('texts', () => {
    test('payloads, keys and headers come back as they were', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      // An empty key or header is none: it is the feature that decides what it takes.
      const some = TEXTS.filter((text) => text !== '')
      const all = some.map((text) => message(topic, { payload: text, key: text, headers: text }))
      await scene.enqueue(...all, message(topic, { payload: '' }))

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first, 100)

      expect(payloads(read)).toEqual([...some, ''])
      expect(read.slice(0, -1).map(({ key }) => key)).toEqual(some)
      expect(read.slice(0, -1).map(({ headers }) => headers)).toEqual(some)
    })

    test('dedupe keys differ by every character', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const some = [...TEXTS.filter((text) => text !== ''), 'Case', 'case', 'case ']

      const enqueued = await scene.enqueue(
        ...some.map((dedupeKey) => message(topic, { dedupeKey })),
      )
      const again = await scene.enqueue(...some.map((dedupeKey) => message(topic, { dedupeKey })))

      expect(enqueued.map(({ isDuplicate }) => isDuplicate)).toEqual(some.map(() => false))
      expect(again.map(({ id }) => id)).toEqual(enqueued.map(({ id }) => id))
      expect(again.every(({ isDuplicate }) => isDuplicate)).toBe(true)
    })

    test('reasons and all that waits, is delayed or is dead come back as they were', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const some = TEXTS.filter((text) => text !== '')
      await scene.enqueue(
        ...some.map((text) =>
          message(topic, { payload: text, key: text, headers: text, delayMs: 1 }),
        ),
      )
      await scene.under.advance(10)
      await scene.outbox.moveDelayed()
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first, 100)
      const waiting = await courier.settle(
        read,
        { deferred: read.messages.map((one) => apart(one, 0)) },
        { read: 100 },
      )

      await scene.enqueue(...some.map((text) => message(topic, { key: text })))
      const behind = await courier.settle(waiting, {}, { read: 100 })

      const dead = behind.due.map((one) => deadly(one, { reason: one.payload }))
      await courier.settle(behind, { to: behind.cursor, passed: 0, dead }, { read: 100 })

      const letters = (await scene.outbox.deadLetters(ALL)).toSorted(byId)
      expect(behind.waitingKeys.toSorted()).toEqual(some.toSorted())
      expect(payloads(waiting.due.toSorted(byId))).toEqual(some)
      expect(letters.map((one) => [one.payload, one.key, one.headers, one.reason])).toEqual(
        some.map((text) => [text, text, text, text]),
      )
    })
  })
}

function byId(a: { readonly id: number }, b: { readonly id: number }): number {
  return a.id - b.id
}
