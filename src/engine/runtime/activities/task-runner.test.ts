import { describe, expect, test } from 'vitest'

import { values } from '../../../../test/support/executions.ts'
import { testServices, TestCall } from '../../../../test/tasks/attempts.ts'
import { heldTask } from '../../../../test/tasks/fake-task-store.ts'
import { openRunner } from '../../../../test/tasks/open-runner.ts'
import { StoreError } from '../../../store/store-error.ts'

describe('the task runner', () => {
  test('no more are claimed than there are free slots', async () => {
    await using opened = openRunner({ most: 3 })
    const { store, manual, give, settle } = opened

    await give([1], [2], [3], [4], [5])
    expect(store.requests.map(({ limit }) => limit)).toEqual([3])
    manual.end(0)
    await settle()

    expect(manual.begun).toHaveLength(4)
    expect(store.requests.map(({ limit }) => limit)).toContain(1)
    expect(store.requests.every(({ limit }) => limit <= 3)).toBe(true)
    expect(store.waiting).toHaveLength(1)
  })

  test('no task is claimed for a slot that a local activity uses', async () => {
    await using opened = openRunner({ most: 2 })
    const { clock, slots, store, give } = opened
    slots.run(new TestCall(testServices(clock)), { perform: () => new Promise(() => {}) })

    await give([1], [2])

    expect(store.requests.map(({ limit }) => limit)).toEqual([1])
  })

  test('a claim says what can run here, and how sessions are kept', async () => {
    const served = { untagged: true, tags: ['gpu'] }
    await using opened = openRunner({ served })
    const { store, give } = opened

    await give()

    expect(store.requests).toEqual([
      { runtime: 5, limit: 3, activities: ['work'], served, maxSessions: 4, sessionIdleMs: 9_000 },
    ])
  })

  test.each<[string, Parameters<typeof openRunner>[0]]>([
    ['has no code of activities', { activities: [] }],
    ['serves none', { served: { untagged: false, tags: [] } }],
  ])('a runtime that %s never asks', async (_, given) => {
    await using opened = openRunner(given)
    const { store, give } = opened

    await give([1])

    expect(store.requests).toEqual([])
    expect(opened.claimer.interest?.activities ?? []).toEqual([])
  })

  test('the next claim comes when the next task is due, and never at once', async () => {
    await using opened = openRunner()
    const { store, due, give } = opened
    store.nextDue = 77
    await give()
    store.nextDue = 1

    await give()

    expect(due).toEqual([77, 10])
  })

  test('a claim that failed is retried', async () => {
    await using opened = openRunner()
    const { clock, store, manual, give } = opened
    let failures = 0
    store.before = () => {
      if (failures++ < 2) throw new StoreError('busy', 'claimTasks', 'locked')
    }

    await give([1])
    await clock.advance(10_000)

    expect(manual.begun).toHaveLength(1)
  })

  test('tasks of a lost answer are released, but not those whose results are unsent', async () => {
    await using opened = openRunner()
    const { clock, store, manual, give } = opened
    await give([1], [2])
    const lost = new StoreError('connection_lost', 'test', 'lost')
    store.before = () => {
      throw lost
    }
    opened.claimer.wake()
    manual.end(0)
    await clock.advance(0)

    store.lost = [1, 2, 3].map((command) => ({ iid: 1, execution: 1, command, attempt: 1 }))
    store.before = (method) => {
      const sent = store.finished.at(-1)?.results[0]?.end.kind
      if (method === 'finishTasks' && sent === 'completed') throw lost
    }
    await clock.advance(10_000)

    expect(store.ends.filter(([, kind]) => kind === 'release')).toEqual([[3, 'release', 5]])
  })

  test('code gets what is known about its task', async () => {
    await using opened = openRunner()
    const { manual, give } = opened

    await give([
      8,
      { id: 'order-1', workflow: 'orders', tag: 't', session: 's', attempt: 4, beat: '{"done":7}' },
    ])

    const [ctx] = manual.begun
    expect(ctx!.info).toEqual({
      instanceId: 'order-1',
      workflow: 'orders',
      activity: 'work',
      tag: 't',
      session: 's',
    })
    expect([ctx!.attempt, ctx!.lastHeartbeat, ctx!.idempotencyKey]).toEqual([
      4,
      { done: 7 },
      '1-1-8-0',
    ])
  })

  test('results are sent, and the owner of the instance gets a hint', async () => {
    await using opened = openRunner()
    const { store, manual, hints, give, settle } = opened
    store.verdictOn = ({ command }) => ({ verdict: command === 4 ? 'gone' : 'done', owner: 9 })
    await give([1, { iid: 21 }], [2, { iid: 22, attempt: 3 }], [3, { iid: 23 }])

    manual.end(0, 'yes')
    manual.fail(1, new Error('no'))
    manual.fail(2, new Error('again'))
    await settle()
    await give([4, { iid: 24 }])
    manual.end(3)
    await settle()

    expect(store.ends).toEqual([
      [1, 'completed', 5],
      [2, 'failed', 5],
      [3, 'retry', 5],
      [4, 'completed', 5],
    ])
    expect(store.finished[0]!.results).toMatchObject([
      { iid: 21, execution: 1, attempt: 1, end: { payload: '"yes"' } },
      { iid: 22, attempt: 3 },
      { iid: 23, end: { delayMs: 1_000 } },
    ])
    expect(hints).toEqual([
      { iid: 21, owner: 9 },
      { iid: 22, owner: 9 },
      // If it is gone, it may have been reported before, and the answer was lost.
      { iid: 24, owner: 9 },
    ])
  })

  test.each([
    ['of a session', { session: 's' }, true],
    ['that runtimes died with', { deaths: 2 }, true],
    ['of no interest to others', {}, false],
  ])(
    'after a task %s it asks again only if another may have waited: %j',
    async (_, given, asks) => {
      await using opened = openRunner()
      const { store, manual, settle } = opened
      store.waiting.push(heldTask(1, given))
      opened.claimer.wake()
      await settle()
      const before = store.requests.length

      manual.end(0)
      await settle()

      expect(store.requests.length > before).toBe(asks)
    },
  )

  test('nothing begins until the lease is certainly valid', async () => {
    await using opened = openRunner()
    const { runner, store, manual, give, settle, holdStarts } = opened
    const release = holdStarts()
    await give([1], [2])
    expect(manual.begun).toEqual([])

    runner.owned.abort([{ iid: 1, execution: 1, command: 1 }])
    release()
    await settle()

    expect(manual.begun.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['1-1-2-0'])
    expect(store.ends).toEqual([])
  })

  describe('a task that kills its runtimes', () => {
    test('runs up to its fourth death', async () => {
      await using opened = openRunner()
      const { store, manual, give } = opened

      await give([1, { deaths: 4, attempt: 5 }])

      expect([manual.begun.length, store.suspended]).toEqual([1, []])
    })

    test('does not run again after its fifth: its instance is suspended with a report', async () => {
      await using opened = openRunner()
      const { log, store, manual, hints, give } = opened

      await give([1, { id: 'order-1', iid: 31, deaths: 5, attempt: 6 }])

      expect(manual.begun).toEqual([])
      expect(store.suspended).toMatchObject([{ ids: ['order-1'] }])
      expect(values.error(store.suspended[0]!.report)).toMatchObject({
        name: 'PoisonError',
        deaths: 5,
        doing: 'activity "work" as a task',
        message: expect.stringMatching(/^5 runtimes died while running activity "work" as a task;/),
      })
      expect(store.finished).toMatchObject([
        { results: [{ attempt: 6, end: { kind: 'release', delayMs: 3_600_000 } }] },
      ])
      expect(hints).toContainEqual({ iid: 31, owner: null })
      expect(log.at('error')).toEqual(['instance suspended; resume it once the cause is fixed'])
    })

    test('does not block others once its instance is suspended', async () => {
      await using opened = openRunner()
      const { quarantined, give } = opened

      await give([1, { deaths: 5, attempt: 6 }])

      expect(quarantined).toEqual(['over'])
    })
  })

  test('a result that can never be stored is reported as a failure', async () => {
    await using opened = openRunner()
    const { log, store, manual, give, settle } = opened
    store.before = (method) => {
      const [result] = store.finished.at(-1)?.results ?? []
      if (method !== 'finishTasks' || result?.end.kind !== 'completed') return
      throw new StoreError('rejected', 'finishTasks', 'too large')
    }
    await give([1])

    manual.end(0, 'too much')
    await settle()

    const { end } = store.finished.at(-1)!.results[0]!
    expect(values.error((end as { payload: string }).payload)).toMatchObject({
      message: 'its result could not be stored: finishTasks: too large',
    })
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      {
        message: 'could not store the result of a task',
        data: { instanceId: expect.any(String), workflow: expect.any(String), execution: 1 },
      },
    ])
    expect(log.lines.at(-1)!.data).toMatchObject({ activity: expect.any(String), attempt: 1 })
  })
})
