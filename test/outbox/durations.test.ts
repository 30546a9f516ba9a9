import { expect, test } from 'vitest'
import type { Duration } from '../../src/index.ts'
import { describeOutbox, items } from './support.ts'

describeOutbox('durations', (place) => {
  test.each(['1.1h', 30_000.5, 8.64e15] as Duration[])(
    '%j can be a window, a retention, a lease and a deadline',
    async (some) => {
      const box = place.outbox({ dedupeWindow: some, deadLetterRetention: some })
      const numbers = place.topic<number>()
      box.handle(numbers, async (_, ctx) => ctx.reject('no'), { lease: some })
      await place.send(box, numbers, ...items([1], { dedupeKey: `k${some}` }))
      await box.drain()

      const [letter] = await box.deadLetters.replay({ topic: numbers.name }, { deadline: some })

      expect(letter!.deadline!.getTime()).toBeGreaterThan(Date.now() + 29_000)
      expect(place.log.lines.filter(({ data }) => data['err'] !== undefined)).toEqual([])
    },
  )
})
