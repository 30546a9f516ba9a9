import { describe, expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { postValues } from '../../src/postgres/wire/post-values.ts'
import { startsValue } from '../../src/postgres/wire/start-values.ts'
import { startItem } from '../../src/engine/core/start-item.ts'
import type { WorkflowDefinition } from '../../src/engine/define/definitions.ts'
import type { Post } from '../../src/store/inbox.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred } from '../support/engine.ts'
import {
  connectionTo,
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  lockIsWaitedFor,
} from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// M5 of `docs/internals/races.md`: a start against a message that comes before it.

const notes = channel<string>('notes')

/** Waits for a message as long as its input says. */
const flow = workflow('flow', async (timeout: number, ctx) => {
  return (await ctx.receive(notes, { timeout })) ?? 'nothing came'
})

// Longer than any test.
const PATIENT = 60_000
// For a caller that waits for what is stranded.
const IMPATIENT = 300

type Order = 'message first' | 'start first'

describeRace('[M5] a start against an early message', (openStore) => {
  /** Where the sender looks the id up and files the message in two steps, the start is in between. */
  async function earlyMessage(order: Order, filed: 'in one step' | 'in two steps') {
    await using under = await openStore()
    const aside = filed === 'in one step' ? undefined : await filingAside(under)
    const ticking = countingStore(await under.another())
    const starting = aside?.starting(ticking.store) ?? ticking.store
    const other = await under.another()
    const client = connectTo(aside?.sending(other) ?? other)
    await using runtime = await engineOn(starting, flow, FREQUENT_TICKS)
    const isStranded = order === 'start first' && aside !== undefined
    const patience = isStranded ? IMPATIENT : PATIENT
    const start = () => runtime.start(flow, patience, { id: 'early' })
    const send = () => client.get('early').send(notes, 'early')

    if (order === 'message first') {
      aside?.file()
      await send()
      await start()
    } else if (aside === undefined) {
      await start()
      await send()
    } else {
      const sending = send()
      await aside.looked
      await start()
      aside.file()
      await sending
    }
    const result = await runtime.get('early').result()
    const left = aside === undefined ? [] : await under.sql('select id from early')
    return { result, stranded: left.length }
  }

  test('[M5] a message that is first makes the row that the start fills', async () => {
    expect(await earlyMessage('message first', 'in one step')).toEqual({
      result: 'early',
      stranded: 0,
    })
  })

  test('[M5] a message that is second finds the row that the start made', async () => {
    expect(await earlyMessage('start first', 'in one step')).toEqual({
      result: 'early',
      stranded: 0,
    })
  })

  test('[M5] filed aside, a message that is first is taken over by the start', async () => {
    expect(await earlyMessage('message first', 'in two steps')).toEqual({
      result: 'early',
      stranded: 0,
    })
  })

  test('[M5] filed aside, a message is stranded when the start comes between its steps', async () => {
    expect(await earlyMessage('start first', 'in two steps')).toEqual({
      result: 'nothing came',
      stranded: 1,
    })
  })
})

describe('[M5] a start and an early message under way at once, on PostgreSQL', () => {
  test('[M5] the start waits for the message, and takes its number over', async () => {
    await using under = await openPostgres({ prefix: 'race' })
    await using runtime = await engineOn(await under.another(), flow)
    await using sender = await connectionTo(under)
    const iid = await under.store.reserve(1)
    await sender.query('begin')
    await sender.query(
      'select * from post($1, $2, $3, $4, $5, $6, $7, $8)',
      postValues([note(iid)]),
    )

    const starting = runtime.start(flow, PATIENT, { id: 'early' })
    await lockIsWaitedFor(under, 'transactionid')
    await sender.query('commit')

    expect(await (await starting).result()).toBe('early')
    expect(await under.store.find(['early'])).toMatchObject([{ iid, status: 'completed' }])
  })

  test('[M5] the message waits for the start, and arrives there', async () => {
    await using under = await openPostgres({ prefix: 'race' })
    const ticking = countingStore(await under.another())
    await using runtime = await engineOn(ticking.store, flow, FREQUENT_TICKS)
    await using starter = await connectionTo(under)
    const client = connectTo(await under.another())
    const iid = await under.store.reserve(1)
    await starter.query('begin')
    await starter.query('select * from start_batch($1, $2)', [await startOf(under, iid), ''])

    const sending = client.get('early').send(notes, 'early')
    await lockIsWaitedFor(under, 'transactionid')
    await starter.query('commit')
    await sending

    expect(await runtime.get('early').result()).toBe('early')
    expect(await under.store.find(['early'])).toMatchObject([{ iid, status: 'completed' }])
  })

  test('[M5] filed aside, the message is stranded: neither sees what the other has not committed', async () => {
    await using under = await openPostgres({ prefix: 'race' })
    const aside = await filingAside(under)
    const ticking = countingStore(await under.another())
    await using runtime = await engineOn(aside.starting(ticking.store), flow, FREQUENT_TICKS)
    await using sender = await connectionTo(under)
    await sender.query('begin')
    await sender.query(`insert into early (id, payload) values ('early', '"early"')`)

    const instance = await runtime.start(flow, IMPATIENT, { id: 'early' })
    await sender.query('commit')

    expect(await instance.result()).toBe('nothing came')
    expect(await under.sql('select id from early')).toEqual([{ id: 'early' }])
  })
})

function note(iid: number): Post {
  return {
    id: 'early',
    kind: 'message',
    name: notes.name,
    payload: '"early"',
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid,
  }
}

/** The start of `flow` by a sender that owns nothing, as the procedure takes it. */
async function startOf({ store }: OpenedStore, iid: number): Promise<string> {
  const definition = flow as unknown as WorkflowDefinition
  const { name, version } = definition
  const [workflowNumber] = await store.workflowNumbers([{ name, version }])
  const start = {
    definition,
    isPinned: true,
    id: 'early',
    input: String(PATIENT),
    seed: '0123456789abcdef0123456789abcdef',
    parent: null,
    labels: '{}',
    messages: [],
    priority: 0,
    limitKey: undefined,
    delayMs: 0,
    iid,
  }
  return startsValue([startItem(start, { iid, workflow: workflowNumber!, at: 0, wakeAt: 0 })])
}

/**
 * As the first draft had it: the sender looks the id up, and files the message aside when there is
 * none; a start then takes over what is filed under its id.
 */
async function filingAside(under: OpenedStore) {
  await under.sql('create table early (id text not null, payload text not null)')
  const looked = deferred()
  const mayFile = deferred()
  return {
    looked: looked.promise,
    file: () => mayFile.resolve(),
    sending: (inner: WorkflowStore) =>
      withMethods(inner, {
        async post(posts) {
          const [{ id, payload }, [row]] = [posts[0]!, await inner.find([posts[0]!.id])]
          looked.resolve()
          await mayFile.promise
          if (row !== undefined) return inner.post(posts)
          await under.sql('insert into early (id, payload) values (?, ?)', id, payload)
          return [{ verdict: 'sent', iid: 0, owner: null }]
        },
      }),
    starting: (inner: WorkflowStore) =>
      withMethods(inner, {
        async commit(batch) {
          const answer = await inner.commit(batch)
          for (const { id } of batch.starts) {
            const filed = await under.sql<{ payload: string }>(
              'delete from early where id = ? returning payload',
              id,
            )
            await inner.post(filed.map(({ payload }) => ({ ...note(0), id, payload })))
          }
          return answer
        },
      }),
  }
}
