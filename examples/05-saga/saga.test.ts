import { describe, expect, test } from 'vitest'
import {
  KILLED,
  LIMIT_MS,
  linesAbout,
  runExample,
  sqliteFile,
  STORES,
  WELL,
} from '../../test/support/example.ts'

const ADA = [
  '  ada: booked a flight',
  '  ada: booked a room',
  '  ada: gave back the room',
  '  ada: gave back the flight',
  'ada: failed, no cars in Venice',
]
const BEN = [
  '  ben: booked a flight',
  '  ben: booked a room',
  '  ben: booked a car',
  '  ben: gave back the car',
  '  ben: gave back the room',
  '  ben: gave back the flight',
  'ben: cancelled, he stays at home',
]
const KIM = [
  '  kim: booked a flight',
  '  kim: booked a room',
  '  kim: booked a car',
  'kim: goes to Oslo for 40000 cents',
]

describe.concurrent('the example of a saga', { timeout: LIMIT_MS }, () => {
  test.each(STORES)('%s, bookings of a failed trip are undone, the last first', async (_, open) => {
    using store = open()

    const { lines, ...end } = await runExample('05-saga', store.url)

    expect(end).toEqual({ ...WELL, errors: linesAbout('ada') })
    expect(lines).toEqual([...ADA, ...BEN, ...KIM])
  })

  // What was under way when the process was killed is done again, what was done before is not.
  test.each([
    ['after a failure', { dieOn: ADA[2]!, ada: ADA.slice(2), ben: BEN }],
    ['while booking', { dieOn: BEN[1]!, ada: ADA.slice(4), ben: BEN.slice(1) }],
    ['after a cancellation', { dieOn: BEN[4]!, ada: ADA.slice(4), ben: BEN.slice(4) }],
  ])('killed %s, it continues there', async (_, { dieOn, ada, ben }) => {
    using store = sqliteFile()

    const killed = await runExample('05-saga', store.url, { dieOn })
    const again = await runExample('05-saga', store.url)

    expect(killed).toMatchObject({ ...KILLED, errors: linesAbout('ada') })
    // The process that sees the failure logs it, once.
    const errors = ada.length > 1 ? linesAbout('ada') : ''
    expect(again).toMatchObject({ ...WELL, errors })
    expect(again.lines.filter((line) => line.includes('ada:'))).toEqual(ada)
    expect(again.lines.filter((line) => line.includes('ben:'))).toEqual(ben)
    expect(again.lines.filter((line) => line.includes('kim:'))).toEqual(KIM)
  })
})
