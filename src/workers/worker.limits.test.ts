import { describe, expect, test } from 'vitest'

import { FairSemaphore, semaphore } from '../base/sync/semaphore.ts'
import { diary, heldPass, openWorkers } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'

describe('a limit', () => {
  test('is entered before a pass [semaphore_acquired_before_execute]', async () => {
    await using world = openWorkers()
    const fixed = semaphore(1)
    const held = heldPass()
    world.wake.notifyOne()
    world.start('held', { limit: { fixed } }, held.pass)

    await world.clock.advance(0)
    expect(fixed.free).toBe(0)
    held.release(idle())
    await world.clock.advance(0)

    expect(held.contexts).toHaveLength(1)
    expect(fixed.free).toBe(1)
  })

  test('holds a pass back until a permit comes back [semaphore_blocks_until_released]', async () => {
    await using world = openWorkers()
    const fixed = new FairSemaphore(1)
    const held = fixed.tryAcquire()!
    world.wake.notifyOne()
    const { it, times } = world.play({ limit: { fixed } }, idle())
    world.clock.after(50, () => held[Symbol.dispose]())

    await world.clock.advance(49)
    expect(it.health().state).toBe('waiting')
    await world.clock.advance(51)

    expect(times).toEqual([50])
  })

  test('ends the wait of a worker that is stopped [cancel_during_semaphore_wait]', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const limit = { fixed: semaphore(0) }
    const { it, times } = world.play({ limit, listeners: [book] }, idle())

    await world.clock.advance(10)
    await it.stop()

    expect(times).toEqual([])
    expect(world.clock.now()).toBe(10)
    expect(book.entries).toEqual(['start', 'idle', 'stop'])
  })

  test('keeps its permit when it comes in the moment of the stop', async () => {
    await using world = openWorkers()
    const fixed = new FairSemaphore(1)
    const held = fixed.tryAcquire()!
    world.wake.notifyOne()
    const { it, times } = world.play({ limit: { fixed } }, idle())
    await world.clock.advance(0)

    held[Symbol.dispose]()
    await it.stop()

    expect(times).toEqual([])
    expect(fixed.free).toBe(1)
  })

  test('is held over the listeners that follow a pass, and given back before the next wait', async () => {
    await using world = openWorkers()
    const fixed = semaphore(1)
    const seen: string[] = []
    const see = (what: string) => () => void seen.push(`${what} ${fixed.free}`)
    const listener = {
      onExecute: see('execute'),
      onComplete: see('complete'),
      onError: see('error'),
      onIdle: see('idle'),
      onSleep: see('sleep'),
    }
    world.wake.notifyOne()
    world.play({ limit: { fixed }, listeners: [listener] }, new Error('trouble'), sleep(5), idle())

    await world.clock.advance('1s')

    expect(seen).toEqual([
      'idle 1',
      'execute 0',
      'error 0',
      'execute 0',
      'complete 0',
      'sleep 1',
      'execute 0',
      'complete 0',
      'idle 1',
    ])
  })

  test('is given back by a worker that dies', async () => {
    await using world = openWorkers()
    const fixed = semaphore(1)
    world.wake.notifyOne()
    const { it } = world.play({ limit: { fixed }, onThrow: 'propagate' }, new Error('trouble'))

    await world.clock.advance(0)

    expect(it.health().state).toBe('dead')
    expect(fixed.free).toBe(1)
  })

  test('ends a worker normally when its semaphore closes', async () => {
    await using world = openWorkers()
    const fixed = semaphore(0)
    const book = diary()
    world.wake.notifyOne()
    const { it, times } = world.play({ limit: { fixed }, every: 5, listeners: [book] }, idle())
    await world.clock.advance(0)

    fixed.close()
    await it.done

    expect(times).toEqual([])
    expect(it.health()).toEqual({ name: 'player', state: 'stopped', failures: 0 })
    expect(book.entries.at(-1)).toBe('stop')
    expect(world.clock.pending).toBe(0)
  })

  test('shared by workers is never exceeded, and each gets its turn', async () => {
    await using world = openWorkers()
    const fixed = semaphore(2)
    const order: string[] = []
    let running = 0
    let most = 0
    for (const name of ['a', 'b', 'c', 'd']) {
      world.start(name, { limit: { fixed }, every: 1000 }, async () => {
        order.push(name)
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => void world.clock.after(100, resolve))
        running--
        return order.length <= 8 ? proceed() : idle()
      })
    }

    await world.clock.advance(1950)

    expect(most).toBe(2)
    expect(order.slice(0, 8)).toEqual(['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd'])
  })

  test('with tiers lets a guaranteed worker run while others use up the shared permits', async () => {
    await using world = openWorkers()
    const [guaranteed, shared] = [semaphore(1), semaphore(1)]
    const common = heldPass()
    world.wake.notifyOne()
    world.start('common', { limit: { fixed: shared } }, common.pass)
    await world.clock.advance(0)

    world.wake.notifyOne()
    const { times } = world.play({ limit: { guaranteed, shared } }, idle())
    await world.clock.advance(0)

    expect(times).toEqual([0])
    expect([guaranteed.free, shared.free]).toEqual([1, 0])
    common.release(idle())
  })
})
