import { describe, expect, test } from 'vitest'

import { TimeoutError } from '../../base/errors.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { StoreError } from '../../store/store-error.ts'
import { pollUntil } from './poll.ts'
import { Waits } from './waits.ts'

/** Something that is looked for, with the times of the looks. */
function poll(clock: ReturnType<typeof virtualClock>, isNotified = false) {
  const looks: number[] = []
  const found: { value?: string } = {}
  return {
    looks,
    found,
    wakeUp: new PermitNotify(),
    isNotified: () => isNotified,
    async look() {
      looks.push(clock.now())
      return found.value
    },
  }
}

describe('looking for something', () => {
  test('begins at once and slows down to one look a second', async () => {
    const clock = virtualClock()
    const target = poll(clock)

    const looking = pollUntil(clock, target, undefined)
    await clock.advance('5s')
    target.found.value = 'here'

    expect(await clock.until(looking)).toBe('here')
    expect(target.looks.slice(0, 4)).toEqual([0, 10, 30, 70])
    expect(target.looks.at(-1)! - target.looks.at(-2)!).toBe(1_000)
    expect(clock.pending).toBe(0)
  })

  test('a hint brings the next look forward', async () => {
    const clock = virtualClock()
    const target = poll(clock)
    const looking = pollUntil(clock, target, undefined)
    await clock.advance('5s')

    target.found.value = 'here'
    target.wakeUp.notifyOne()

    expect(await looking).toBe('here')
    expect(target.looks.at(-1)).toBe(5_000)
  })

  test('a change that is certain to be announced is not polled for', async () => {
    const clock = virtualClock()
    const target = poll(clock, true)

    const looking = pollUntil(clock, target, undefined)
    await clock.advance('1h')
    const before = target.looks.length
    target.found.value = 'here'
    target.wakeUp.notifyOne()

    expect(before).toBe(1)
    expect(await looking).toBe('here')
  })

  test('where hints arrive, polling only makes up for lost ones', async () => {
    const clock = virtualClock()
    const target = { ...poll(clock), isHinted: () => true }

    void pollUntil(clock, target, undefined).catch(() => {})
    await clock.advance('36s')

    expect(target.looks).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 35_000])
  })

  test('when hints stop arriving, polling becomes frequent again', async () => {
    const clock = virtualClock()
    let isHinted = true
    const target = { ...poll(clock), isHinted: () => isHinted }
    void pollUntil(clock, target, undefined).catch(() => {})
    await clock.advance('20s')

    isHinted = false
    target.looks.length = 0
    await clock.advance('10s')

    expect(target.looks).toEqual([25_000, 26_000, 27_000, 28_000, 29_000, 30_000])
  })

  test('a store that cannot answer at the moment is asked again', async () => {
    const clock = virtualClock()
    const answers = [new StoreError('busy', 'look', 'locked'), undefined, 'here']
    const look = async (): Promise<string | undefined> => {
      const awaitReply = answers.shift()
      if (awaitReply instanceof Error) throw awaitReply
      return awaitReply
    }

    const looking = pollUntil(clock, { look, wakeUp: new PermitNotify() }, undefined)

    expect(await clock.until(looking)).toBe('here')
  })

  test('a store that is closed ends it', async () => {
    const clock = virtualClock()
    const closed = new StoreError('closed', 'look', 'the store was closed')
    const look = (): Promise<undefined> => Promise.reject(closed)

    const looking = pollUntil(clock, { look, wakeUp: new PermitNotify() }, undefined)

    await expect(looking).rejects.toThrow('the store was closed')
  })

  test('a signal ends it, even when it aborts during a look, and leaves no timer', async () => {
    const clock = virtualClock()
    const reason = new Error('enough')
    const before = new AbortController()
    const during = new AbortController()
    const target = poll(clock)

    const first = pollUntil(clock, target, before.signal)
    await clock.advance('1s')
    before.abort(reason)
    const look = async (): Promise<undefined> => {
      during.abort(reason)
    }
    const second = pollUntil(clock, { look, wakeUp: new PermitNotify() }, during.signal)

    await expect(first).rejects.toBe(reason)
    await expect(second).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
  })
})

describe('a limit of time', () => {
  test('rejects what takes longer, with the verb and the time', async () => {
    const clock = virtualClock()
    const wait = { timeout: 50, signal: undefined }

    const late = new Waits(clock).within('result', wait, (signal) =>
      pollUntil(clock, poll(clock), signal),
    )

    await expect(clock.until(late)).rejects.toThrow(
      new TimeoutError('result took longer than 50 ms', 50),
    )
    expect(clock.pending).toBe(0)
  })

  test('leaves no timer behind what is done in time', async () => {
    const clock = virtualClock()
    const wait = { timeout: 50, signal: new AbortController().signal }

    expect(await new Waits(clock).within('result', wait, () => Promise.resolve('done'))).toBe(
      'done',
    )
    expect(clock.pending).toBe(0)
  })
})
