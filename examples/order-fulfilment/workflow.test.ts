import { crashEverywhere, openTest, stub, type Stub } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { CardDeclined, makeActivities, type Order } from './domain.ts'
import type { Entry } from './ledger.ts'
import { makeFulfilment } from './workflow.ts'

const entries: Entry[] = []
const shop = makeActivities({ entries, write: () => {}, onEntry: () => {} })
const fulfil = makeFulfilment(shop)
const order: Order = {
  id: 'order-1',
  customer: 'Kim',
  item: 'tea',
  cents: 1_250,
  courierMs: 5 * 86_400_000,
}

/** Everything but the card company: nothing takes time, nothing fails. */
const others = (): Stub[] => [
  stub(shop.reserveStock, () => 'shelf 3'),
  stub(shop.packParcel, () => 'parcel', { optional: true }),
  stub(shop.shipParcel, ({ id }) => `track-${id}`, { optional: true }),
  stub(shop.releaseStock, () => undefined, { optional: true }),
  stub(shop.sendMail, () => undefined),
]

describe('an order', () => {
  test('is shipped when the courier has come, days later', async () => {
    const stubs = [...others(), stub(shop.chargeCard, () => 'receipt-1')]
    await using t = await openTest({ register: fulfil, stubs, replay: 'always' })

    expect(await t.run(fulfil, order)).toEqual({
      kind: 'shipped',
      receipt: 'receipt-1',
      tracking: 'track-order-1',
    })
    expect(t.now().toISOString()).toBe('2030-01-06T00:00:00.000Z')
  })

  test('whose card is declined releases its stock before it says so', async () => {
    const declined = stub(shop.chargeCard, () => {
      throw new CardDeclined('the card was declined', { reason: 'over the limit' })
    })
    await using t = await openTest({ register: fulfil, stubs: [...others(), declined] })

    expect(await t.run(fulfil, order)).toEqual({ kind: 'declined', reason: 'over the limit' })
    expect(t.calls.map(({ activity }) => activity)).toEqual([
      'reserve stock',
      'charge card',
      'release stock',
      'send mail',
    ])
  })

  test('charges its card once, whatever crashes', async () => {
    const { runs } = await crashEverywhere(() => {
      const receipts = new Map<string, string>()
      return {
        register: fulfil,
        stubs: [
          ...others(),
          stub(shop.chargeCard, (_, ctx) => {
            const { idempotencyKey: key } = ctx
            receipts.set(key, receipts.get(key) ?? `receipt-${receipts.size + 1}`)
            return receipts.get(key)!
          }),
        ],
        scenario: (t) => t.run(fulfil, order, { id: order.id }),
        check: () => expect([...receipts.values()]).toEqual(['receipt-1']),
      }
    })

    expect(runs).toBeGreaterThan(10)
  })
})
