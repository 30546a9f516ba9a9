import { describe, expect, test } from 'vitest'

import { openStore, startItem, turnItem } from '../../../../test/support/sqlite.ts'
import { memoryLog } from '../../../../test/support/workers.ts'
import { systemClock } from '../../../base/time/clock.ts'
import type {
  CommitAnswer,
  CommitBatch,
  StartItem,
  TurnItem,
  Verdict,
} from '../../../store/commits.ts'
import type { Iid } from '../../../store/instances.ts'
import { StoreError } from '../../../store/store-error.ts'
import { StoreClock } from '../../core/store-clock.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import { Committer } from './committer.ts'

type Commit = (batch: CommitBatch) => Promise<CommitAnswer>

/** A committer on a store in memory, whose commits may be interfered with. */
async function openCommitter(around: (commit: Commit) => Commit = (commit) => commit) {
  const { store, runtime, server, first, ...opened } = await openStore()
  const batches: CommitBatch[] = []
  const commit = around((batch) => store.commit(batch))
  const wrapped = Object.create(store, {
    commit: {
      value: (batch: CommitBatch) => {
        batches.push(batch)
        return commit(batch)
      },
    },
  }) as typeof store
  const deaths: number[] = []
  let identity = { runtime, server }
  const clock = systemClock()
  const log = memoryLog()
  const core = { store: wrapped, clock, time: new StoreClock(clock), log }
  const committer = new Committer(core as unknown as RuntimeCore, {
    get identity() {
      return identity
    },
    isDead: (number) => number !== identity.runtime,
    async onDead(dead) {
      deaths.push(dead)
      const next = await store.register({ leaseMs: 30_000, workflows: [], info: 'again' })
      identity = { runtime: next.runtime, server: next.server }
    },
    async onServerChange() {
      const { server: now } = await store.verify(identity.runtime, [])
      identity = { ...identity, server: now }
      return new Set<Iid>([first + 1])
    },
  })
  const worker = committer.work()
  const send = (items: readonly { start?: StartItem; turn?: TurnItem }[]) => {
    const all = Promise.all(
      items.map(
        (item) =>
          new Promise<Verdict | Error>((resolve) => committer.add({ ...item, settle: resolve })),
      ),
    )
    committer.flush()
    return all
  }
  return {
    committer,
    store,
    runtime,
    first,
    batches,
    deaths,
    log,
    send,
    starts: (count: number) =>
      send(Array.from({ length: count }, (_, i) => ({ start: startItem(first + i) }))),
    async [Symbol.asyncDispose]() {
      await worker.stop({ within: 1_000 })
      await opened[Symbol.asyncDispose]()
    },
  }
}

