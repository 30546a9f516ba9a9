import { describe, expect, test } from 'vitest'

import { diary, openWorkers } from '../../test/support/workers.ts'
import { type Directive, idle, proceed, sleep } from './directive.ts'
import type { Listener } from './listener.ts'

describe('the listeners of a worker', () => {
  test('are called at its start first and at its stop last [listener_called_on_start_stop]', async () => {
    await using world = openWorkers()
    const book = diary()
    const { it } = world.play({ listeners: [book], signal: AbortSignal.abort() })

    await it.done

    expect(book.entries[0]).toBe('start')
    expect(book.entries.at(-1)).toBe('stop')
  })

  test('are called at each success with its directive and payload [listener_called_on_complete]', async () => {
    await using world = openWorkers()
    const seen: (readonly [number, Directive<number>])[] = []
    const listener: Listener<number> = {
      onComplete: (ms, directive) => void seen.push([ms, directive]),
    }
    world.wake.notifyOne()
    world.start('paid', { listeners: [listener] }, async () => {
      await new Promise<void>((resolve) => void world.clock.after(30, resolve))
      return sleep('1m', 42)
    })

    await world.clock.advance(50)

    expect(seen).toEqual([[30, sleep('1m', 42)]])
  })

  test('are called at each error with what follows from it [listener_called_on_error_with_context]', async () => {
    await using world = openWorkers()
    const trouble = new Error('trouble')
    const seen: unknown[] = []
    const listener: Listener<unknown> = { onError: (...about) => void seen.push(about) }
    const backoff = { initial: 100, jitter: 0 }
    world.wake.notifyOne()
    world.play({ listeners: [listener], backoff }, { takes: 7, ends: trouble }, trouble, idle())

    await world.clock.advance('1s')

    expect(seen).toEqual([
      [7, trouble, 1, 100],
      [0, trouble, 2, 200],
    ])
  })

  test('are called in the order they were given [multiple_listeners_called_in_order]', async () => {
    await using world = openWorkers()
    const entries: string[] = []
    const named = (name: string): Listener<unknown> => ({
      onStart: () => void entries.push(`${name}:start`),
      onStop: () => void entries.push(`${name}:stop`),
    })
    const { it } = world.play({ listeners: [named('A'), named('B')] })

    await it.stop()

    expect(entries).toEqual(['A:start', 'B:start', 'A:stop', 'B:stop'])
  })

  test('are called in the order in which things happen', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const { it } = world.play({ listeners: [book] }, proceed(), sleep(5), idle())

    await world.clock.advance(10)
    await it.stop()

    expect(book.entries).toEqual([
      'start',
      'idle',
      'execute',
      'complete 0 proceed',
      'execute',
      'complete 0 sleep',
      'sleep 5',
      'execute',
      'complete 0 idle',
      'idle',
      'stop',
    ])
  })

  test('are not called before worker() has returned', async () => {
    await using world = openWorkers()
    let inHand = false
    const seen: boolean[] = []
    const { it } = world.play({ listeners: [{ onStart: () => void seen.push(inHand) }] })
    inHand = true

    await it.stop()

    expect(seen).toEqual([true])
  })

  test('see a backoff that is reset already when a pass succeeds', async () => {
    await using world = openWorkers()
    const failures: number[] = []
    const listener = { onComplete: () => void failures.push(it.health().failures) }
    world.wake.notifyOne()
    const { it } = world.play({ listeners: [listener] }, new Error('trouble'), idle())

    await world.clock.advance(0)

    expect(failures).toEqual([0])
  })
})
