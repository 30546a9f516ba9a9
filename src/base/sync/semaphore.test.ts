import { getEventListeners } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairSemaphore, semaphore } from './semaphore.ts'

/** Lets everything that is settled be seen. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const release = (permit: Disposable): void => permit[Symbol.dispose]()

test.each([-1, 1.5, NaN, Infinity, '3', undefined])(
  'a semaphore of %o permits is refused',
  (permits) => {
    expect(() => semaphore(permits as number)).toThrow(RangeError)
    expect(() => semaphore(permits as number)).toThrow(
      /^semaphore: permits must be a whole number, 0 or more, got /,
    )
  },
)

describe('a permit', () => {
  test('is granted at once while one is free', async () => {
    const gate = semaphore(2)

    await gate.acquire()
    expect(gate.free).toBe(1)
    await gate.acquire()

    expect(gate.free).toBe(0)
  })

  test('is returned when it is disposed of, once', async () => {
    const gate = semaphore(1)
    const permit = await gate.acquire()

    release(permit)
    release(permit)

    expect(gate.free).toBe(1)
  })

  test('is returned at the end of a using block', async () => {
    const gate = semaphore(1)

    {
      using permit = await gate.acquire()
      expect(permit).toBeDefined()
      expect(gate.free).toBe(0)
    }

    expect(gate.free).toBe(1)
  })

  test('goes to waiters in the order they came', async () => {
    const gate = semaphore(1)
    const order: string[] = []
    const first = await gate.acquire()
    const pass = async (name: string): Promise<void> => {
      using permit = await gate.acquire()
      if (permit) order.push(name)
    }
    const passes = ['a', 'b', 'c'].map(pass)

    release(first)
    await Promise.all(passes)

    expect(order).toEqual(['a', 'b', 'c'])
    expect(gate.free).toBe(1)
  })

  test('that is handed on cannot be taken by a later waiter', async () => {
    const gate = new FairSemaphore(1)
    const first = await gate.acquire()
    const waiting = gate.acquire()

    release(first)

    expect(gate.tryAcquire()).toBeUndefined()
    expect(gate.free).toBe(0)
    release(await waiting)
    expect(gate.free).toBe(1)
  })

  test('that was disposed of twice is not given to two', async () => {
    const gate = semaphore(1)
    const first = await gate.acquire()
    let given = 0
    for (let i = 0; i < 2; i++) void gate.acquire().then(() => given++)

    release(first)
    release(first)
    await settled()

    expect(given).toBe(1)
  })

  test('is never given by a semaphore of none', async () => {
    const gate = semaphore(0)
    let given = false
    void gate.acquire().then(() => (given = true))

    await settled()

    expect(given).toBe(false)
    expect(gate.free).toBe(0)
  })
})

describe('an abort', () => {
  test('ends the wait with its reason, and the next in line moves up', async () => {
    const gate = semaphore(1)
    const controller = new AbortController()
    const reason = new Error('gone')
    const first = await gate.acquire()
    const gone = gate.acquire(controller.signal)
    const next = gate.acquire()

    controller.abort(reason)
    release(first)

    await expect(gone).rejects.toBe(reason)
    release(await next)
    expect(gate.free).toBe(1)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('that came before refuses, although a permit is free', async () => {
    const gate = semaphore(1)
    const signal = AbortSignal.abort(new Error('too late'))

    await expect(gate.acquire(signal)).rejects.toThrow('too late')
    expect(gate.free).toBe(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('that comes after the permit was given does not lose it', async () => {
    const gate = semaphore(1)
    const controller = new AbortController()
    const first = await gate.acquire()
    const waiting = gate.acquire(controller.signal)

    release(first)
    controller.abort()

    release(await waiting)
    expect(gate.free).toBe(1)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('finds no listener when a permit was free', async () => {
    const { signal } = new AbortController()

    await semaphore(1).acquire(signal)

    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a closed semaphore', () => {
  test('refuses current waiters and leaves no listener', async () => {
    const gate = semaphore(0)
    const { signal } = new AbortController()
    const waiting = [gate.acquire(signal), gate.acquire()]

    gate.close()

    expect(getEventListeners(signal, 'abort')).toEqual([])
    for (const wait of waiting) await expect(wait).rejects.toThrow('semaphore is closed')
  })

  test('refuses new waiters, although a permit is free', async () => {
    const gate = new FairSemaphore(1)

    gate.close()

    expect(gate.closed).toBe(true)
    expect(gate.tryAcquire()).toBeUndefined()
    await expect(gate.acquire()).rejects.toThrow('semaphore is closed')
  })

  test('accepts permits that are still out, and closing it again is harmless', async () => {
    const gate = semaphore(1)
    const permit = await gate.acquire()

    gate.close()
    gate.close()
    expect(gate.free).toBe(0)
    release(permit)

    expect(gate.free).toBe(1)
  })

  test('gives the reason of the signal to waiters that are aborted already', async () => {
    const gate = semaphore(1)
    gate.close()

    await expect(gate.acquire(AbortSignal.abort(new Error('mine')))).rejects.toThrow('mine')
  })
})

type State = 'waiting' | 'held' | 'released' | 'aborted' | 'refused'

/** The rules again, with plain lists. */
class Model {
  readonly states: State[] = []
  free: number
  #closed = false

