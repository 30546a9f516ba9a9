import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Timer } from '../base/time/clock.ts'
import { virtualClock } from './virtual-clock.ts'

const HOUR_MS = 3_600_000

test('time does not advance by itself', async () => {
  const clock = virtualClock()
  let fired = false
  clock.after(0, () => (fired = true))

  await new Promise((resolve) => setTimeout(resolve, 5))

  expect(clock.now()).toBe(0)
  expect(fired).toBe(false)
  expect(clock.pending).toBe(1)
})

test('the date begins where it is set and moves with the time', async () => {
  const clock = virtualClock({ start: new Date('2024-02-29T23:59:59Z') })
  const usual = virtualClock()

  await clock.advance('1s')

  expect(clock.date()).toEqual(new Date('2024-03-01T00:00:00Z'))
  expect(usual.date()).toEqual(new Date('2030-01-01T00:00:00Z'))
})

describe('advancing', () => {
  test('fires what falls due, in the order of time', async () => {
    const clock = virtualClock()
    const fired: number[] = []
    for (const ms of [30, 10, 20, 31]) clock.after(ms, () => fired.push(ms))

    await clock.advance(30)

    expect(fired).toEqual([10, 20, 30])
    expect(clock.now()).toBe(30)
    expect(clock.pending).toBe(1)
  })

  test('fires the timers of one instant in the order they were set', async () => {
    const clock = virtualClock()
    const fired: string[] = []
    clock.after(10, () => fired.push('a'))
    clock.after(10, () => fired.push('b'))
    await clock.advance(5)
    clock.after(5, () => fired.push('c'))

    await clock.advance(5)

    expect(fired).toEqual(['a', 'b', 'c'])
  })

  test('shows each timer the time it was set for', async () => {
    const clock = virtualClock()
    const seen: number[] = []
    for (const ms of [5, 0.5, 40]) clock.after(ms, () => seen.push(clock.now()))

    await clock.advance(100)

    expect(seen).toEqual([0.5, 5, 40])
    expect(clock.now()).toBe(100)
  })

  test('runs everything that a timer causes before the next one fires', async () => {
    const clock = virtualClock()
    const seen: string[] = []
    clock.after(10, () => {
      process.nextTick(async () => {
        for (let i = 0; i < 50; i++) await Promise.resolve()
        await new Promise<void>((resolve) => process.nextTick(resolve))
        for (let i = 0; i < 50; i++) await new Promise<void>((resolve) => process.nextTick(resolve))
        seen.push(`first ends at ${clock.now()}`)
      })
    })
    clock.after(10, () => seen.push('second'))
    clock.after(11, () => seen.push('third'))

    await clock.advance(20)

    expect(seen).toEqual(['first ends at 10', 'second', 'third'])
  })

  test('runs what is ready before the first timer, and fires what that sets', async () => {
    const clock = virtualClock()
    const seen: string[] = []
    clock.after(1, () => seen.push('one'))
    void Promise.resolve().then(() => clock.after(0, () => seen.push('zero')))

    await clock.advance(1)

    expect(seen).toEqual(['zero', 'one'])
  })

  test('fires timers that timers set, while they fall within the time', async () => {
    const clock = virtualClock()
    const seen: number[] = []
    const again = (): void => {
      seen.push(clock.now())
      clock.after(10, again)
    }
    clock.after(10, again)

    await clock.advance('45ms')

    expect(seen).toEqual([10, 20, 30, 40])
    expect(clock.pending).toBe(1)
  })

  test('does not fire a cancelled timer, and cancelling again is harmless', async () => {
    const clock = virtualClock()
    const fired: string[] = []
    const a = clock.after(10, () => fired.push('a'))
    const b = clock.after(10, () => {
      fired.push('b')
      c.cancel()
    })
    const c = clock.after(10, () => fired.push('c'))

    a.cancel()
    a.cancel()
    await clock.advance(10)
    b.cancel()

    expect(fired).toEqual(['b'])
    expect(clock.pending).toBe(0)
  })

  test('takes a negative time as now', async () => {
    const clock = virtualClock()
    await clock.advance(50)
    let firedAt: number | undefined
    clock.after(-20, () => (firedAt = clock.now()))

    await clock.advance(0)

    expect(firedAt).toBe(50)
  })

  test('ends a yield after what was set before it', async () => {
    const clock = virtualClock()
    const seen: string[] = []
    clock.after(0, () => seen.push('timer'))
    void clock.yield().then(() => seen.push('yield'))
    clock.after(0, () => seen.push('later timer'))

    await clock.advance(0)

    expect(seen).toEqual(['timer', 'yield', 'later timer'])
  })

  test('by a bad duration is refused', async () => {
    const clock = virtualClock()

    await expect(async () => clock.advance(-1)).rejects.toThrow('virtual clock: advance must be')
    await expect(async () => clock.advance(NaN)).rejects.toThrow('virtual clock: advance must be')
  })

  test('while it is already being advanced is refused, and the earlier call continues', async () => {
    const clock = virtualClock()

    const first = clock.advance(10)

    await expect(clock.advance(10)).rejects.toThrow('it is already being advanced')
    await expect(clock.until(Promise.resolve())).rejects.toThrow('it is already being advanced')
    await first
    expect(clock.now()).toBe(10)
  })

  test('rejects with what a timer throws, and can continue from there', async () => {
    const clock = virtualClock()
    let fired = false
    clock.after(10, () => {
      throw new Error('boom')
    })
    clock.after(20, () => (fired = true))

    await expect(clock.advance(50)).rejects.toThrow('boom')
    expect(clock.now()).toBe(10)
    await clock.advance(10)

    expect(fired).toBe(true)
  })

  test('stops with an error when time never advances', async () => {
    const clock = virtualClock()
    const again = (): void => void clock.after(0, again)
    clock.after(5, again)

    await expect(clock.advance(10)).rejects.toThrow(
      'virtual clock: 10000 timers were set at 5 ms for that instant, and time does not advance',
    )
    expect(clock.now()).toBe(5)
  })

  test('lets any number of timers that were set before fall due together', async () => {
    const clock = virtualClock()
    let fired = 0
    for (let i = 0; i < 10_001; i++) clock.after(5, () => fired++)

    await clock.advance(5)

    expect(fired).toBe(10_001)
  })
})

