import { getEventListeners } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { notify, PermitNotify, type Sleeper } from './notify.ts'
import type { Place } from './waiters.ts'

/** Lets everything that is settled be seen. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Waits under a name, and writes it down when woken. */
function waitAs(name: string, at: { wait(): Promise<void> }, woken: string[]): void {
  void at.wait().then(() => woken.push(name))
}

describe('one wake-up', () => {
  test('goes to the longest waiter', async () => {
    const bell = notify()
    const woken: string[] = []
    for (const name of ['a', 'b', 'c']) waitAs(name, bell, woken)

    bell.notifyOne()
    await settled()
    expect(woken).toEqual(['a'])
    bell.notifyOne()
    bell.notifyOne()
    await settled()

    expect(woken).toEqual(['a', 'b', 'c'])
  })

  test('without a waiter is kept for the next wait', async () => {
    const bell = notify()

    bell.notifyOne()

    await expect(bell.wait()).resolves.toBeUndefined()
  })

  test('is kept once, however often there is no waiter', async () => {
    const bell = notify()
    const woken: string[] = []
    for (let i = 0; i < 5; i++) bell.notifyOne()

    waitAs('a', bell, woken)
    waitAs('b', bell, woken)
    await settled()

    expect(woken).toEqual(['a'])
  })

  test('that was given to a waiter is not kept as well', async () => {
    const bell = notify()
    const woken: string[] = []
    waitAs('a', bell, woken)
    bell.notifyOne()
    await settled()

    waitAs('b', bell, woken)
    await settled()

    expect(woken).toEqual(['a'])
  })

  test('goes to the next in line when the first has given up', async () => {
    const bell = notify()
    const controller = new AbortController()
    const woken: string[] = []
    const gone = bell.wait(controller.signal)
    waitAs('b', bell, woken)

    controller.abort(new Error('gone'))
    bell.notifyOne()

    await expect(gone).rejects.toThrow('gone')
    expect(woken).toEqual(['b'])
  })

  test('is kept when the only waiter has given up', async () => {
    const bell = notify()
    const controller = new AbortController()
    const gone = bell.wait(controller.signal)

    controller.abort(new Error('gone'))
    bell.notifyOne()

    await expect(gone).rejects.toThrow('gone')
    await expect(bell.wait()).resolves.toBeUndefined()
  })
})

describe('waking all', () => {
  test('wakes all current waiters, in order, and keeps nothing', async () => {
    const bell = notify()
    const woken: string[] = []
    waitAs('a', bell, woken)
    waitAs('b', bell, woken)

    bell.notifyAll()
    waitAs('late', bell, woken)
    await settled()

    expect(woken).toEqual(['a', 'b'])
  })

  test('without a waiter leaves a kept wake-up as it is', async () => {
    const bell = new PermitNotify()

    bell.notifyAll()
    expect(bell.takePermit()).toBe(false)
    bell.notifyOne()
    bell.notifyAll()

    expect(bell.takePermit()).toBe(true)
    expect(bell.takePermit()).toBe(false)
  })

  test('wakes a sleeper that gets in line again only once', () => {
    const bell = new PermitNotify()
    let woken = 0
    const sleeper: Sleeper = {
      wake() {
        woken++
        bell.join(sleeper)
      },
    }
    bell.join(sleeper)

    bell.notifyAll()

    expect(woken).toBe(1)
  })
})

