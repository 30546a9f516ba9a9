import { expect, test } from 'vitest'

import { memoryLog } from '../../../../test/support/workers.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { remover } from './remover.ts'

function scene(answers: readonly (boolean | Error)[]) {
  const clock = virtualClock()
  const asked: number[] = []
  const left = [...answers]
  const removeExpired = async (): Promise<boolean> => {
    asked.push(clock.now())
    const answer = left.shift() ?? false
    if (answer instanceof Error) throw answer
    return answer
  }
  const store = { removeExpired } as unknown as WorkflowStore
  return { clock, asked, parts: { store, clock, log: memoryLog() } }
}

test('without a retention there is no loop, and no call of the store', () => {
  expect(remover(scene([]).parts, [])).toEqual([])
})

test('removal runs at intervals, and again at once while there is more', async () => {
  const { clock, asked, parts } = scene([true, true, false])
  const [worker] = remover(parts, [3_600_000, 240_000])

  await clock.advance(60_000)
  await clock.advance(60_000)
  await worker!.stop()

  expect(asked.map((ms) => Math.round(ms / 1_000))).toEqual([60, 60, 60, 120])
})

test('a short retention is checked more often, but not without pause', async () => {
  const { clock, asked, parts } = scene([])
  const [worker] = remover(parts, [0])

  await clock.advance(3_000)
  await worker!.stop()

  expect(asked).toHaveLength(3)
})

test('a removal that fails is retried', async () => {
  const { clock, asked, parts } = scene([new Error('no connection')])
  const [worker] = remover(parts, [4_000])

  await clock.advance(5_000)
  await worker!.stop()

  expect(asked.length).toBeGreaterThan(1)
})
