import { crashEverywhere, openTest, stub } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { CardDeclined, charge, pay, type Payment } from './workflow.ts'

const sound: Payment = { id: 'pay-1', card: 'sound' }

describe('a payment', () => {
  test('is retried with the delay of its activity, and the same key', async () => {
    const at: number[] = []
    const busy = stub(charge, (_, ctx) => {
      at.push(t.now().getTime() - start)
      if (ctx.attempt < 3) throw new Error('the bank is busy')
      return 'receipt'
    })
    await using t = await openTest({ register: pay, stubs: [busy] })
    const start = t.now().getTime()

    expect(await t.run(pay, sound)).toBe('paid, receipt')
    expect(at).toEqual([0, 1_500, 3_000])
    expect(new Set(t.callsOf(charge).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  test('is not retried when the card is declined', async () => {
    const declined = stub(charge, () => {
      throw new CardDeclined('not enough money', { missing: 7 })
    })
    await using t = await openTest({ register: pay, stubs: [declined] })

    expect(await t.run(pay, sound)).toBe('declined, 7 are missing')
    expect(t.callsOf(charge)).toHaveLength(1)
  })

  test('that the bank does not answer in time ends with a ticket', async () => {
    const silent = stub(charge, async (_, __, { sleep }) => {
      await sleep('1h')
      return 'never'
    })
    await using t = await openTest({ register: pay, stubs: [silent] })

    expect(await t.run(pay, sound)).toMatch(/failed after 3 attempts: .*, ticket for pay-1$/)
  })

  test('is charged once, whatever crashes', async () => {
    await crashEverywhere(() => {
      const charged = new Set<string>()
      return {
        register: pay,
        stubs: [
          stub(charge, (_, ctx) => {
            charged.add(ctx.idempotencyKey)
            if (ctx.attempt < 2) throw new Error('the bank is busy')
            return 'receipt'
          }),
        ],
        scenario: (t) => t.run(pay, sound),
        check: () => expect(charged.size).toBe(1),
      }
    })
  })
})
