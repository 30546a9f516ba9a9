import { setImmediate } from 'node:timers/promises'

import { decode, encode } from '../dist/base/codec/codec.js'
import { median } from './figures.ts'
import type { Row } from './table.ts'

/** What the codec costs beside `JSON`: both in turns, so that a busy machine slows both. */
export async function benchCodec(options: { smoke: boolean }): Promise<Row[]> {
  const rounds = options.smoke ? 3 : 60
  const calls = options.smoke ? 10 : 1000
  const plain = order()
  const special = {
    ...order(),
    note: undefined,
    createdAt: new Date(1_700_000_000_000),
    paidAt: new Date(1_700_000_100_000),
    shippedAt: new Date(1_700_000_200_000),
  }
  const rows: Row[] = []
  for (const [what, value, target] of [
    ['plain, 1 KiB', plain, 'at most 2x'],
    ['with dates and undefined', special, undefined],
  ] as const) {
    const ours: number[] = []
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const json = nanos(calls, () => JSON.parse(JSON.stringify(value)))
      const codec = nanos(calls, () => decode(encode(value)))
      ours.push(codec)
      ratios.push(codec / json)
      await setImmediate()
    }
    const ratio = { what: `${what}: time beside JSON`, value: `${median(ratios).toFixed(2)}x` }
    rows.push(
      { what: `${what}: encode and decode`, value: `${(median(ours) / 1000).toFixed(1)} µs` },
      target === undefined ? ratio : { ...ratio, target },
    )
  }
  return rows
}

function nanos(calls: number, run: () => unknown): number {
  const start = process.hrtime.bigint()
  for (let i = 0; i < calls; i++) run()
  return Number(process.hrtime.bigint() - start) / calls
}

/** About 1 KiB of JSON, shaped as the input of a workflow often is. */
function order() {
  return {
    id: 'ord_01HF8Z7Q3M',
    customer: {
      name: 'Kim Larsen',
      email: 'kim@example.com',
      address: { street: 'Storgata 12', city: 'Oslo', zip: '0150', country: 'NO' },
    },
    items: Array.from({ length: 9 }, (_, i) => ({
      sku: `sku-${1000 + i}`,
      title: `A thing that was ordered, number ${i}`,
      quantity: i + 1,
      price: 19.95 + i,
      tags: ['new', 'sale'],
    })),
    total: 1234.5,
    paid: true,
    coupon: null,
  }
}
