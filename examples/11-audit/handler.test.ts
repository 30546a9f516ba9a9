import { workflow } from 'holdfast'
import { outbox } from 'holdfast/outbox'
import { openTest } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { changed, keepTrail, TABLES } from './audit.ts'

const nothing = workflow('nothing', async () => {})

test('a change is written once, and one that fails leaves nothing and is given up', async () => {
  await using t = await openTest({ register: nothing })
  t.database.exec(TABLES)
  const events = outbox(t)
  keepTrail(events)
  await events.start()

  t.database.exec('begin immediate')
  await events.in(t.database).enqueue(changed, { account: 'ada', cents: 700 })
  await events.in(t.database).enqueue(changed, { account: 'unknown', cents: 1 })
  t.database.exec('commit')
  await events.drain()

  expect(t.database.prepare('select account, cents from audit').all()).toEqual([
    { account: 'ada', cents: 700 },
  ])
  const { items } = await events.deadLetters.list()
  expect(items.map(({ reason }) => reason)).toEqual(['Error: no account unknown'])
})
