import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sleep, systemClock } from './clock.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'

const MONTH_MS = 30 * 86_400_000

/** Runs a script in a process of its own, with the clock at hand; what it printed. */
async function runChild(script: string): Promise<string> {
  const clockPath = fileURLToPath(new URL('./clock.ts', import.meta.url))
  const source = `import { sleep, systemClock } from ${JSON.stringify(clockPath)}\n${script}`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', source],
    { timeout: 15_000 },
  )
  return stdout
}

describe('the system clock', () => {
  afterEach(() => void vi.useRealTimers())

  test('refuses options it does not know', () => {
    expect(() => systemClock({ unreff: true } as object)).toThrow(
      new TypeError('systemClock: unknown option "unreff", did you mean "unref"?'),
    )
  })

  test('measures time that never goes back', async () => {
    const clock = systemClock()
    const times = [clock.now()]

    for (let i = 0; i < 5; i++) {
      await clock.yield()
      times.push(clock.now())
    }

    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  test('shows the date of the machine', () => {
    const before = Date.now()
    const shown = systemClock().date().getTime()
    const after = Date.now()

    expect(shown).toBeGreaterThanOrEqual(before)
    expect(shown).toBeLessThanOrEqual(after)
  })

  test('fires a timer once, when its time has come', async () => {
    const clock = systemClock()
    const start = clock.now()
    const waited: number[] = []
    clock.after(5, () => waited.push(clock.now() - start))

    await sleep(clock, 20)

    expect(waited).toHaveLength(1)
    // Node counts timers in whole milliseconds, so one may come early by a part of one.
    expect(waited[0]).toBeGreaterThan(4)
  })

  test('does not fire a cancelled timer, and cancelling again is harmless', async () => {
    const clock = systemClock()
    let fired = false
    const timer = clock.after(1, () => (fired = true))

    timer.cancel()
    timer.cancel()
    await sleep(clock, 5)

    expect(fired).toBe(false)
  })

  test('lets what is ready run before a yield ends', async () => {
    const clock = systemClock()
    const seen: string[] = []
    setImmediate(() => seen.push('immediate'))
    process.nextTick(() => seen.push('tick'))
    queueMicrotask(() => seen.push('microtask'))

    await clock.yield()

    expect(seen.toSorted()).toEqual(['immediate', 'microtask', 'tick'])
  })

  test.each([2 ** 31 - 1, 2 ** 31, 3 * 2 ** 31, Number.MAX_SAFE_INTEGER, Infinity])(
    'does not fire a timer of %d ms at once',
    async (ms) => {
      const clock = systemClock()
      let fired = false
      const timer = clock.after(ms, () => (fired = true))

      await sleep(clock, 5)
      timer.cancel()

      expect(fired).toBe(false)
    },
  )

  // A test cannot wait for months: here only Node's timers run on Vitest's time.
  test('fires a timer that Node itself could not hold at its time', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let fired = 0
    systemClock().after(3 * MONTH_MS, () => fired++)

    vi.advanceTimersByTime(3 * MONTH_MS - 1)
    expect(fired).toBe(0)
    vi.advanceTimersByTime(1)

    expect(fired).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('cancels a timer that Node itself could not hold, also in a later piece of it', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let fired = false
    const timer = systemClock().after(3 * MONTH_MS, () => (fired = true))

    vi.advanceTimersByTime(2 * MONTH_MS)
    timer.cancel()

    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(2 * MONTH_MS)
    expect(fired).toBe(false)
  })

  test('keeps the process alive for timers that are set, and with unref not even for those', async () => {
    const [alive, ended] = await Promise.all([
      runChild(`systemClock().after(20, () => console.log('fired'))`),
      runChild(`
        const clock = systemClock()
        clock.after(60_000, () => console.log('fired')).cancel()
        clock.after(2 ** 40, () => console.log('fired')).cancel()
        const controller = new AbortController()
        sleep(clock, 60_000, controller.signal).catch(() => console.log('aborted'))
        controller.abort()
        const unref = systemClock({ unref: true })
        for (const ms of [60_000, 2 ** 40]) unref.after(ms, () => console.log('fired'))
      `),
    ])

    expect(alive).toBe('fired\n')
    expect(ended).toBe('aborted\n')
  })
})

describe('a sleep', () => {
  test('ends when its time has passed, and leaves no listener', async () => {
    const clock = virtualClock()
    const { signal } = new AbortController()
    let ended = false
    void sleep(clock, 100, signal).then(() => (ended = true))

    await clock.advance(99)
    expect(ended).toBe(false)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await clock.advance(1)

    expect(ended).toBe(true)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('that is aborted rejects with the reason, and leaves no timer and no listener', async () => {
    const clock = virtualClock()
    const controller = new AbortController()
    const reason = new Error('shutting down')
    const sleeping = sleep(clock, 100, controller.signal)

    controller.abort(reason)

    await expect(sleeping).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('that begins aborted rejects at once and sets no timer', async () => {
    const clock = virtualClock()
    const reason = new Error('too late')
    const signal = AbortSignal.abort(reason)

    const sleeping = sleep(clock, 100, signal)

    expect(clock.pending).toBe(0)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await expect(sleeping).rejects.toBe(reason)
  })

  test('that has ended is not touched by a later abort', async () => {
    const clock = virtualClock()
    const controller = new AbortController()
    const sleeping = sleep(clock, 100, controller.signal)

    await clock.advance(100)
    controller.abort()

    await expect(sleeping).resolves.toBeUndefined()
  })

  test('without a signal ends on the system clock', async () => {
    await expect(sleep(systemClock(), 1)).resolves.toBeUndefined()
  })
})