describe('waiting for a promise', () => {
  test('moves from timer to timer until it settles, and no further', async () => {
    const clock = virtualClock()
    const promise = new Promise<string>((resolve) => {
      clock.after(HOUR_MS, () => clock.after(2 * HOUR_MS, () => resolve('done')))
    })
    clock.after(4 * HOUR_MS, () => {})

    await expect(clock.until(promise)).resolves.toBe('done')
    expect(clock.now()).toBe(3 * HOUR_MS)
    expect(clock.pending).toBe(1)
  })

  test('does not move when it is settled already', async () => {
    const clock = virtualClock()
    clock.after(10, () => {})

    await expect(clock.until(Promise.resolve(7))).resolves.toBe(7)
    expect(clock.now()).toBe(0)
  })

  test('rejects with its error', async () => {
    const clock = virtualClock()
    const promise = new Promise((_, reject) => clock.after(10, () => reject(new Error('no'))))

    await expect(clock.until(promise)).rejects.toThrow('no')
    expect(clock.now()).toBe(10)
  })

  test('rejects when no timer is left that could settle it', async () => {
    const clock = virtualClock()
    clock.after(10, () => {})

    await expect(clock.until(new Promise(() => {}))).rejects.toThrow(
      'virtual clock: no timer is set and the promise is still pending',
    )
  })

  test('rejects when more than the given time would pass', async () => {
    const clock = virtualClock()
    await clock.advance(100)
    const promise = new Promise<void>((resolve) => clock.after(51, resolve))

    await expect(clock.until(promise, { within: 50 })).rejects.toThrow(
      'virtual clock: the promise is still pending at 150 ms',
    )
    await clock.until(promise, { within: 51 })

    expect(clock.now()).toBe(151)
  })

  test('rejects when its only timer never falls due', async () => {
    const clock = virtualClock()
    const promise = new Promise<void>((resolve) => clock.after(Infinity, resolve))

    await expect(clock.until(promise)).rejects.toThrow('the promise is still pending')
  })
})

