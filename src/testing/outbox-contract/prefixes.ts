import { type OutboxContract, message, payloads } from './scene.ts'

/** Several outboxes in one database. */
export function describePrefixes({ describe, test, expect, open }: OutboxContract): void {
  describe('prefixes', () => {
    for (const prefix of ['other', 'outbox_messages', 'outbox_dead', 'o', 'a'.repeat(36)]) {
      test(`an outbox called ${prefix} has nothing to do with the first one`, async () => {
        await using scene = await open()
        const other = await scene.under.openOutbox(prefix)
        const topic = await scene.topic()
        const [own] = await other.topics([{ name: 'orders', partitions: 2 }])
        await scene.enqueue(message(topic, { payload: '"first"', dedupeKey: 'once' }))

        const [stored] = await scene.enqueueTo(
          other,
          message(own!, { payload: '"second"', dedupeKey: 'once' }),
        )

        expect(stored!.isDuplicate).toBe(false)
        expect(own!.partitions).toBe(2)
        expect(await scene.under.count('partitions', prefix)).toBe(2)
        const courier = await scene.runtime()
        const mine = await courier.claim(topic.first)
        const { store } = scene.under
        const theirs = await (await scene.runtime({ store, outbox: other })).claim(own!.first)
        expect(payloads(mine.messages)).toEqual(['"first"'])
        expect(payloads(theirs.messages)).toEqual(['"second"'])
        await other.close()
        expect(await courier.settle(mine)).toMatchObject({ messages: [] })
      })
    }
  })
}
