import { beforeAll, expect, test } from 'vitest'
import { activity, workflow } from '../../src/index.ts'
import { openTest, stub } from '../../src/testing/index.ts'

// As a suite of a user: each test has a runtime of its own, and waits for days.

const remind = activity<string, void>('remind')
const invoice = workflow('invoice', async (days: number, ctx) => {
  for (let reminder = 1; reminder <= 3; reminder++) {
    await ctx.sleep(`${days}d`)
    await ctx.run(remind, `reminder ${reminder}`)
  }
  return ctx.now().toISOString().slice(0, 10)
})

const TESTS = 200
let before: NodeJS.CpuUsage
beforeAll(() => void (before = process.cpuUsage()))

test.each(Array.from({ length: TESTS }, (_, i) => i + 1))('an invoice of %i days', async (days) => {
  await using t = await openTest({ register: invoice, stubs: [stub(remind, () => {})] })

  const expected = new Date(Date.UTC(2030, 0, 1 + 3 * days)).toISOString().slice(0, 10)
  expect(await t.run(invoice, days)).toBe(expected)
  expect(t.calls).toHaveLength(3)
})

test('all of them take seconds', () => {
  const { user, system } = process.cpuUsage(before)
  const seconds = (user + system) / 1e6
  // oxlint-disable-next-line no-console -- the figure is what the file is for
  if (process.env['HOLDFAST_FIGURES'] !== undefined) console.log(`${TESTS} tests: ${seconds} s`)

  // Of the processor, since other tests run on the same machine: alone it is less than half.
  expect(seconds).toBeLessThan(10)
})
