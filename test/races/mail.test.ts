import { describe, expect, test } from 'vitest'
import { result, Scene, turnItem, turnRow } from '../../src/testing/contract/scene.ts'
import { connectionTo, describeRace, runRowOf } from '../support/race.ts'
import { openPostgres } from '../support/store-under-test.ts'

// M1, M3, M7 of `docs/internals/races.md`: messages that must not be lost.

const RELEASE = { kind: 'release', wakeAt: null } as const

describeRace('[M1] a message that meets a release', (openStore) => {
  /**
   * The sender has seen that the instance is owned; it is released; the message arrives.
   *
   * A sender that finds the instance unowned sets a `flag`, and claims look at nothing else.
   */
  async function sendDuringRelease(by: 'mail' | 'flag') {
    await using under = await openStore()
    const scene = new Scene(under)
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await owner.ownOne()

    const seen = await runRowOf(under, iid)
    await owner.turns(turnItem(iid, { next: RELEASE }))
    await scene.store.send([result(iid, 1)])
    if (by === 'flag' && seen?.owner === null) {
      await under.sql('update runs set wake_at = 0 where iid = ? and owner is null', iid)
    }

    const run = await runRowOf(under, iid)
    const mail = (await scene.inboxOf(iid)).length
    const claimed =
      by === 'mail'
        ? await other.claimed()
        : await under.sql('select iid from runs where owner is null and wake_at is not null')
    return { run, mail, claimed: claimed.length }
  }

  test('[M1] an instance with mail is claimable, whatever was read before', async () => {
    expect(await sendDuringRelease('mail')).toMatchObject({ mail: 1, claimed: 1 })
  })

  test('[M1] with a flag that senders set, the message is stranded', async () => {
    expect(await sendDuringRelease('flag')).toMatchObject({
      run: { owner: null, wakeAt: null },
      mail: 1,
      claimed: 0,
    })
  })
})

describe('[M1] a message whose sender commits after the release, on PostgreSQL', () => {
  test('[M1] it is found by the next claim', async () => {
    expect(await openSender('mail')).toEqual({ mail: 1, claimed: 1 })
  })

  test('[M1] with a flag it is stranded', async () => {
    expect(await openSender('flag')).toEqual({ mail: 1, claimed: 0 })
  })
})

// SQLite has one writer at a time: there, ids become visible in their order.
describe('[M3] messages that become visible out of order, on PostgreSQL', () => {
  test('[M3] the owner gets both, each once', async () => {
    expect(await outOfOrder('all')).toEqual([2, 1])
  })

  test('[M3] with a cursor over ids the slow one is never read', async () => {
    expect(await outOfOrder('cursor')).toEqual([2])
  })
})

describeRace('[M7] a load while a result is used up', (openStore) => {
  /** How often the result is seen: 1 is right, 0 is lost, 2 is twice. */
  async function loadMeanwhile(order: 'snapshot' | 'history first' | 'inbox first') {
    await using under = await openStore()
    const scene = new Scene(under)
    const owner = await scene.runtime()
    const reader = await under.another()
    const iid = await owner.ownOne()
    await scene.store.send([result(iid, 1)])
    const [message] = await scene.inboxOf(iid)
    const useUp = () => owner.turns(turnItem(iid, { turn: turnRow(2), taken: [message!.id] }))
    const turns = async () =>
      (await under.sql('select turn from history where iid = ? and turn > 1', iid)).length
    const mail = async () => (await under.sql('select id from inbox where iid = ?', iid)).length

    if (order === 'snapshot') {
      const [[loaded]] = await Promise.all([reader.load([{ iid, after: 1 }]), useUp()])
      return loaded!.history.length + loaded!.inbox.length
    }
    const [first, second] = order === 'history first' ? [turns, mail] : [mail, turns]
    const before = await first()
    await useUp()
    return before + (await second())
  }

  test('[M7] it is seen once, in the inbox or in history', async () => {
    for (let round = 0; round < 5; round++) expect(await loadMeanwhile('snapshot')).toBe(1)
  })

  test('[M7] read in two statements, it is in neither or in both', async () => {
    expect(await loadMeanwhile('history first')).toBe(0)
    expect(await loadMeanwhile('inbox first')).toBe(2)
  })
})

/** The sender's transaction is open while the owner releases, having found no mail. */
async function openSender(by: 'mail' | 'flag') {
  await using under = await openPostgres({ prefix: 'race' })
  const scene = new Scene(under)
  const owner = await scene.runtime()
  const iid = await owner.ownOne()
  await using database = await connectionTo(under)

  await database.query('begin')
  await database.query('select send($1, $2, $3, $4, $5)', [[iid], [1], [1], [1], 'late'])
  // The sender sees an owner, so it sets no flag; the release sees no mail, so it sets none.
  await database.query('select owner from runs where iid = $1', [iid])
  if (by === 'mail') await owner.turns(turnItem(iid, { next: RELEASE }))
  else {
    await under.sql(
      `update runs set owner = null,
        wake_at = (select 0 from inbox where inbox.iid = runs.iid limit 1)
      where iid = ?`,
      iid,
    )
  }
  await database.query('commit')

  const claimed =
    by === 'mail'
      ? await owner.claimed()
      : await under.sql('select iid from runs where owner is null and wake_at is not null')
  return { mail: (await scene.inboxOf(iid)).length, claimed: claimed.length }
}

/** A slow sender's message gets its id first and is committed last. */
async function outOfOrder(read: 'all' | 'cursor'): Promise<number[]> {
  await using under = await openPostgres({ prefix: 'race' })
  const scene = new Scene(under)
  const owner = await scene.runtime()
  const iid = await owner.ownOne()
  await using slow = await connectionTo(under)
  const received: number[] = []
  let cursor = 0
  const receive = async (): Promise<void> => {
    const inbox = (await scene.inboxOf(iid)).filter(({ id }) => read === 'all' || id > cursor)
    cursor = Math.max(cursor, ...inbox.map(({ id }) => id))
    received.push(...inbox.map(({ command }) => command))
    // A reader with a cursor need not remove what it has read.
    if (read === 'all') await owner.turns(turnItem(iid, { taken: inbox.map(({ id }) => id) }))
  }

  await slow.query('begin')
  await slow.query('select send($1, $2, $3, $4, $5)', [[iid], [1], [1], [1], 'slow'])
  await scene.store.send([result(iid, 2)])
  await receive()
  await slow.query('commit')
  await receive()

  return received
}
