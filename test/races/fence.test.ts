import { describe, expect, test } from 'vitest'
import type { Iid } from '../../src/store/instances.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import {
  type Actor,
  ending,
  result,
  Scene,
  turnItem,
  turnRow,
} from '../../src/testing/contract/scene.ts'
import { appendByKeyAlone, describeRace, isWhole, type RunRow, runRowOf } from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'

// F1, F2, F3 of `docs/internals/races.md` at the level of the store: what a stale owner may not do.

const RELEASE = { kind: 'release', wakeAt: null } as const

/** How a stale owner writes. */
interface StaleWrites {
  append(under: OpenedStore, stale: Actor, id: string, iid: Iid, turn: number): Promise<unknown>
  release(under: OpenedStore, stale: Actor, iid: Iid): Promise<unknown>
  drop(under: OpenedStore, stale: Actor, iid: Iid, message: number): Promise<unknown>
}

const JUDGED: StaleWrites = {
  append: (_, stale, _id, iid, turn) => stale.turns(turnItem(iid, { turn: turnRow(turn) })),
  release: (_, stale, iid) => stale.turns(turnItem(iid, { next: RELEASE })),
  drop: (_, stale, iid, message) => stale.turns(turnItem(iid, { taken: [message] })),
}

/** The caller's id is the key, the key of history the only fence, and the rest is not fenced. */
const BY_KEY: StaleWrites = {
  async append(under, _, id, _iid, turn) {
    const [row] = await under.store.find([id])
    await appendByKeyAlone(under, row!.iid, turn)
  },
  release: (under, _, iid) =>
    under.sql('update runs set owner = null, wake_at = null where iid = ?', iid),
  drop: (under, _, iid, message) =>
    under.sql('delete from inbox where iid = ? and id = ?', iid, message),
}

describeRace('[F1] the fence', (openStore) => {
  /** Stale A is at turn 5; the instance is deleted and started again; A appends. */
  async function deletedAndStartedAgain(writes: StaleWrites): Promise<number[]> {
    await using under = await openStore()
    const scene = new Scene(under)
    const a = await scene.runtime()
    const [old] = await a.reserve(1)
    await a.starts(a.startItem(old!, { id: 'order-42' }))
    for (const turn of [2, 3, 4, 5]) await a.turns(turnItem(old!, { turn: turnRow(turn) }))
    for (const table of ['runs', 'inbox', 'history', 'instances']) {
      await under.sql(`delete from ${table} where iid = ?`, old!)
    }
    const b = await scene.otherRuntime()
    const [young] = await b.reserve(1)
    await b.starts(b.startItem(young!, { id: 'order-42' }))

    await writes.append(under, a, 'order-42', old!, 6)

    return await scene.turnsOf(young!)
  }

  test('[F1] a stale owner of a deleted instance cannot write into its next life', async () => {
    expect(await deletedAndStartedAgain(JUDGED)).toEqual([1])
  })

  test('[F1] by the key alone the next life has a hole forever', async () => {
    const turns = await deletedAndStartedAgain(BY_KEY)

    expect(turns).toEqual([1, 6])
    expect(isWhole(turns)).toBe(false)
  })

  /** A is stale, B owns the instance and has a result waiting; A writes what appends nothing. */
  async function writesWithoutAppend(writes: StaleWrites) {
    await using under = await openStore()
    const scene = new Scene(under)
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    const iid = await a.ownOne()
    await a.turns(turnItem(iid, { next: { kind: 'release', wakeAt: 0 } }))
    await b.claim()
    await scene.store.send([result(iid, 1)])
    const [message] = await scene.inboxOf(iid)

    await writes.drop(under, a, iid, message!.id)
    await writes.release(under, a, iid)

    const verdicts = await b.turns(turnItem(iid, { epoch: 2, turn: turnRow(2) }))
    const run = await runRowOf(under, iid)
    return { verdicts, isOwned: run?.owner === b.runtime, mail: await scene.inboxOf(iid) }
  }

  test('[F1] a stale owner neither takes messages away nor the instance', async () => {
    expect(await writesWithoutAppend(JUDGED)).toMatchObject({
      verdicts: ['done'],
      isOwned: true,
      mail: [{ command: 1 }],
    })
  })

  test('[F1] with only appends fenced, the message is lost and its owner loses the instance', async () => {
    expect(await writesWithoutAppend(BY_KEY)).toEqual({
      verdicts: ['refused'],
      isOwned: false,
      mail: [],
    })
  })
})

/** How the taker reads, and how the commit of the one taken over from, still under way, ends. */
interface Takeover {
  load(
    under: OpenedStore,
    store: WorkflowStore,
    iid: Iid,
    meanwhile: () => Promise<unknown>,
  ): Promise<{ turns: number; mail: number }>
  lateCommit(under: OpenedStore, stale: Actor, iid: Iid, message: number): Promise<unknown>
}

const FENCED: Takeover = {
  async load(_, store, iid, meanwhile) {
    await meanwhile()
    const [loaded] = await store.load([{ iid, after: 0 }])
    return { turns: loaded!.history.length, mail: loaded!.inbox.length }
  },
  lateCommit: (_, stale, iid, message) =>
    stale.commit({ turns: [turnItem(iid, { turn: turnRow(2), taken: [message] })] }),
}

