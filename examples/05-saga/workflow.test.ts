import { CancelledError } from 'holdfast'
import { crashEverywhere, openTest, stub } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { book, giveBack, payments, SoldOut, travel } from './workflow.ts'

/** A travel agency without cars: what is booked at the end, and what was given back, in order. */
function agency() {
  const booked = new Set<string>()
  const returned: string[] = []
  const stubs = [
    stub(book, ({ what }) => {
      if (what === 'car') throw new SoldOut('no cars')
      booked.add(what)
      return what
    }),
    stub(giveBack, (what) => {
      if (booked.delete(what)) returned.push(what)
    }),
  ]
  return { booked, returned, stubs }
}

describe('a journey', () => {
  test('waits for the money for as long as it takes', async () => {
    const register = travel
    await using t = await openTest({ register, stubs: [stub(book, ({ what }) => what)] })
    const kim = await t.start(travel, 'Oslo')

    await t.advance('365d')
    expect((await kim.info())?.progress).toBe('waits for the money')
    await kim.send(payments, { cents: 40_000 })

    expect(await kim.result()).toBe('goes to Oslo for 40000 cents')
  })

  test('that is cancelled gives back everything, the last first', async () => {
    const stubs = [stub(book, ({ what }) => what), stub(giveBack, () => {})]
    await using t = await openTest({ register: travel, stubs })
    const ben = await t.start(travel, 'Rome')
    await t.settle()

    await ben.cancel('he stays at home')

    await expect(ben.result()).rejects.toThrow(CancelledError)
    expect(t.callsOf(giveBack).map(({ input }) => input)).toEqual(['car', 'room', 'flight'])
  })

  test('that cannot be booked leaves nothing booked, whatever crashes', async () => {
    const { runs } = await crashEverywhere(() => {
      const { booked, returned, stubs } = agency()
      return {
        register: travel,
        stubs,
        scenario: async (t) => {
          const ada = await t.start(travel, 'Venice', { id: 'ada' })
          return ada.result().catch((error: Error) => error.message)
        },
        check: (result) => {
          expect(result).toBe('no cars')
          expect([...booked]).toEqual([])
          expect(returned).toEqual(['room', 'flight'])
        },
      }
    })

    expect(runs).toBeGreaterThan(8)
  })
})
