import { describe, expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { postValues } from '../../src/postgres/wire/post-values.ts'
import {
  connectionTo,
  connectTo,
  countingStore,
  engineOn,
  FREQUENT_TICKS,
  iidOf,
  mailOf,
} from '../support/race.ts'
import { openStore, postItem, startItem, tempFile, turnItem } from '../support/sqlite.ts'
import { openPostgres } from '../support/store-under-test.ts'
import { memoryLog } from '../support/workers.ts'
import { openHandle } from '../transactions/sqlite-handle.ts'

// M6 of `docs/internals/races.md`: a sender that looks before the end and commits after it.
//
// SQLite cannot have it: a sender looks and writes in one transaction, and there is one writer at a
// time, so the end is wholly before it (the sender gets `ended`) or wholly after it (the end takes
// the message with it). The last test shows it.

const notes = channel<string>('notes')
const go = channel<string>('go')

describe('[M6] a message that commits after the end, on PostgreSQL', () => {
  test('[M6] it is removed by the next tick, and counted; its key is known', async () => {
    expect(await lateMessage('sweeps')).toMatchObject({
      verdict: 's',
      result: 'on',
      inTheEnd: { mail: 0, keys: 1 },
      later: expect.stringContaining('has ended'),
      undelivered: { late: 1, early: 0 },
      warnings: [{ messages: 1 }],
    })
  })

  test('[M6] without a sweep, it stays forever', async () => {
    expect(await lateMessage('does not sweep')).toMatchObject({
      result: 'on',
      left: { mail: 1, keys: 1 },
      inTheEnd: { mail: 1, keys: 1 },
      undelivered: { late: 0, early: 0 },
      warnings: [],
    })
  })
})

/** What is left of the message, after it committed and after a few ticks. */
async function lateMessage(tick: 'sweeps' | 'does not sweep') {
  await using under = await openPostgres({ prefix: 'race' })
  if (tick === 'does not sweep') {
    await under.sql(
      `create or replace function remove_undelivered() returns bigint
      language plpgsql volatile set search_path from current
      as 'begin return 0; end'`,
    )
  }
  const flow = workflow('flow', (_: string, ctx) => ctx.receive(go))
  const ticking = countingStore(await under.another())
  const log = memoryLog()
  await using runtime = await engineOn(ticking.store, flow, { ...FREQUENT_TICKS, log })
  const instance = await runtime.start(flow, 'x', { id: 'late' })
  const iid = await iidOf(under, 'late')
  await using sender = await connectionTo(under)
  await sender.query('begin')
  const [sent] = await sender.query<{ verdicts: string }>(
    'select verdicts from post($1, $2, $3, $4, $5, $6, $7, $8)',
    postValues([
      {
        id: 'late',
        kind: 'message',
        name: notes.name,
        payload: '"late"',
        replyTo: '',
        dedupeKey: 'once',
        capacity: null,
        iid: 0,
      },
    ]),
  )

  await instance.send(go, 'on')
  const result = await instance.result()
  await sender.query('commit')
  const keys = () => under.sql('select key from posted where iid = ?', iid)
  const left = { mail: (await mailOf(under, iid)).all, keys: (await keys()).length }
  await ticking.furtherTicks(2)

  const later = await connectTo(await under.another())
    .get('late')
    .send(notes, 'later')
    .catch((error: unknown) => (error as Error).message)
  return {
    verdict: sent!.verdicts,
    result,
    left,
    inTheEnd: { mail: (await mailOf(under, iid)).all, keys: (await keys()).length },
    later,
    undelivered: runtime.health().undelivered,
    warnings: log.lines
      .filter(({ message }) => message === 'messages dropped: their instance had ended')
      .map(({ data }) => data),
  }
}

describe('[M6] a message and the end at once, on SQLite', () => {
  test('[M6] the end waits for the message, takes it along, and leaves nothing to count', async () => {
    using file = tempFile()
    await using under = await openStore(file.path)
    const iid = under.first
    await under.commit([startItem(iid)])
    const handle = openHandle(file.path)
    handle.exec('begin immediate')
    const [sent] = await under.store.within(handle).post([postItem(`order-${iid}`)])
    let hasEnded = false
    const end = { status: 'completed', output: '1' } as const
    const ending = under
      .commit([], [turnItem(iid, { next: { kind: 'end', end } })])
      .finally(() => (hasEnded = true))

    // However long the sender takes: there is one writer at a time.
    await new Promise((resolve) => setTimeout(resolve, 50))
    const endedBefore = hasEnded
    handle.exec('commit')
    handle.close()

    expect([sent!.verdict, endedBefore, await ending]).toMatchObject([
      'sent',
      false,
      { turns: ['done'] },
    ])
    expect(await under.tick()).toMatchObject({ undelivered: { late: 0, early: 0 } })
    expect(await under.store.look([iid])).toMatchObject([{ status: 'completed', mail: 0 }])
  })
})
