import { describe, expect, test } from 'vitest'

import { testCopy } from '../../../../test/support/executions.ts'
import { memoryLog } from '../../../../test/support/workers.ts'
import { systemClock } from '../../../base/time/clock.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { TurnLoop } from './turn-loop.ts'

/** A turner whose turns do what they are told. */
function openTurner(turn: (instance: LiveInstance) => Promise<void> = async () => {}) {
  const taken: string[] = []
  let slices = 0
  const turnLoop = new TurnLoop({
    clock: systemClock(),
    log: memoryLog(),
    *turn(instance) {
      taken.push(instance.id)
      yield turn(instance)
    },
    turnsTaken: () => void slices++,
  })
  const worker = turnLoop.work()
  return {
    turnLoop,
    taken,
    slices: () => slices,
    idle: async () => {
      while (turnLoop.size > 0 || slices === 0) await new Promise((done) => setImmediate(done))
    },
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

describe('the turner', () => {
  test('copies have their turns in the order they became ready', async () => {
    await using opened = openTurner()
    for (const id of ['a', 'b', 'c']) opened.turnLoop.enqueue(testCopy(id))

    await opened.idle()

    expect(opened.taken).toEqual(['a', 'b', 'c'])
    expect(opened.slices()).toBeGreaterThan(0)
  })

  test.each(['ready', 'committing', 'released', 'gone'] as const)(
    'one that is %s is not put in line',
    async (state) => {
      await using opened = openTurner()
      const instance = testCopy('a')
      instance.state = state
      opened.turnLoop.enqueue(instance)
      opened.turnLoop.enqueue(testCopy('b'))

      await opened.idle()

      expect(opened.taken).toEqual(['b'])
    },
  )

  test('one that went away while it stood in line is passed over', async () => {
    await using opened = openTurner()
    const gone = testCopy('gone')
    opened.turnLoop.enqueue(gone)
    opened.turnLoop.enqueue(testCopy('b'))
    gone.state = 'gone'

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
    await using opened = openTurner(async (instance) => {
      instance.state = 'resting'
      if (!isBusyFor100Ms()) opened.turnLoop.enqueue(instance)
    })
    opened.turnLoop.enqueue(testCopy('a'))
    opened.turnLoop.enqueue(testCopy('b'))

    await opened.idle()
    clearInterval(beat)

    expect(beats).toBeGreaterThan(5)
    expect(opened.taken.length).toBeGreaterThan(100)
  })
})
