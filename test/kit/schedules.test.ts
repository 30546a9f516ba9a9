import { expect, test } from 'vitest'
import { workflow } from '../../src/index.ts'
import { openTest, simulate } from '../../src/testing/index.ts'

test('a schedule runs on the clock of the test', async () => {
  const days: string[] = []
  const report = workflow('report', async (_, ctx) => {
    await ctx.step('note', () => void days.push(ctx.now().toISOString().slice(0, 10)))
  })
  await using t = await openTest({ register: report })

  await t.schedule('daily', { cron: '0 6 * * *', timezone: 'UTC' }, report)
  await t.advance('3d')

  expect(days).toEqual(['2030-01-01', '2030-01-02', '2030-01-03'])
})

test('a schedule that another process fired last is looked at in whole milliseconds', async () => {
  const nap = workflow('nap', async (_: void, ctx) => ctx.sleep('1m'))
  let failed: string[] = []

  await simulate({
    register: nap,
    seed: 1,
    runs: 1,
    faults: ['crash'],
    scenario: async (t) => {
      await t.schedule('nightly', { cron: '0 3 * * *' }, nap)
      await t.advance('2d')
    },
    check: (t) => {
      // SQLite refuses a time with a fraction.
      failed = t.logs.filter(({ level }) => level === 'error').map(({ message }) => message)
    },
  })

  expect(failed).toEqual([])
})
