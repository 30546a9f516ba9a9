import { describe, expect, test } from 'vitest'

import { beginWith, testInstance } from '../../../../test/support/executions.ts'
import { memoryLog } from '../../../../test/support/workers.ts'
import { systemClock } from '../../../base/time/clock.ts'
import { StoreClock } from '../../core/store-clock.ts'
import { DEFAULT_LIMITS, LimitGuard } from '../../core/limits.ts'
import { valuesOf } from '../../core/values.ts'
import { HistoryLimit } from './history-limit.ts'
import { silentLog } from '../../../base/log.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Decision } from './commit-writer.ts'
import { TurnLoop, type TurnPolicy, type TurnServices } from './turn-loop.ts'

/** A turn loop whose instances sleep; `decided` is called with what each turn leads to. */
function openTurnLoop(decided: (instance: LiveInstance, decision: Decision) => void = () => {}) {
  const taken: string[] = []
  let slices = 0
  const clock = systemClock()
  const core = {
    clock,
    time: new StoreClock(clock),
    log: memoryLog(),
    values: valuesOf(undefined),
  } as unknown as RuntimeCore
  const services = {
    begin: beginWith(async (ctx) => ctx.sleep('1d')),
    heartbeat: { beginTurn: () => {}, beginFirstTurn: () => {}, endTurn: () => {} },
    committer: { flush: () => void slices++ },
    history: new HistoryLimit(new LimitGuard(DEFAULT_LIMITS, silentLog, () => 0)),
    writer: {
      startOf: () => ({}),
      commit(instance: LiveInstance, decision: Decision) {
        taken.push(instance.id)
        instance.beginCommit()
        decided(instance, decision)
      },
    },
  } as unknown as TurnServices
  const policy: TurnPolicy = { nextAfter: () => ({ kind: 'keep' }) }
  const turns = new TurnLoop(core, services, policy)
  const worker = turns.work()
  return {
    turns,
    taken,
    slices: () => slices,
    idle: async () => {
      while (turns.size > 0 || slices === 0) await new Promise((done) => setImmediate(done))
    },
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

describe('the turn loop', () => {
  test('instances take their turns in the order they became ready', async () => {
    await using opened = openTurnLoop()
    for (const id of ['a', 'b', 'c']) opened.turns.enqueue(testInstance(id))

    await opened.idle()

    expect(opened.taken).toEqual(['a', 'b', 'c'])
    expect(opened.slices()).toBeGreaterThan(0)
  })

  test.each([
    ['ready', (instance: LiveInstance) => instance.makeReady()],
    ['committing', (instance: LiveInstance) => instance.beginCommit()],
    ['released', (instance: LiveInstance) => instance.released()],
    ['gone', (instance: LiveInstance) => instance.leave('evicted', 'it left')],
  ] as const)('an instance that is %s is not queued', async (phase, bring) => {
    await using opened = openTurnLoop()
    const instance = testInstance('a')
    bring(instance)
    expect(instance.phase.is).toBe(phase)
    opened.turns.enqueue(instance)
    opened.turns.enqueue(testInstance('b'))

    await opened.idle()

    expect(opened.taken).toEqual(['b'])
  })

  test('an instance that left while it was queued is skipped', async () => {
    await using opened = openTurnLoop()
    const gone = testInstance('gone')
    opened.turns.enqueue(gone)
    opened.turns.enqueue(testInstance('b'))
    gone.leave('evicted', 'it left')

    await opened.idle()

    expect(opened.taken).toEqual(['b'])
  })

  test('timers and I/O get their turn between many turns', async () => {
    let beats = 0
    const beat = setInterval(() => beats++, 1)
    // Not by the wall clock: a process that gets no core for that long has taken no turns either.
    const begun = process.cpuUsage()
    const isBusyFor100Ms = (): boolean => {
      const { user, system } = process.cpuUsage(begun)
      return user + system >= 100_000
    }
    await using opened = openTurnLoop((instance, { row }) => {
      instance.committed(row, [])
      if (!isBusyFor100Ms()) opened.turns.enqueue(instance)
    })
    opened.turns.enqueue(testInstance('a'))
    opened.turns.enqueue(testInstance('b'))

    await opened.idle()
    clearInterval(beat)

    expect(beats).toBeGreaterThan(5)
    expect(opened.taken.length).toBeGreaterThan(100)
  })
})
