import { describe, expect, test } from 'vitest'

import { stage } from './fake-server.ts'

// What the notifier does when something in it fails, and what it says about itself.

describe('failures in the notifier loop', () => {
  test('a fault of a listener ends nothing: the loop begins anew, and all look', async () => {
    await using scene = stage()
    const { clock, server, log } = scene
    const seven = scene.listen(7)
    const eight = scene.listen(8)
    await clock.advance(0)
    const faults = failOnce(eight, 'runtime')

    eight.listening.refresh()
    await clock.advance('1s')
    server.notify('all', { kind: 'recalled', iids: [1] })

    expect(faults()).toBe(1)
    for (const { polls, received, listening } of [seven, eight]) {
      expect(polls).toHaveLength(2)
      expect(received).toContainEqual({ kind: 'recalled', iids: [1] })
      expect(listening.health()).toEqual({ state: 'listening', interruptions: 1 })
    }
    expect(log.at('error').concat(log.at('warn')).join()).toContain('lost')
  })

  test('a poll that fails leaves the others their polls, and hints arrive', async () => {
    await using scene = stage()
    const { clock, log } = scene
    const seven = scene.listen(7)
    const eight = scene.listen(8)
    failOnce(seven, 'finds')

    await clock.advance(0)

    expect(eight.polls).toHaveLength(1)
    expect(seven.listening.isListening).toBe(true)
    expect(log.at('debug')).toContain('polling the store failed')
  })

  test('a channel whose name cannot be asked for is asked for again', async () => {
    await using scene = stage()
    const { clock, server } = scene
    const channelOf = server.channelOf.bind(server)
    let asked = 0
    server.channelOf = async (to) => {
      if (++asked === 1) throw new Error('no connection')
      return channelOf(to)
    }

    const seven = scene.listen(7)
    await clock.advance('1s')

    expect(seven.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
  })
})

describe('log lines of the notifier', () => {
  test('the beginning and each gap, with the error and their number', async () => {
    await using scene = stage()
    const { clock, server, log } = scene
    scene.listen(7)
    await clock.advance(0)
    server.cut()
    await clock.advance(0)

    expect(log.lines.filter(({ message }) => /notification/.test(message))).toEqual([
      { level: 'debug', message: 'receiving notifications', data: { interruptions: 0 } },
      {
        level: 'warn',
        message: 'notification connection lost; reconnecting',
        data: { reason: 'cut' },
      },
      {
        level: 'debug',
        message: 'notification connection lost',
        data: { err: expect.objectContaining({ message: 'cut' }) },
      },
      { level: 'debug', message: 'receiving notifications', data: { interruptions: 1 } },
    ])
  })

  test('a server that stays away, with the error of each attempt', async () => {
    await using scene = stage()
    const { clock, server, log } = scene
    server.down = true
    scene.listen(7)

    await clock.advance('10s')

    const failed = log.lines.filter(({ data }) => data['err'] !== undefined)
    expect(failed.length).toBeGreaterThan(2)
    expect(failed[0]!.data).toMatchObject({
      worker: 'notifier',
      err: expect.objectContaining({ message: 'connection refused' }),
    })
  })

  test('a hint that cannot be followed up, with the error', async () => {
    await using scene = stage()
    const { clock, server, log } = scene
    const seven = scene.listen(7)
    await clock.advance(0)
    seven.fails = true

    server.notify('r7', { kind: 'recalled', iids: [1] })

    expect(log.lines.at(-1)).toEqual({
      level: 'error',
      message: 'handling a notification failed',
      data: { err: expect.objectContaining({ message: 'it fails' }) },
    })
  })
})

/** Has a property of an object throw the next time it is read; says how often it did. */
function failOnce<T extends object>(object: T, name: keyof T): () => number {
  const value = object[name]
  let faults = 0
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      Object.defineProperty(object, name, { configurable: true, writable: true, value })
      faults++
      throw new Error(`${String(name)} cannot be read`)
    },
  })
  return () => faults
}