// A timer of the model: set by the start (-1) or by another timer that fires, and when it fires
// itself it may cancel any timer. What it does may begin some microtasks or ticks late.
const anyTimer = fc.record({
  setBy: fc.integer({ min: -1, max: 9 }),
  ms: fc.nat(6),
  cancels: fc.option(fc.nat(9), { nil: undefined }),
  late: fc.constantFrom('not', 'microtasks', 'ticks'),
})

test('timers that set and cancel timers fire in the order of the model', async () => {
  const timers = fc.array(anyTimer, { minLength: 1, maxLength: 10, size: 'max' })
  const moves = fc.array(fc.nat(8), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(timers, moves, async (all, steps) => {
      // A timer is set only by one before it, so that they come to an end.
      const setBy = (by: number): number[] =>
        all.flatMap((timer, i) => (Math.min(timer.setBy, i - 1) === by ? [i] : []))
      const clock = virtualClock()
      const fired: [number, number][] = []
      const set = new Map<number, Timer>()
      const setAll = (by: number): void => {
        for (const i of setBy(by))
          set.set(
            i,
            clock.after(all[i]!.ms, () => void fire(i)),
          )
      }
      const fire = async (i: number): Promise<void> => {
        const { late, cancels } = all[i]!
        for (let hops = 0; late !== 'not' && hops < 3; hops++) {
          await (late === 'ticks' ? new Promise<void>((go) => process.nextTick(go)) : undefined)
        }
        fired.push([i, clock.now()])
        setAll(i)
        if (cancels !== undefined) set.get(cancels)?.cancel()
      }

      setAll(-1)
      for (const by of steps) await clock.advance(by)
      const moved = steps.reduce((sum, by) => sum + by, 0)

      const expected: [number, number][] = []
      let line = setBy(-1).map((i) => ({ i, at: all[i]!.ms }))
      for (;;) {
        const at = Math.min(...line.map((timer) => timer.at))
        if (at > moved || line.length === 0) break
        const { i } = line.find((timer) => timer.at === at)!
        expected.push([i, at])
        line = line.filter((timer) => timer.i !== i)
        line.push(...setBy(i).map((next) => ({ i: next, at: at + all[next]!.ms })))
        line = line.filter((timer) => timer.i !== all[i]!.cancels)
      }
      expect(fired).toEqual(expected)
      expect(clock.pending).toBe(line.length)
      expect(clock.now()).toBe(moved)
    }),
    { numRuns: 150 },
  )
})

describe('the options of a virtual clock', () => {
  test.each<[object, string]>([
    [{ strat: new Date() }, 'virtual clock: unknown option "strat", did you mean "start"?'],
    [{ start: new Date('soon') }, 'virtual clock: start must be a valid Date, got a Date'],
    [{ start: '2030-01-01' }, 'virtual clock: start must be a valid Date, got "2030-01-01"'],
  ])('are refused when they are %o', (options, message) => {
    expect(() => virtualClock(options)).toThrow(new TypeError(message))
  })

  test('are refused for a wait too', async () => {
    const options = { wihtin: 5 } as object

    await expect(virtualClock().until(Promise.resolve(), options)).rejects.toThrow(
      'virtual clock: until: unknown option "wihtin", did you mean "within"?',
    )
  })
})

test('a virtual clock advances under fake timers of Vitest', async () => {
  const clock = virtualClock()
  let fired = false
  clock.after(5, () => (fired = true))

  vi.useFakeTimers()
  try {
    await clock.advance(10)
  } finally {
    vi.useRealTimers()
  }

  expect(fired).toBe(true)
})
