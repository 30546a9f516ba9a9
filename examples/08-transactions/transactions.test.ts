import { describe, expect, test } from 'vitest'
import {
  KILLED,
  LIMIT_MS,
  linesAbout,
  runExample,
  sqliteFile,
  WELL,
} from '../../test/support/example.ts'

const REFUSED = 'order-3: not taken, we do not have that many'
const CHARGED = '  order-1: takes 2000 from ada'
// The order that fails is reported on stderr.
const DECLINED = { ...WELL, errors: linesAbout('order-2') }
const ENDS = [
  'order-1: sent for 2000',
  'order-2: ben has not enough',
  'order-3: no workflow handles it',
  'accounts [["ada",3000],["ben",100]]',
  'orders [["order-1",2000],["order-2",2000]]',
  'payments [["order-1",2000]]',
]

describe.concurrent('the example of transactions', { timeout: LIMIT_MS }, () => {
  test('an order and its workflow, a payment and its record are committed together or not at all', async () => {
    using store = sqliteFile()

    const { lines, ...end } = await runExample('08-transactions', store.url)

    expect(end).toEqual(DECLINED)
    expect(lines.filter((line) => line !== CHARGED && line !== REFUSED)).toEqual(ENDS)
    expect(lines).toEqual(expect.arrayContaining([CHARGED, REFUSED]))
  })

  test('killed before a payment is committed, it still pays exactly once', async () => {
    using store = sqliteFile()

    const killed = await runExample('08-transactions', store.url, { dieOn: CHARGED })
    const again = await runExample('08-transactions', store.url)

    expect(killed).toMatchObject(KILLED)
    expect(again).toMatchObject(DECLINED)
    expect(again.lines.slice(-ENDS.length)).toEqual(ENDS)
  })

  test('run again after its end, it does nothing twice', async () => {
    using store = sqliteFile()

    await runExample('08-transactions', store.url)
    const again = await runExample('08-transactions', store.url)

    expect(again).toMatchObject(WELL)
    expect(again.lines).toEqual([REFUSED, ...ENDS])
  })
})
