import { runInNewContext } from 'node:vm'

import { describe, expect, test } from 'vitest'

import { sleep } from '../time/clock.ts'
import { PermitNotify } from './notify.ts'
import { FairSemaphore } from './semaphore.ts'
import { checkSignal } from './signal.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'

const wrong: [unknown, string][] = [
  [null, 'got null'],
  [50, 'got 50'],
  [{ signal: AbortSignal.abort() }, 'got an object'],
  [new EventTarget(), 'got an EventTarget'],
  [new AbortController(), 'got an AbortController; pass its signal'],
]

describe.each(wrong)('%o given as signal', (given, got) => {
  const message = `signal must be an AbortSignal, ${got}`

  test('is refused by a wait, which is not in line for the next wake-up', async () => {
    const bell = new PermitNotify()

    await expect(bell.wait(given as AbortSignal)).rejects.toThrow(
      new TypeError(`notify: wait: ${message}`),
    )

    bell.notifyOne()
    expect(bell.takePermit()).toBe(true)
  })

  test('is refused by a semaphore, with and without a free permit, and takes none', async () => {
    const gate = new FairSemaphore(1)
    const refusal = new TypeError(`semaphore: acquire: ${message}`)

    await expect(gate.acquire(given as AbortSignal)).rejects.toThrow(refusal)
    const held = await gate.acquire()
    await expect(gate.acquire(given as AbortSignal)).rejects.toThrow(refusal)

    held[Symbol.dispose]()
    expect(gate.free).toBe(1)
  })

  test('is refused by a sleep, which sets no timer', async () => {
    const clock = virtualClock()

    await expect(sleep(clock, 100, given as AbortSignal)).rejects.toThrow(
      new TypeError(`sleep: ${message}`),
    )

    expect(clock.pending).toBe(0)
  })
})

test('no signal, or one of another realm, is fine', () => {
  const foreign: unknown = runInNewContext(
    '({ aborted: false, addEventListener() {}, removeEventListener() {} })',
  )

  for (const signal of [undefined, AbortSignal.abort(), foreign]) {
    expect(() => checkSignal(signal, 'wait')).not.toThrow()
  }
})
