import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

import { decode, encode } from '../build/base/codec/codec.js'
import { compression } from '../build/base/codec/compression.js'
import { encryption } from '../build/base/codec/encryption.js'
import { TransformChain } from '../build/base/codec/transform.js'
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
  rows.push(...(await benchTransforms(rounds, calls)))
  return rows
}

/** What compression and encryption add to each turn that is stored, and what is left of its size. */
async function benchTransforms(rounds: number, calls: number): Promise<Row[]> {
  const keys = [{ id: '2026', key: new Uint8Array(32).fill(7) }]
  const small = encode(order())
  const large = encode(Array.from({ length: 48 }, (_, i) => ({ ...order(), key: noise(i) })))
  const rows: Row[] = []
  for (const [what, transforms] of [
    ['encryption', [encryption({ keys })]],
    ['deflate', [compression({ threshold: 0 })]],
    ['brotli', [compression({ threshold: 0, algorithm: 'brotli' })]],
    ['deflate and encryption', [compression({ threshold: 0 }), encryption({ keys })]],
  ] as const) {
    const chain = new TransformChain(transforms)
    for (const [size, text] of [
      ['1 KiB', small],
      ['64 KiB', large],
    ] as const) {
      const wrapped = chain.wrap(text, 'bench')
      const wraps: number[] = []
      const unwraps: number[] = []
      const perRound = Math.ceil(calls / (size === '1 KiB' ? 4 : 40))
      for (let round = 0; round < Math.ceil(rounds / 3); round++) {
        wraps.push(cpuNanos(perRound, () => chain.wrap(text, 'bench')))
        unwraps.push(cpuNanos(perRound, () => chain.unwrap(wrapped, 'bench')))
        await setImmediate()
      }
      const left = ((100 * wrapped.length) / text.length).toFixed(0)
      const [write, read] = [wraps, unwraps].map((all) => (median(all) / 1000).toFixed(1))
      rows.push({
        what: `${what}, ${size}: write, read, size`,
        value: `${write} µs, ${read} µs, ${left} %`,
      })
    }
  }
  return rows
}

/** About 200 characters that do not repeat, such as signatures and ids. */
function noise(seed: number): string {
  return (
    createHash('sha512').update(String(seed)).digest('base64') +
    createHash('sha512').update(`more ${seed}`).digest('base64')
  )
}

function nanos(calls: number, run: () => unknown): number {
  const start = process.hrtime.bigint()
  for (let i = 0; i < calls; i++) run()
  return Number(process.hrtime.bigint() - start) / calls
}

/** The same in time of the CPU, which a busy machine does not change much. */
function cpuNanos(calls: number, run: () => unknown): number {
  const start = process.cpuUsage()
  for (let i = 0; i < calls; i++) run()
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1_000) / calls
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
