import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { MemoryQueue } from './memory-queue.ts'

describe('a queue in memory', () => {
  test('returns what was pushed, first in, first out', () => {
    const queue = new MemoryQueue<string>()

    queue.push('a')
    queue.push('b')

    expect([queue.length, queue.isEmpty]).toEqual([2, false])
    expect([queue.pop(), queue.pop(), queue.pop()]).toEqual(['a', 'b', undefined])
    expect([queue.length, queue.isEmpty]).toEqual([0, true])
  })

  test('returns items pushed to the front first, the latest of them first', () => {
    const queue = new MemoryQueue<string>()
    queue.push('last')

    queue.pushFront('second')
    queue.pushFront('first')

    expect([queue.pop(), queue.pop(), queue.pop()]).toEqual(['first', 'second', 'last'])
  })

  test('keeps undefined as an item', () => {
    const queue = new MemoryQueue<string | undefined>()
    queue.push(undefined)

    expect(queue.length).toBe(1)
    queue.pop()
    expect(queue.length).toBe(0)
  })

  test('behaves like a list under any sequence of operations', () => {
    const steps = fc.array(fc.constantFrom('push', 'pushFront', 'pop'), { maxLength: 200 })
    fc.assert(
      fc.property(steps, (script) => {
        const queue = new MemoryQueue<number>()
        const list: number[] = []
        for (const [i, step] of script.entries()) {
          const popped = step === 'pop' ? [queue.pop(), list.shift()] : []
          if (step === 'push') {
            queue.push(i)
            list.push(i)
          } else if (step === 'pushFront') {
            queue.pushFront(i)
            list.unshift(i)
          }
          expect(popped[0]).toBe(popped[1])
          expect(queue.length).toBe(list.length)
        }
      }),
    )
  })
})

describe('poll', () => {
  test('answers at once when there is something', async () => {
    const queue = new MemoryQueue<string>()
    queue.push('a')

    expect(await queue.poll({ timeout: 0 })).toBe('a')
  })

  test('waits 100 ms, or as long as requested', async () => {
    const clock = virtualClock()
    const queue = new MemoryQueue<string>({ clock })
    const ended: string[] = []
    const note = (name: string) => (item: string | undefined) => ended.push(`${name} ${item}`)

    const polls = [
      queue.poll().then(note('by default')),
      queue.poll({ timeout: '1s' }).then(note('a second')),
    ]
    await clock.advance(99)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(ended).toEqual(['by default undefined'])
    await clock.advance(900)
    await Promise.all(polls)

    expect(ended).toEqual(['by default undefined', 'a second undefined'])
    expect(clock.pending).toBe(0)
  })

  test('is woken by a push, the longest waiter first', async () => {
    const clock = virtualClock()
    const queue = new MemoryQueue<string>({ clock })
    const polls = [queue.poll(), queue.poll()]

    queue.push('a')
    queue.pushFront('b')

    expect(await Promise.all(polls)).toEqual(['a', 'b'])
    expect([queue.length, clock.pending]).toEqual([0, 0])
  })

  test('ends with its signal, and takes nothing', async () => {
    const clock = virtualClock()
    const queue = new MemoryQueue<string>({ clock })
    const controller = new AbortController()
    const polled = queue.poll({ signal: controller.signal })

    controller.abort(new Error('enough'))
    queue.push('a')

    await expect(polled).rejects.toThrow('enough')
    await expect(queue.poll({ signal: controller.signal })).rejects.toThrow('enough')
    expect(queue.pop()).toBe('a')
    expect(clock.pending).toBe(0)
  })

  test('refuses what it does not know', async () => {
    const queue = new MemoryQueue<string>()

    await expect(queue.poll({ timout: 1 } as never)).rejects.toThrow('did you mean "timeout"?')
  })
})