describe('an abort', () => {
  test('ends a wait with its reason and leaves no listener', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const waiting = notify().wait(controller.signal)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)

    controller.abort(reason)

    await expect(waiting).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('that came before refuses the wait and leaves a kept wake-up', async () => {
    const bell = new PermitNotify()
    const signal = AbortSignal.abort(new Error('stop'))
    bell.notifyOne()

    await expect(bell.wait(signal)).rejects.toThrow('stop')
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(bell.takePermit()).toBe(true)
  })

  test('that comes after the wake-up changes nothing', async () => {
    const bell = new PermitNotify()
    const controller = new AbortController()
    const waiting = bell.wait(controller.signal)

    bell.notifyOne()
    controller.abort()

    await expect(waiting).resolves.toBeUndefined()
    expect(bell.takePermit()).toBe(false)
  })

  test.each(['notifyOne', 'notifyAll'] as const)(
    'finds no listener when %s has ended the wait',
    (wakeBy) => {
      const bell = notify()
      const { signal } = new AbortController()
      void bell.wait(signal)

      bell[wakeBy]()

      expect(getEventListeners(signal, 'abort')).toEqual([])
    },
  )

  test('finds no listener when a kept wake-up was taken', async () => {
    const bell = notify()
    const { signal } = new AbortController()
    bell.notifyOne()

    await bell.wait(signal)

    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

/**
 * Waits at several notifies, as a worker does: takes a stored permit, or else the first wake-up.
 */
function sleepAt(bells: readonly PermitNotify[], onWake: (by: PermitNotify) => void): () => void {
  const kept = bells.find((bell) => bell.takePermit())
  if (kept !== undefined) {
    onWake(kept)
    return () => {}
  }
  const places: [PermitNotify, Place<Sleeper>][] = []
  const leave = (): void => {
    for (const [bell, place] of places) bell.leave(place)
  }
  const sleeper: Sleeper = {
    wake(by) {
      leave()
      onWake(by)
    },
  }
  for (const bell of bells) places.push([bell, bell.join(sleeper)])
  return leave
}

test('a sleeper that one of its bells has woken uses up no wake-up of the others', () => {
  const [left, right] = [new PermitNotify(), new PermitNotify()]
  const wokenBy: PermitNotify[] = []
  sleepAt([left, right], (by) => wokenBy.push(by))

  right.notifyOne()
  left.notifyOne()

  expect(wokenBy).toEqual([right])
  expect([left.takePermit(), right.takePermit()]).toEqual([true, false])
})

const BELLS = 3
const bellIndex = fc.nat(BELLS - 1)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('one' as const), bell: bellIndex }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('all' as const), bell: bellIndex }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), bell: bellIndex }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('sleep' as const),
      bells: fc.uniqueArray(bellIndex, { minLength: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abort' as const), who: fc.nat() }) },
)

/** The rules again, with plain lists: which waiters wait where, in order, and how each ended. */
class Model {
  readonly permits = Array.from({ length: BELLS }, () => false)
  readonly outcomes: (number | 'aborted' | 'waiting')[] = []
  #line: { who: number; bells: readonly number[] }[] = []

  come(bells: readonly number[]): void {
    const kept = bells.find((bell) => this.permits[bell])
    if (kept === undefined) this.#line.push({ who: this.outcomes.length, bells })
    else this.permits[kept] = false
    this.outcomes.push(kept ?? 'waiting')
  }

  end(who: number | undefined, outcome: number | 'aborted'): void {
    if (who === undefined || this.outcomes[who] !== 'waiting') return
    this.outcomes[who] = outcome
    this.#line = this.#line.filter((waiting) => waiting.who !== who)
  }

  one(bell: number): void {
    const first = this.#line.find(({ bells }) => bells.includes(bell))
    if (first === undefined) this.permits[bell] = true
    else this.end(first.who, bell)
  }

  all(bell: number): void {
    for (const { who, bells } of this.#line) if (bells.includes(bell)) this.end(who, bell)
  }
}

test('any sequence of waits, wake-ups and aborts matches the model', async () => {
  // The steps of a group follow each other at once: wake-ups and aborts race there.
  const groups = fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(groups, async (all) => {
      const bells = Array.from({ length: BELLS }, () => new PermitNotify())
      const model = new Model()
      const outcomes: Model['outcomes'] = []
      const giveUp: (() => void)[] = []
      const signals: (AbortSignal | undefined)[] = []

      for (const group of all) {
        for (const now of group) {
          const who = outcomes.length
          if (now.kind === 'one') {
            bells[now.bell]!.notifyOne()
            model.one(now.bell)
          } else if (now.kind === 'all') {
            bells[now.bell]!.notifyAll()
            model.all(now.bell)
          } else if (now.kind === 'wait') {
            const controller = new AbortController()
            outcomes.push('waiting')
            signals.push(controller.signal)
            giveUp.push(() => controller.abort())
            bells[now.bell]!.wait(controller.signal).then(
              () => (outcomes[who] = now.bell),
              () => (outcomes[who] = 'aborted'),
            )
            model.come([now.bell])
          } else if (now.kind === 'sleep') {
            const at = now.bells.map((bell) => bells[bell]!)
            outcomes.push('waiting')
            signals.push(undefined)
            const leave = sleepAt(at, (by) => (outcomes[who] = bells.indexOf(by)))
            giveUp.push(() => {
              leave()
              if (outcomes[who] === 'waiting') outcomes[who] = 'aborted'
            })
            model.come(now.bells)
          } else if (who > 0) {
            giveUp[now.who % who]!()
            model.end(now.who % who, 'aborted')
          }
        }
        await settled()
        expect(outcomes).toEqual(model.outcomes)
      }

      for (const [who, signal] of signals.entries()) {
        const left = signal === undefined ? 0 : getEventListeners(signal, 'abort').length
        expect(left).toBe(signal && model.outcomes[who] === 'waiting' ? 1 : 0)
      }
      expect(bells.map((bell) => bell.takePermit())).toEqual(model.permits)
    }),
    { numRuns: 150 },
  )
})
