import { openTest, stub } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { monitor, outages, probe } from './workflow.ts'

const first = { site: 'example.com', round: 1, up: true }

test('outages are counted over hundreds of executions, and a crash changes nothing', async () => {
  // Down for three rounds in every hundred.
  const site = stub(probe, ({ round }) => round % 100 > 2)
  await using t = await openTest({ register: monitor, stubs: [site] })
  const watch = await t.start(monitor, first)

  await t.advance(50 * 200)
  await t.crash()
  await t.advance(950 * 200)

  const info = await watch.info()
  expect(info?.progress).toBe('round 1001: down')
  expect(info?.execution).toBe(251)
  expect(await watch.readState(outages)).toBe(11)
})

test('the history stays short, however long it runs', async () => {
  await using t = await openTest({ register: monitor, stubs: [stub(probe, () => true)] })
  const watch = await t.start(monitor, first)

  await t.advance('1m')

  let events = 0
  for await (const _ of watch.history()) events++
  expect(events).toBeLessThan(30)
})
