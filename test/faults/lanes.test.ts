import { setTimeout as passTime } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'

import { connect, open } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { type PostgresProxy, postgresProxy } from '../../src/testing/index.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { ends, names, stoppedLoops, voyages } from './voyages.ts'

// One way of a process to its database is cut for longer than its lease, and all others stay.

vi.setConfig({ testTimeout: 60_000 })

const LEASE_MS = 5_000
const CUT_MS = LEASE_MS + 1_500

/** Cuts each connection on which this is sent, before it arrives; returns how many. */
async function cutLane(proxy: PostgresProxy, text: string): Promise<number> {
  const over = passTime(CUT_MS, 'over')
  for (let cuts = 0; ; cuts++) {
    const cut = proxy.cutOn({ text, at: 'request' })
    if ((await Promise.race([cut, over])) === 'over') return cuts
  }
}

test.concurrent.each([
  // What is decided waits; the lease holds, and no other runtime takes over.
  { lane: 'commit_batch', takesOver: false },
  // The other one takes over, and what is decided here is refused from then on.
  { lane: 'renew_lease', takesOver: true },
  { lane: 'claim', takesOver: false },
])('$lane: nothing is lost, stuck, or recorded twice', async ({ lane, takesOver }) => {
  const made = voyages()
  await using database = await testSchema('lanes')
  const { url, schema } = database
  await using proxy = await postgresProxy(url)
  const log = memoryLog()
  const options = { register: made.register, log, lease: LEASE_MS }
  await using cutOff = await open(postgres({ url: proxy.url, schema }), options)
  await using other = await open(postgres({ url, schema }), options)
  await using client = connect(postgres({ url, schema }), { log })
  const [before, during, after] = [names(10), names(20), names(2)]
  const ids = [...before, ...during, ...after]
  for (const id of before) await made.embark(cutOff, id)

  const cutting = cutLane(proxy, lane)
  const [cuts] = await Promise.all([cutting, made.sail(client, during)])
  await made.sail(client, before)
  await made.sail(cutOff, after)

  expect(cuts).toBeGreaterThan(1)
  const buried = await database.query('select runtime from runtimes where state = 2')
  expect(buried).toHaveLength(takesOver ? 1 : 0)
  for (const id of ids) expect(await ends(client, id)).toEqual(['ended'])
  // What was under way when another one took over may be done once more; nothing else is.
  if (!takesOver) await made.check(client, ids)
  expect([...stoppedLoops(cutOff), ...stoppedLoops(other)]).toEqual([])
})
