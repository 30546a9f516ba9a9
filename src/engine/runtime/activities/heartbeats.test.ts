import { describe, expect, test } from 'vitest'

import { testAttempts, TestCall, testServices } from '../../../../test/tasks/attempts.ts'
import { FakeTaskStore } from '../../../../test/tasks/fake-task-store.ts'
import { testInstance } from '../../../../test/support/executions.ts'
import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { openWorkers } from '../../../../test/support/workers.ts'
import { StoreError } from '../../../store/store-error.ts'
import { mergeActivityOptions } from '../../define/activity-options.ts'
import { activity, type ActivityDefinition } from '../../define/definitions.ts'
import { LocalCall } from './local-call.ts'
import type { ActivityCall } from './activity-call.ts'
import type { ActivityWork } from '../../instance/activity-work.ts'
import type { Registration } from '../discover/registration.ts'
import { Heartbeats } from './heartbeats.ts'

const WORK: ActivityWork = {
  name: 'work',
  options: mergeActivityOptions('test', undefined, { heartbeatTimeout: '30s' }),
  input: '"in"',
  definition: activity('work', async () => {}) as unknown as ActivityDefinition,
  step: undefined,
  givenAt: 0,
  limit: null,
}

/** Heartbeats on virtual time, on their way to a store that remembers them. */
function openBeats() {
  const workers = openWorkers()
  const { clock, log } = workers
  const store = new FakeTaskStore()
  const core = testCore(clock, { log, store })
  const services = testAttempts(core)
  const became: ActivityCall[] = []
  const unwanted: ActivityCall[] = []
  const beats = new Heartbeats(core, partOf<Registration>({ number: 5 }))
  beats.reportTo({
    becameTask(call) {
      became.push(call)
      call.task = 'owned'
    },
    unwanted: (call) => void unwanted.push(call),
  })
  workers.keep(beats.work())
  const instance = testInstance('i')
  instance.claimed(3, [], false)
  return {
    clock,
    log,
    store,
    beats,
    instance,
    became,
    unwanted,
    task: (command = 1) => new TestCall(services, { heartbeatTimeoutMs: 30_000 }, 1, command),
    /** An attempt at the owner of its instance. */
    local: (attempt = 1, work = WORK) => {
      const call = new LocalCall(services, instance, 9, work, attempt)
      instance.calls.begin(9, call)
      return call
    },
    /** When something was written, and the details of each. */
    written: () => store.beats.map(({ beats: sent }) => sent.map(({ details }) => details)),
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  }
}

