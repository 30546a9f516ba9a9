import { expect, test } from 'vitest'

import { type Duration, workflow } from '../../src/index.ts'
import { describeOnStoresAtOnce, openSpace } from '../support/engine.ts'

const note = workflow('note', async (text: string) => text)

describeOnStoresAtOnce('durations', (kind) => {
  test.each(['1.1h', 30_000.5] as Duration[])(
    '%j is stored in whole milliseconds',
    async (some) => {
      await using space = await openSpace(kind)
      const limited = workflow(
        'limited',
        { limit: { rate: { count: 2, per: some } }, timeout: some, cleanup: some, retention: some },
        async (text: string) => text,
      )
      const holdfast = await space.open([note, limited], { lease: some, retention: some })

      await holdfast.schedule('often', { every: some, catchUp: some }, note, 'hi', { delay: some })

      expect(await holdfast.run(limited, 'hi')).toBe('hi')
      expect(await holdfast.schedules.get('often')).toMatchObject({
        every: some === '1.1h' ? 3_960_000 : 30_001,
      })
    },
  )

  test('durations that no date can represent are refused by name', async () => {
    await using space = await openSpace(kind)

    await expect(space.open(note, { retention: 1e300 })).rejects.toThrow(
      `open: retention must be at most 273785 years ('100000000d'), got 1e+300`,
    )
  })

  test('an interval that ends after the latest possible date has no due times after it', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(note)

    await holdfast.schedule('rare', { every: 8e15 }, note, 'hi')

    const { nextRuns } = (await holdfast.schedules.get('rare'))!
    expect(nextRuns.map((run) => run.getTime())).toEqual([expect.closeTo(8e15 + Date.now(), -5)])
    await expect(holdfast.schedule('never', { every: 8.64e15 }, note, 'hi')).rejects.toThrow(
      'schedule "never": every 8640000000000000 is never due: its first start exceeds the latest possible date',
    )
  })
})
