import { describe, expect, test } from 'vitest'

import { beginTurn, drained, endTurn, inTurn, type Pausing, untilDone } from './current-turn.ts'

const a = { label: 'a' }
const b = { label: 'b' }

/** Runs a chain of microtasks, each queued by the one before. */
async function hops(count: number, done: () => void): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve()
  done()
}

async function afterDrain(done: () => void): Promise<void> {
  await drained
  done()
}

function* failing(): Pausing<never> {
  yield drained
  throw new Error('no')
}

describe('the turn', () => {
  test('goes to the first in line, even when the previous one asks again at once', async () => {
    expect(beginTurn(a)).toBeUndefined()
    const second = beginTurn(b)

    endTurn()
    const third = beginTurn(a)
    expect(inTurn()).toBe(b)
    await second
    endTurn()
    await third

    expect(inTurn()).toBe(a)
    endTurn()
    expect(inTurn()).toBeUndefined()
  })
})

describe('drained', () => {
  test.each([
    ['a macrotask', (run: () => void) => void setImmediate(run)],
    ['a tick', (run: () => void) => process.nextTick(run)],
    ['a microtask', (run: () => void) => queueMicrotask(run)],
  ])('resumes behind the last microtask and before any I/O, waited for in %s', async (_, from) => {
    const order: string[] = []

    await new Promise<void>((ended) =>
      from(() => {
        setImmediate(() => {
          order.push('I/O')
          ended()
        })
        void afterDrain(() => order.push('drained'))
        void hops(100, () => order.push('code'))
      }),
    )

    expect(order).toEqual(['code', 'drained', 'I/O'])
  })
})

describe('work with pauses', () => {
  test('continues when the awaited value is there, and returns its result', async () => {
    const order: string[] = []
    const work = function* (): Pausing<string> {
      void hops(10, () => order.push('code'))
      yield drained
      order.push('work')
      return 'done'
    }

    await expect(untilDone(work())).resolves.toBe('done')
    expect(order).toEqual(['code', 'work'])
  })

  test('that throws ends with what it threw', async () => {
    await expect(untilDone(failing())).rejects.toThrow('no')
  })
})