const KEY_AND_TWO_STATEMENTS: Takeover = {
  async load(under, _, iid, meanwhile) {
    const history = await under.sql('select turn from history where iid = ?', iid)
    await meanwhile()
    const inbox = await under.sql('select id from inbox where iid = ?', iid)
    return { turns: history.length, mail: inbox.length }
  },
  async lateCommit(under, _, iid, message) {
    if (!(await appendByKeyAlone(under, iid, 2))) return
    await under.sql('delete from inbox where iid = ? and id = ?', iid, message)
  },
}

describeRace('[F2] the takeover', (openStore) => {
  /** B takes over from A and loads; A's commit, which uses up the message, arrives meanwhile. */
  async function takeover(by: Takeover): Promise<{
    consumedBy: 'A' | 'B' | 'nobody'
    run: RunRow | undefined
    claimable: boolean
    followedUp: boolean
  }> {
    await using under = await openStore()
    const scene = new Scene(under)
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    const iid = await a.ownOne()
    await scene.store.send([result(iid, 1)])
    const [message] = await scene.inboxOf(iid)
    await scene.takeOver(a, b)

    const seen = await by.load(under, b.store, iid, () => by.lateCommit(under, a, iid, message!.id))
    // The owner that uses the message up computes what follows; B can only do so if it saw it.
    let consumedBy: 'A' | 'B' | 'nobody' = 'nobody'
    if (seen.mail > 0) {
      const turn = turnRow(seen.turns + 1, { events: 'what follows' })
      const item = turnItem(iid, { epoch: 2, turn, taken: [message!.id] })
      const [verdict] = await b.turns(item)
      if (verdict === 'done') consumedBy = 'B'
    } else if (seen.turns > 1) {
      consumedBy = 'A'
    }
    await b.turns(turnItem(iid, { epoch: 2, next: RELEASE }))

    const { history } = await scene.load(iid)
    const run = await runRowOf(under, iid)
    const claimable = (await b.claimed({ hinted: [iid] })).length > 0
    const followedUp = history.some(({ events }) => events === 'what follows')
    return { consumedBy, run, claimable, followedUp }
  }

  test('[F2] no commit of the old owner follows a takeover, and the taker sees the message', async () => {
    expect(await takeover(FENCED)).toMatchObject({ consumedBy: 'B', followedUp: true })
  })

  test('[F2] with the key alone and a load in two statements the instance never moves again', async () => {
    expect(await takeover(KEY_AND_TWO_STATEMENTS)).toMatchObject({
      consumedBy: 'nobody',
      followedUp: false,
      claimable: false,
      run: { owner: null, wakeAt: null },
    })
  })
})

describe('[F3] a server that lost the newest turns, on PostgreSQL', () => {
  test('[F3] the owner is asked to verify, compares, and does not append beyond what is there', async () => {
    expect(await lostTail('verify')).toEqual([1])
  })

  test('[F3] without comparing, the history has a hole forever', async () => {
    const turns = await lostTail('nothing')

    expect(turns).toEqual([1, 4])
    expect(isWhole(turns)).toBe(false)
  })

  test('[F3] the end of an instance is lost with the tail, and noticed', async () => {
    await using under = await openPostgres({ prefix: 'race' })
    const scene = new Scene(under)
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    await promote(under)

    const next = { kind: 'end', end: ending() } as const
    const answer = await owner.commit({ turns: [turnItem(iid, { turn: turnRow(2), next })] })

    expect(answer.state).toBe('verify')
    expect((await scene.look(iid)).status).toBe('running')
  })
})

/** The owner has turn 3 in memory; another server, which has only turn 1, is promoted. */
async function lostTail(ask: 'verify' | 'nothing'): Promise<number[]> {
  await using under = await openPostgres({ prefix: 'race' })
  const scene = new Scene(under)
  const owner = await scene.runtime()
  const iid = await owner.ownOne()
  for (const turn of [2, 3]) await owner.turns(turnItem(iid, { turn: turnRow(turn) }))
  await under.sql('delete from history where iid = ? and turn > 1', iid)
  await promote(under)
  const next = turnItem(iid, { turn: turnRow(4) })

  const answer = await owner.commit({ turns: [next] })
  if (answer.state !== 'verify') throw new Error(`answered with ${answer.state}`)
  const copies = [{ iid, epoch: 1, execution: 1, turn: 3 }]
  const { server, same } = await owner.store.verify(owner.runtime, copies)
  const { runtime } = owner
  if (ask === 'nothing' || same[0] === true) {
    await owner.store.commit({ runtime, server, starts: [], turns: [next] })
  }

  return await scene.turnsOf(iid)
}

/** Has the schema say that it is on another server than before. */
async function promote(under: OpenedStore): Promise<void> {
  await under.sql(
    `create or replace function server_identity() returns text
    language plpgsql volatile set search_path from current
    as 'begin return ''promoted''; end'`,
  )
}