describe('the committer', () => {
  test('everything that is ready goes as one batch', async () => {
    await using opened = await openCommitter()

    expect(await opened.starts(10)).toEqual(Array.from({ length: 10 }, () => 'done'))
    expect(opened.batches).toHaveLength(1)
  })

  test('items are judged one by one', async () => {
    await using opened = await openCommitter()
    const { first, send } = opened
    await opened.starts(3)

    const verdicts = await send([
      { turn: turnItem(first) },
      { turn: turnItem(first + 1, { epoch: 9 }) },
      { start: startItem(first + 5, { id: `order-${first}` }) },
      { turn: turnItem(first + 2) },
    ])

    expect(verdicts).toEqual(['done', 'refused', 'exists', 'done'])
  })

  test('a batch holds no more than five hundred items', async () => {
    await using opened = await openCommitter()
    const iids = await opened.store.reserve(1_200)

    const verdicts = await opened.send(
      Array.from({ length: 1_200 }, (_, i) => ({ start: startItem(iids + i) })),
    )

    expect(new Set(verdicts)).toEqual(new Set(['done']))
    const sizes = opened.batches.map(({ starts }) => starts.length)
    expect(Math.max(...sizes)).toBe(500)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1_200)
  })

  test('a batch whose answer was lost is sent again, unchanged, and recognised', async () => {
    let lost = 0
    await using opened = await openCommitter((commit) => async (batch) => {
      const answer = await commit(batch)
      if (lost++ < 3) throw new StoreError('connection_lost', 'commit', 'the answer is gone')
      return answer
    })

    expect(await opened.starts(5)).toEqual(['done', 'done', 'done', 'done', 'done'])
    expect(opened.batches).toHaveLength(4)
    for (const batch of opened.batches) expect(batch).toEqual(opened.batches[0])
  })

  test('failures between successes do not add up to long waits', async () => {
    let sent = 0
    await using opened = await openCommitter((commit) => async (batch) => {
      const answer = await commit(batch)
      if (sent++ % 2 === 1) throw new StoreError('connection_lost', 'commit', 'the answer is gone')
      return answer
    })
    const { committer, first, log } = opened

    // Each item is followed by the next while the loop still sends, as the turns of an instance are.
    await new Promise<void>((resolve) => {
      const addNext = (n: number): void => {
        if (n === 20) return resolve()
        committer.add({ start: startItem(first + n), settle: () => addNext(n + 1) })
      }
      addNext(0)
      committer.flush()
    })

    const failures = log.lines.map(({ data }) => Number(data['failures'] ?? 0))
    expect(log.at('warn')).toContain('commit failed; sending it again')
    expect(Math.max(...failures)).toBeLessThanOrEqual(1)
  })

  test.each([0, 1, 6, 12])('a bad item at place %i fails alone', async (bad) => {
    const error = new StoreError('rejected', 'commit', 'too large')
    let badIid: Iid
    await using opened = await openCommitter((commit) => (batch) => {
      if (batch.starts.some(({ iid }) => iid === badIid)) return Promise.reject(error)
      return commit(batch)
    })
    badIid = opened.first + bad

    const verdicts = await opened.starts(13)

    expect(verdicts).toEqual(Array.from({ length: 13 }, (_, i) => (i === bad ? error : 'done')))
  })

  test('a runtime that was declared dead loses its turns, and its starts go again', async () => {
    await using opened = await openCommitter()
    const { first, send, store, runtime } = opened
    await opened.starts(1)
    await store.unregister(runtime)

    const verdicts = await send([{ turn: turnItem(first) }, { start: startItem(first + 9) }])

    expect(verdicts).toEqual(['refused', 'done'])
    expect(opened.deaths).toEqual([runtime])
  })

  test('on another server only turns of instances that it lost are refused', async () => {
    let moved = false
    await using opened = await openCommitter((commit) => async (batch) => {
      if (moved) return commit(batch)
      moved = true
      return { state: 'verify', clock: 1, server: 'other' }
    })
    const { first, send } = opened
    await opened.starts(3)
    moved = false

    const verdicts = await send([0, 1, 2].map((i) => ({ turn: turnItem(first + i) })))

    expect(verdicts).toEqual(['done', 'refused', 'done'])
  })

  test('a turn that waits behind a batch is refused too when its instance was lost', async () => {
    let moved = true
    let arrived!: () => void
    const underWay = new Promise<void>((resolve) => (arrived = resolve))
    let release!: () => void
    const gate = new Promise<void>((resolve) => (release = resolve))
    await using opened = await openCommitter((commit) => async (batch) => {
      if (moved) return commit(batch)
      moved = true
      arrived()
      await gate
      return { state: 'verify', clock: 1, server: 'other' }
    })
    const { first, send } = opened
    await opened.starts(3)
    moved = false

    const other = send([{ turn: turnItem(first) }])
    await underWay
    const behind = send([{ turn: turnItem(first + 1) }])
    release()

    expect(await behind).toEqual(['refused'])
    expect(await other).toEqual(['done'])
  })

  test('turns that were withdrawn during a failover are not sent to the new server', async () => {
    let forget: (() => void) | undefined
    await using opened = await openCommitter((commit) => async (batch) => {
      if (forget === undefined) return commit(batch)
      // Meanwhile another connection noticed the failover: all that follows from lost turns is dropped.
      forget()
      forget = undefined
      return { state: 'verify', clock: 1, server: 'other' }
    })
    const { first, send, committer, batches } = opened
    await opened.starts(1)
    forget = () => committer.forgetAll()

    void send([{ turn: turnItem(first) }])
    await send([{ start: startItem(first + 5) }])

    const sent = batches.slice(1).map(({ turns }) => turns.length)
    expect(sent).toEqual([1, 0])
  })

  test('an item whose id is locked gets that verdict, and is not sent again by the committer', async () => {
    let batches = 0
    await using opened = await openCommitter((commit) => async (batch) => {
      batches++
      const answer = await commit(batch)
      return { ...answer, starts: ['locked', 'done'] } as CommitAnswer
    })
    const { committer, first, send } = opened

    const starts = [0, 1].map((i) => ({ start: startItem(first + i) }))
    expect(await send(starts)).toEqual(['locked', 'done'])
    expect(committer.size).toBe(0)
    expect(batches).toBe(1)
  })

  test('items that were not tried go with the next batch, before later ones', async () => {
    const batches: number[][] = []
    let isFirst = true
    await using opened = await openCommitter((commit) => async (batch) => {
      batches.push(batch.starts.map(({ iid }) => iid))
      const { starts } = batch
      if (!isFirst) return commit(batch)
      isFirst = false
      later = send([{ start: startItem(first + 2) }])
      const answer = await commit({ ...batch, starts: starts.slice(0, 1) })
      return { ...answer, starts: ['done', 'untried'] } as CommitAnswer
    })
    const { committer, first, send } = opened
    let later: Promise<unknown> | undefined

    const starts = [0, 1].map((i) => ({ start: startItem(first + i) }))
    expect(await send(starts)).toEqual(['done', 'done'])
    expect(await later).toEqual(['done'])
    expect(batches).toEqual([
      [first, first + 1],
      [first + 1, first + 2],
    ])
    expect(committer.size).toBe(0)
  })

  test('a callback that throws does not keep the others from being called', async () => {
    await using opened = await openCommitter()
    const { committer, first } = opened
    committer.add({
      start: startItem(first),
      settle() {
        throw new Error('boom')
      },
    })
    const second = new Promise((resolve) => {
      committer.add({ start: startItem(first + 1), settle: resolve })
    })
    committer.flush()

    expect(await second).toBe('done')
  })

  test('items that are added after the close are rejected at once', async () => {
    await using opened = await openCommitter()
    opened.committer.close()

    const [late] = await opened.starts(1)

    expect(late).toMatchObject({ code: 'closed' })
  })

  test('waiting turns can be withdrawn, starts stay', async () => {
    await using opened = await openCommitter()
    const { committer, first } = opened
    const told: unknown[] = []
    committer.add({ turn: turnItem(first), settle: (verdict) => told.push(['turn', verdict]) })
    const started = new Promise((resolve) => {
      committer.add({ start: startItem(first + 1), settle: resolve })
    })
    committer.forgetTurns()
    committer.flush()

    expect(await started).toBe('done')
    expect(told).toEqual([])
  })

  test('new work waits while too much is under way', async () => {
    let release!: () => void
    const gate = new Promise<void>((resolve) => (release = resolve))
    await using opened = await openCommitter((commit) => async (batch) => {
      await gate
      return commit(batch)
    })
    const iids = await opened.store.reserve(2_000)
    const sent = opened.send(
      Array.from({ length: 2_000 }, (_, i) => ({ start: startItem(iids + i) })),
    )
    expect(opened.committer.crowded).toBe(true)
    let entered = false
    const room = opened.committer.room().then(() => (entered = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(entered).toBe(false)
    release()

    await Promise.all([room, sent])

    expect(opened.committer.size).toBe(0)
  })

  test('closing rejects all items that still wait', async () => {
    await using opened = await openCommitter(() => () => new Promise(() => {}))
    const waiting = opened.starts(2)
    await new Promise((resolve) => setImmediate(resolve))
    opened.committer.close()

    for (const verdict of await waiting) {
      expect(verdict).toMatchObject({ name: 'StoreError', code: 'closed' })
    }
    expect(opened.committer.size).toBe(0)
  })
})
