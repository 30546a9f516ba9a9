import { describe, expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { postValues } from '../../src/postgres/post-values.ts'
import {
  connectionTo,
  connectTo,
  countingStore,
  engineOn,
  FREQUENT_TICKS,
  iidOf,
  mailOf,
} from '../support/race.ts'
import { openPostgres } from '../support/store-under-test.ts'

// M6 of `design-notes.md`: a message whose sender looked before the end and commits after it.
//
// SQLite cannot have it: a sender looks and writes in one transaction, and there is one writer at a
// time, so the end is wholly before it (the sender is told) or wholly after it (the end takes the
// message with it).

const notes = channel<string>('notes')
const go = channel<string>('go')

describe('[M6] a message that commits after the end, on PostgreSQL', () => {
  test('[M6] it is removed by the next tick, with the key that it was sent under', async () => {
    expect(await lateMessage('sweeps')).toMatchObject({
      verdict: 's',
      result: 'on',
      inTheEnd: { mail: 0, keys: 0 },
      later: expect.stringContaining('has ended'),
    })
  })

  test('[M6] where nobody sweeps, it stays for ever', async () => {
    expect(await lateMessage('does not sweep')).toMatchObject({
      result: 'on',
      left: { mail: 1, keys: 1 },
      inTheEnd: { mail: 1, keys: 1 },
    })
  })
})

/** What is left of the message, after it committed and after a few ticks. */
async function lateMessage(tick: 'sweeps' | 'does not sweep') {
  await using under = await openPostgres({ prefix: 'race' })
  if (tick === 'does not sweep') {
    await under.sql(
      `create or replace function sweep(p_clock bigint) returns void
      language plpgsql volatile set search_path from current
      as 'begin end'`,
    )
  }
  const flow = workflow('flow', (_: string, ctx) => ctx.receive(go))
  const ticking = countingStore(await under.another())
  await using runtime = await engineOn(ticking.store, flow, FREQUENT_TICKS)
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
  }
}
