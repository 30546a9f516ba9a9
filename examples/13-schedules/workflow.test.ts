import { openTest } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { report } from './workflow.ts'

describe('a schedule of reports', () => {
  test('starts one each weekday morning in Berlin, also when the clocks change', async () => {
    // Clocks go forward on Sunday, 31 March 2030.
    await using t = await openTest({ register: report, start: new Date('2030-03-29T00:00:00Z') })
    await t.schedule('reports', { cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' }, report, 1)

    await t.advance('4d')

    const { items } = await t.list({ workflow: report })
    expect(items.map(({ id }) => id).toSorted()).toEqual([
      'reports/2030-03-29T08:00:00Z',
      'reports/2030-04-01T07:00:00Z',
    ])
  })

  test('skips what falls due while a report is written', async () => {
    await using t = await openTest({ register: report })
    await t.schedule('reports', { every: '1h' }, report, 2.5 * 3_600)

    await t.advance('6h')

    const info = await t.schedules.get('reports')
    expect(info?.skipped.count).toBe(4)
    expect((await t.list({ workflow: report })).items).toHaveLength(2)
  })

  test('that is paused starts only what is triggered', async () => {
    await using t = await openTest({ register: report })
    await t.schedule('reports', { every: '1h' }, report, 0)
    await t.schedules.pause('reports')

    await t.advance('1d')
    const triggered = await t.schedules.trigger('reports')

    expect(await t.get(report, triggered.id).result()).toBe(`report of ${triggered.id}`)
    expect((await t.list({ workflow: report })).items).toHaveLength(1)
  })
})
