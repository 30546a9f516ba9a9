import { describe, expect, test } from 'vitest'

import { FakeTaskStore } from '../../../../test/tasks/fake-task-store.ts'
import { testCore } from '../../../../test/support/runtime-core.ts'
import { openWorkers } from '../../../../test/support/workers.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { TaskResult, TaskVerdict } from '../../../store/tasks.ts'
import { TaskResults } from './task-results.ts'

const TASK = {
  keys: { instanceId: 'i', workflow: 'w', execution: 1, activity: 'a', attempt: 1 },
}

/** Results on virtual time, on their way to a store that remembers them. */
function openResults() {
  const workers = openWorkers()
  const { clock, log } = workers
  const store = new FakeTaskStore()
  const verdicts: [command: number, TaskVerdict['verdict']][] = []
  const unstorable: unknown[] = []
  const results = new TaskResults(testCore(clock, { log, store }), {
    finished: ({ command }, { verdict }) => void verdicts.push([command, verdict]),
    unstorable: (runtime, { command }, _, { message }) =>
      void unstorable.push([runtime, command, message]),
  })
  workers.keep(results.work())
  return {
    clock,
    store,
    results,
    verdicts,
    unstorable,
    add: (command: number, runtime = 1, payload = '1') =>
      results.add(runtime, resultOf(command, payload), TASK),
    /** Numbers and commands of each call. */
    sent: () =>
      store.finished.map(({ runtime, results: batch }) => ({
        runtime,
        commands: batch.map(({ command }) => command),
      })),
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  }
}

function resultOf(command: number, payload: string): TaskResult {
  const end = { kind: 'completed', payload } as const
  return { iid: 1, execution: 1, command, token: 1, attempt: 1, end }
}

describe('results of tasks', () => {
  test('all results go in one call, and the watcher learns the verdict on each', async () => {
    await using opened = openResults()
    const { clock, store, results, verdicts, add, sent } = opened
    store.verdictOn = ({ command }) => ({ verdict: command === 2 ? 'gone' : 'done', owner: null })

    for (const command of [1, 2, 3]) add(command)
    expect(results.underway).toBe(3)
    await clock.advance(0)

    expect(sent()).toEqual([{ runtime: 1, commands: [1, 2, 3] }])
    expect(verdicts).toEqual([
      [1, 'done'],
      [2, 'gone'],
      [3, 'done'],
    ])
    expect(results.underway).toBe(0)
  })

  test('results that come while a call is under way go in the next one', async () => {
    await using opened = openResults()
    const { clock, store, results, add, sent } = opened
    let arrive!: () => void
    store.before = () => new Promise((resolve) => (arrive = resolve))
    add(1)
    await clock.advance(0)

    add(2)
    add(3)
    expect(results.underway).toBe(3)
    store.before = () => {}
    arrive()
    await clock.advance(0)

    expect(sent().map(({ commands }) => commands)).toEqual([[1], [2, 3]])
    expect(results.underway).toBe(0)
  })

  test('each goes under the number of the runtime that owned its task', async () => {
    await using opened = openResults()
    const { clock, add, sent } = opened

    add(1, 4)
    add(2, 4)
    add(3, 5)
    add(4, 4)
    await clock.advance(0)

    expect(sent()).toEqual([
      { runtime: 4, commands: [1, 2] },
      { runtime: 5, commands: [3] },
      { runtime: 4, commands: [4] },
    ])
  })

  test('results that could not be stored are sent again, in the same order', async () => {
    await using opened = openResults()
    const { clock, store, results, verdicts, add, sent } = opened
    let failures = 0
    store.before = () => {
      if (++failures <= 3) throw new StoreError('connection_lost', 'finishTasks', 'gone')
    }
    add(1)
    add(2)
    await clock.advance(0)
    add(3)
    expect(results.underway).toBe(3)

    await clock.advance(60_000)

    expect(sent().map(({ commands }) => commands)).toEqual([
      [1, 2],
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ])
    expect(verdicts.map(([command]) => command)).toEqual([1, 2, 3])
  })

  test('a call has at most five hundred results', async () => {
    await using opened = openResults()
    const { clock, add, sent } = opened

    for (let command = 1; command <= 1_100; command++) add(command)
    await clock.advance(0)

    expect(sent().map(({ commands }) => commands.length)).toEqual([500, 500, 100])
  })

  test('large results are sent in calls of their own', async () => {
    await using opened = openResults()
    const { clock, add, sent } = opened
    const large = 'x'.repeat(1 << 20)

    add(1)
    add(2, 1, large)
    add(3, 1, large)
    add(4)
    await clock.advance(0)

    expect(sent().map(({ commands }) => commands)).toEqual([[1], [2], [3], [4]])
  })

  test.each([1, 2, 3, 4, 5])(
    'a result that can never be stored does not block the others (%i)',
    async (bad) => {
      await using opened = openResults()
      const { clock, store, results, verdicts, unstorable, add } = opened
      store.before = () => {
        const { results: batch } = store.finished.at(-1)!
        if (!batch.some(({ command }) => command === bad)) return
        throw new StoreError('rejected', 'finishTasks', 'too large')
      }

      for (const command of [1, 2, 3, 4, 5]) add(command, 4)
      await clock.advance(0)

      const others = [1, 2, 3, 4, 5].filter((command) => command !== bad)
      expect(verdicts.map(([command]) => command)).toEqual(others)
      expect(unstorable).toEqual([[4, bad, 'finishTasks: too large']])
      expect(results.underway).toBe(0)
    },
  )

  test('a connection lost during the search for a bad result repeats only what was not sent', async () => {
    await using opened = openResults()
    const { clock, store, verdicts, unstorable, add } = opened
    let cuts = 0
    store.before = () => {
      const { results: batch } = store.finished.at(-1)!
      if (batch.some(({ command }) => command === 1)) {
        throw new StoreError('rejected', 'finishTasks', 'too large')
      }
      if (cuts++ === 0) throw new StoreError('connection_lost', 'finishTasks', 'gone')
    }

    for (const command of [1, 2, 3, 4]) add(command)
    await clock.advance(60_000)

    expect(verdicts.map(([command]) => command)).toEqual([2, 3, 4])
    expect(unstorable).toHaveLength(1)
  })
})
