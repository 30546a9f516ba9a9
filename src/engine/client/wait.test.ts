import { describe, expect, test } from 'vitest'

import { TimeoutError } from '../../base/errors.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { StoreError } from '../../store/store-error.ts'
import { lookUntil } from './wait.ts'
import { Waits } from './waits.ts'

/** Something that is looked for, with the times of the looks. */
function search(clock: ReturnType<typeof virtualClock>, isToldOf = false) {
  const looks: number[] = []
  const found: { value?: string } = {}
  return {
    looks,
    found,
    news: new PermitNotify(),
    isToldOf: () => isToldOf,
    async look() {
      looks.push(clock.now())
      return found.value
    },
  }
}

describe('looking for something', () => {
  test('begins at once and grows rarer, down to one look a second', async () => {
    const clock = virtualClock()
    const sought = search(clock)

    const looking = lookUntil(clock, sought, undefined)
    await clock.advance('5s')
    sought.found.value = 'here'

    expect(await clock.until(looking)).toBe('here')
    expect(sought.looks.slice(0, 4)).toEqual([0, 10, 30, 70])
    expect(sought.looks.at(-1)! - sought.looks.at(-2)!).toBe(1_000)
    expect(clock.pending).toBe(0)
  })

  test('news bring the next look forward', async () => {
    const clock = virtualClock()
    const sought = search(clock)
    const looking = lookUntil(clock, sought, undefined)
    await clock.advance('5s')

    sought.found.value = 'here'
    sought.news.notifyOne()

    expect(await looking).toBe('here')
    expect(sought.looks.at(-1)).toBe(5_000)
  })

  test('what is sure to be told of is not looked for by time', async () => {
    const clock = virtualClock()
    const sought = search(clock, true)

    const looking = lookUntil(clock, sought, undefined)
    await clock.advance('1h')
    const before = sought.looks.length
    sought.found.value = 'here'
    sought.news.notifyOne()

    expect(before).toBe(1)
    expect(await looking).toBe('here')
  })

  test('where hints are heard, looks only make up for lost ones', async () => {
    const clock = virtualClock()
    const sought = { ...search(clock), isHintedAt: () => true }

    void lookUntil(clock, sought, undefined).catch(() => {})
    await clock.advance('36s')

    expect(sought.looks).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 35_000])
  })

  test('when hints stop being heard, looks become frequent again', async () => {
    const clock = virtualClock()
    let hears = true
    const sought = { ...search(clock), isHintedAt: () => hears }
    void lookUntil(clock, sought, undefined).catch(() => {})
    await clock.advance('20s')

    hears = false
    sought.looks.length = 0
    await clock.advance('10s')

    expect(sought.looks).toEqual([25_000, 26_000, 27_000, 28_000, 29_000, 30_000])
  })

  test('a store that cannot answer right now says nothing', async () => {
    const clock = virtualClock()
    const answers = [new StoreError('busy', 'look', 'locked'), undefined, 'here']
    const look = async (): Promise<string | undefined> => {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    }

    const looking = lookUntil(clock, { look, news: new PermitNotify() }, undefined)

    expect(await clock.until(looking)).toBe('here')
  })

  test('a store that is closed ends it', async () => {
    const clock = virtualClock()
    const closed = new StoreError('closed', 'look', 'the store was closed')
    const look = (): Promise<undefined> => Promise.reject(closed)

    const looking = lookUntil(clock, { look, news: new PermitNotify() }, undefined)

    await expect(looking).rejects.toThrow('the store was closed')
  })

  test('a signal ends it, also when it aborts during a look, and leaves no timer', async () => {
    const clock = virtualClock()
    const reason = new Error('enough')
    const before = new AbortController()
    const during = new AbortController()
    const sought = search(clock)

    const first = lookUntil(clock, sought, before.signal)
    await clock.advance('1s')
    before.abort(reason)
    const look = async (): Promise<undefined> => {
      during.abort(reason)
    }
    const second = lookUntil(clock, { look, news: new PermitNotify() }, during.signal)

    await expect(first).rejects.toBe(reason)
    await expect(second).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
  })
})

describe('a limit of time', () => {
  test('ends what takes longer, with the verb and the time', async () => {
    const clock = virtualClock()
    const wait = { timeout: 50, signal: undefined }

    const late = new Waits(clock).within('result', wait, (signal) =>
      lookUntil(clock, search(clock), signal),
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
