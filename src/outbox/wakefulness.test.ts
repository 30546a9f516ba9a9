import { expect, test } from 'vitest'
import { memoryLog } from '../../test/support/workers.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { supervise } from '../workers/supervisor.ts'
import { Wakefulness } from './wakefulness.ts'

/** A process that was notified often, and so is awake. Its looks and announcements are answered as told. */
async function opened({
  look = async () => false,
  stayAwake = async () => {},
}: {
  look?: (isAwake: boolean) => Promise<boolean>
  stayAwake?: () => Promise<void>
} = {}) {
  const clock = virtualClock()
  const log = memoryLog()
  const begunMs = clock.now()
  const store = {
    stayAwake: async (_: unknown, ms: number) => {
      await stayAwake()
      return clock.now() + ms
    },
  }
  const wakefulness: Wakefulness = new Wakefulness({
    store: store as never,
    clock,
    log,
    topics: [1],
    storeNow: () => clock.now(),
    look: () => look(wakefulness.isAwake),
  })
  const supervisor = supervise([wakefulness.worker], { clock, log })
  for (let i = 0; i < 10; i++) wakefulness.notified()
  await clock.advance(0)
  return { clock, wakefulness, supervisor, passedMs: () => clock.now() - begunMs }
}

test('a process without anything to do falls asleep after the time that it announced, and looks once more', async () => {
  const looks: boolean[] = []
  const { clock, wakefulness, supervisor } = await opened({
    look: async (isAwake) => {
      looks.push(isAwake)
      return false
    },
  })

  await clock.advance('990ms')
  const early = [wakefulness.isAwake, looks.length > 100]
  await clock.advance('20s')
  await clock.until(supervisor.stop())

  expect(early).toEqual([true, true])
  expect(wakefulness.isAwake).toBe(false)
  expect(looks.filter((isAwake) => !isAwake)).toHaveLength(1)
})

test('the last look is made again if it fails', async () => {
  let failures = 0
  const ends: string[] = []
  const { clock, supervisor } = await opened({
    look: async (isAwake) => {
      if (isAwake) return false
      if (failures++ < 2) throw new Error('the database does not answer')
      ends.push('looked')
      return false
    },
  })

  await clock.advance('20s')
  await clock.until(supervisor.stop())

  expect(failures).toBe(3)
  expect(ends).toEqual(['looked'])
})

test('a process whose announcement failed stays awake for as long as it may count all the same', async () => {
  let isFailing = true
  const { clock, wakefulness, supervisor } = await opened({
    stayAwake: async () => {
      if (isFailing) throw new Error('the connection was cut')
    },
  })
  isFailing = false

  await clock.advance('900ms')
  const early = wakefulness.isAwake
  await clock.advance('20s')
  await clock.until(supervisor.stop())

  expect([early, wakefulness.isAwake]).toEqual([true, false])
})