describe('heartbeats', () => {
  test('the first is sent at once, later ones a second after, only the latest of each', async () => {
    await using opened = openBeats()
    const { clock, beats, store, task, written } = opened
    const [one, two] = [task(1), task(2)]

    beats.beat(one, '1')
    await clock.advance(0)
    expect(written()).toEqual([['1']])
    for (let i = 2; i < 100; i++) beats.beat(one, `${i}`)
    beats.beat(two, '"two"')
    await clock.advance(999)
    expect(store.beats).toHaveLength(1)
    await clock.advance(1)

    expect(written()).toEqual([['1'], ['99', '"two"']])
    expect(store.beats.map(({ runtime }) => runtime)).toEqual([5, 5])
  })

  test('nothing is sent while there are no heartbeats', async () => {
    await using opened = openBeats()
    const { clock, beats, store, task } = opened
    beats.beat(task(), '1')

    await clock.advance(60_000)

    expect(store.beats).toHaveLength(1)
  })

  test('a later heartbeat without details keeps the details before it', async () => {
    await using opened = openBeats()
    const { clock, beats, task, written } = opened
    const call = task()
    beats.beat(call, '1')
    await clock.advance(0)

    beats.beat(call, '2')
    beats.beat(call, undefined)
    await clock.advance(1_000)
    beats.beat(call, undefined)
    await clock.advance(1_000)

    expect(written()).toEqual([['1'], ['2'], [null]])
  })

  test('a heartbeat without details and without a timeout is not sent', async () => {
    await using opened = openBeats()
    const { clock, beats, store } = opened
    const call = new TestCall(testServices(clock))
    beats.beat(call, undefined)
    await clock.advance(2_000)
    expect(store.beats).toEqual([])

    beats.beat(call, '1')
    await clock.advance(2_000)

    expect(store.beats[0]!.beats[0]).toMatchObject({ details: '1', silentMs: null, local: null })
  })

  test('the store waits longer for the next heartbeat than the runtime itself does', async () => {
    await using opened = openBeats()
    const { clock, beats, store } = opened
    const call = new TestCall(testServices(clock), { heartbeatTimeoutMs: 50 })

    // Sent every 10 ms, written once a second: no runtime may take the task over in between.
    for (let i = 0; i < 250; i++) {
      beats.beat(call, undefined)
      await clock.advance(10)
    }

    expect(store.beats).toHaveLength(3)
    for (const { beats: told } of store.beats) expect(told[0]!.silentMs).toBeGreaterThan(1_050)
  })

  test('the first one of an activity at the owner of its instance makes it a task', async () => {
    await using opened = openBeats()
    const { clock, beats, store, instance, local, became } = opened
    instance.calls.willRetry(9, { attempts: 1, retryAt: 0 })
    const call = local(2)
    expect(beats.becomesTask(call)).toBeUndefined()

    beats.beat(call, '{"done":1}')
    const becomes = beats.becomesTask(call)
    await clock.advance(0)

    expect(await becomes).toBe(true)
    expect(became).toEqual([call])
    expect(store.beats[0]!.beats).toMatchObject([
      {
        iid: 1,
        execution: 1,
        command: 9,
        attempt: 2,
        details: '{"done":1}',
        local: { epoch: 3, task: { command: 9, activity: 'work', input: '"in"', attempts: 1 } },
      },
    ])
    expect(await beats.becomesTask(call)).toBe(true)
  })

  test('once it is a task, the next ones are ordinary', async () => {
    await using opened = openBeats()
    const { clock, beats, store, local, became } = opened
    const call = local()
    beats.beat(call, '1')
    await clock.advance(1_000)

    beats.beat(call, '2')
    await clock.advance(1_000)

    expect(store.beats[1]!.beats).toMatchObject([{ details: '2', local: null }])
    expect(became).toHaveLength(1)
  })

  test('an activity that is cancelled before its first one is sent does not become a task', async () => {
    await using opened = openBeats()
    const { clock, beats, store, instance, local, task, became } = opened
    beats.beat(task(), '1')
    await clock.advance(0)
    const call = local()
    beats.beat(call, '1')
    const becomes = beats.becomesTask(call)

    instance.calls.end(9)
    await clock.advance(1_000)

    expect(await becomes).toBe(false)
    expect([store.beats.length, became]).toEqual([1, []])
  })

  test('the details of a step are kept for its next attempt, and not sent', async () => {
    await using opened = openBeats()
    const { clock, beats, store, instance, local } = opened
    const step: ActivityWork = { ...WORK, input: undefined, definition: undefined, step: () => 1 }
    const call = local(1, step)

    beats.beat(call, '{"done":1}')
    beats.beat(call, undefined)
    await clock.advance(1_000)

    expect(beats.becomesTask(call)).toBeUndefined()
    expect(store.beats).toEqual([])
    expect(instance.calls.attempt(9)).toBe(call)
    expect(local(2, step).lastHeartbeat).toEqual({ done: 1 })
  })

  test('attempts that the store no longer wants are reported to the watcher', async () => {
    await using opened = openBeats()
    const { clock, beats, store, task, local, became, unwanted } = opened
    store.isWanted = ({ command }) => command === 1
    const [wanted, other, mine] = [task(1), task(2), local()]
    for (const call of [wanted, other, mine]) beats.beat(call, '1')
    const becomes = beats.becomesTask(mine)

    await clock.advance(0)

    expect(unwanted).toEqual([other, mine])
    expect([await becomes, became]).toEqual([false, []])
  })

  test('a heartbeat of an attempt that is no longer wanted is not sent', async () => {
    await using opened = openBeats()
    const { clock, beats, store, task } = opened
    const [one, two] = [task(1), task(2)]
    beats.beat(one, '1')
    await clock.advance(0)

    beats.beat(one, '2')
    beats.beat(two, '2')
    one.wanted = false
    await clock.advance(1_000)

    expect(store.beats[1]!.beats.map(({ command }) => command)).toEqual([2])
  })

  test('a heartbeat that could not be stored is sent again, with the latest details', async () => {
    await using opened = openBeats()
    const { clock, beats, store, task, local, became, written } = opened
    let failing = true
    const [one, mine] = [task(1), local()]
    store.before = () => {
      if (!failing) return
      // Meanwhile it is further.
      beats.beat(one, '2')
      throw new StoreError('connection_lost', 'beat', 'gone')
    }
    beats.beat(one, '1')
    beats.beat(mine, '1')
    const becomes = beats.becomesTask(mine)
    await clock.advance(0)
    failing = false
    await clock.advance(2_000)

    expect(written()).toEqual([
      ['1', '1'],
      ['2', '1'],
    ])
    expect([await becomes, became]).toEqual([true, [mine]])
  })
})