  constructor(permits: number) {
    this.free = permits
  }

  come(): void {
    if (this.#closed) this.states.push('refused')
    else if (this.free === 0) this.states.push('waiting')
    else {
      this.free--
      this.states.push('held')
    }
  }

  abort(who: number): void {
    if (this.states[who] === 'waiting') this.states[who] = 'aborted'
  }

  release(who: number): void {
    if (this.states[who] !== 'held') return
    this.states[who] = 'released'
    const next = this.states.indexOf('waiting')
    if (next === -1) this.free++
    else this.states[next] = 'held'
  }

  close(): void {
    this.#closed = true
    for (const [who, state] of this.states.entries()) {
      if (state === 'waiting') this.states[who] = 'refused'
    }
  }
}

test('any sequence of acquires, aborts, releases and a close matches the model', async () => {
  const step = fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('come' as const), who: fc.nat() }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('abort' as const), who: fc.nat() }) },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('release' as const), who: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), who: fc.nat() }) },
  )
  // The steps of a group follow each other at once: grants and aborts race there.
  const groups = fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.nat(3), groups, async (permits, all) => {
      const gate = semaphore(permits)
      const model = new Model(permits)
      const states: State[] = []
      const held = new Map<number, Disposable>()
      const controllers: AbortController[] = []

      for (const group of all) {
        for (const { kind, who: any } of group) {
          const who = kind === 'come' ? states.length : any % Math.max(1, states.length)
          if (kind === 'come') {
            const controller = new AbortController()
            controllers.push(controller)
            states.push('waiting')
            gate.acquire(controller.signal).then(
              (permit) => {
                held.set(who, permit)
                return (states[who] = 'held')
              },
              () => (states[who] = controller.signal.aborted ? 'aborted' : 'refused'),
            )
            model.come()
          } else if (kind === 'abort' && controllers[who] && model.states[who] !== 'refused') {
            controllers[who].abort()
            model.abort(who)
          } else if (kind === 'release' && held.has(who)) {
            release(held.get(who)!)
            states[who] = 'released'
            model.release(who)
          } else if (kind === 'close') {
            gate.close()
            model.close()
          }
          expect(gate.free).toBe(model.free)
        }
        await settled()
        expect(states).toEqual(model.states)
        expect(states.filter((state) => state === 'held').length + gate.free).toBe(permits)
      }

      for (const [who, { signal }] of controllers.entries()) {
        const left = model.states[who] === 'waiting' ? 1 : 0
        expect(getEventListeners(signal, 'abort')).toHaveLength(left)
      }
    }),
    { numRuns: 150 },
  )
})
