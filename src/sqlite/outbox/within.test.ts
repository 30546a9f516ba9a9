import { describe, expect, test } from 'vitest'
import { openSqliteOutbox } from '../../../test/support/outbox-under-test.ts'
import { openConnection } from '../connect/driver.ts'
import { message, OutboxScene, payloads } from '../../testing/outbox-contract/scene.ts'

const QUIET = { notify: false }

async function openScene() {
  const under = await openSqliteOutbox()
  return Object.assign(new OutboxScene(under), { sql: under.sql })
}

describe('a handle of the user', () => {
  test('outside of a transaction is refused, and nothing is stored', async () => {
    await using scene = await openScene()
    const topic = await scene.topic()
    const { tx, commit } = await scene.under.openTransaction()
    const inside = scene.outbox.within(tx, QUIET)
    await commit()

    await expect(inside.enqueue([message(topic)])).rejects.toThrow(
      'in: the handle is not inside a transaction',
    )
    expect(await scene.under.count('messages')).toBe(0)
  })

  test('of a database in memory is refused', async () => {
    await using scene = await openScene()
    const topic = await scene.topic()
    const handle = openConnection(':memory:', undefined)
    handle.exec('begin')

    await expect(scene.outbox.within(handle, QUIET).enqueue([message(topic)])).rejects.toThrow(
      'in: the handle is on a database in memory',
    )
    handle.close()
  })

  test('something else in its place is refused at once', async () => {
    await using scene = await openScene()

    expect(() => scene.outbox.within({}, QUIET)).toThrow('in: needs a handle')
  })

  test('can be used after a failure, of which nothing is left', async () => {
    await using scene = await openScene()
    const topic = await scene.topic()
    const { tx, commit } = await scene.under.openTransaction()
    const inside = scene.outbox.within(tx, QUIET)
    await inside.enqueue([message(topic, { payload: '"a"' })])

    const failed = inside.enqueue([
      message(topic, { payload: '"b"', dedupeKey: 'once' }),
      message(topic, { payload: null as never }),
    ])

    await expect(failed).rejects.toMatchObject({ name: 'StoreError', code: 'rejected' })
    await inside.enqueue([message(topic, { payload: '"c"' })])
    await commit()
    const courier = await scene.runtime()
    expect(payloads((await courier.claim(topic.first)).messages)).toEqual(['"a"', '"c"'])
    expect(await scene.under.count('keys')).toBe(0)
  })

  test('registers topics, while the store waits for its end', async () => {
    await using scene = await openScene()
    const { tx, commit } = await scene.under.openTransaction()
    const inside = scene.outbox.within(tx, QUIET)
    // A write of the store waits in line now.
    const waiting = scene.topic('mails')

    const [topic] = await inside.topics!([{ name: 'orders', partitions: 2 }])
    await inside.enqueue([message(topic!)])
    await commit()

    const mails = await waiting
    expect(mails.first).toBe(topic!.first + 2)
    expect(await scene.ready()).toEqual([topic!.first])
  })

  test('creates the tables, if nobody has done so: others cannot as long as it is open', async () => {
    await using scene = await openScene()
    const other = scene.under.store.outbox!('other')
    for (const end of ['rollback', 'commit'] as const) {
      const transaction = await scene.under.openTransaction()
      const inside = other.within(transaction.tx, QUIET)
      const [topic] = await inside.topics!([{ name: 'orders', partitions: 1 }])
      await inside.enqueue([message(topic!)])
      await transaction[end]()
    }

    await other.open()

    expect(await other.allTopics()).toMatchObject([{ name: 'orders', partitions: 1 }])
    expect(await scene.under.count('messages', 'other')).toBe(1)
  })

  test('says when its transaction has ended', async () => {
    await using scene = await openScene()
    const { tx, rollback } = await scene.under.openTransaction()
    const ended = scene.outbox.within(tx, QUIET).ended!()
    let isOver = false
    void ended.then(() => (isOver = true))
    await scene.outbox.look(null)
    const before = isOver

    await rollback()
    await ended

    expect([before, isOver]).toEqual([false, true])
  })

  test('may enqueue several messages under one savepoint of its own', async () => {
    await using scene = await openScene()
    const topic = await scene.topic()
    const { tx, commit } = await scene.under.openTransaction()
    const handle = tx as { exec(sql: string): void }
    const inside = scene.outbox.within(tx, QUIET)
    handle.exec('savepoint holdfast_outbox')
    await inside.enqueue([message(topic, { dedupeKey: 'once' })])
    handle.exec('rollback to holdfast_outbox')

    const [kept] = await inside.enqueue([message(topic, { dedupeKey: 'once', payload: '"kept"' })])
    await commit()

    expect(kept!.isDuplicate).toBe(false)
    const courier = await scene.runtime()
    expect(payloads((await courier.claim(topic.first)).messages)).toEqual(['"kept"'])
  })
})
