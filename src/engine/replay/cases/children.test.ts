/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  channel,
  childId,
  type Code,
  completed,
  instanceWithPast,
  play,
  recorded,
  STARTED,
  statusOf,
  testInstance,
  workflow,
} from '../../../../test/support/executions.ts'

const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => n)

describe('a child', () => {
  test('without an id is named after its parent, execution and command [auto_instance_id]', async () => {
    let id = ''
    const { turn } = play(async (ctx) => {
      await ctx.sleep(1)
      const child = ctx.run(sub, 1)
      id = child.id
      await child
    })
    await turn(1)

    const { events } = await turn(2, { type: 'fired', command: 1 })

    expect(id).toBe('i/1.2.012345')
    expect(events[1]).toEqual(recorded.child(2, 'sub', 1, id))
  })

  test('has the id of its history on replay [replay_uses_history_instance]', async () => {
    const ids: string[] = []
    const code: Code = async (ctx) => {
      const child = ctx.run(sub, 1)
      ids.push(child.id)
      return child
    }
    const live = await play(code).turn(1)

    await play(code, testInstance('i', [{ at: 1, events: live.events }])).turn(2)

    expect(ids).toEqual([childId(1), childId(1)])
    expect(live.events[1]).toMatchObject({ id: childId(1) })
  })

  test('keeps the id of its history in an instance that was made from it', async () => {
    const code: Code = async (ctx) => {
      const child = ctx.run(sub, 1)
      await child.send(orders, 'tea')
      return child
    }
    const send = {
      type: 'send',
      command: 2,
      id: childId(1),
      name: 'orders',
      capacity: 10_000,
      value: '"tea"',
    } as const
    const events = [STARTED, recorded.child(1, 'sub', 1), send, completed(2), completed(1, 'one')]
    const { instance, turn } = play(code, testInstance('fork', [{ at: 1, events }]))

    await turn(2)

    expect(statusOf(instance)).toBe('completed')
  })

  test('with an id gets that id [explicit_instance_preserved]', async () => {
    let id = ''
    const { turn } = play(async (ctx) => {
      const child = ctx.run(sub, 1, { id: 'my child' })
      id = child.id
      await child
    })

    const { events } = await turn(1)

    expect(id).toBe('my child')
    expect(events[1]).toEqual(recorded.child(1, 'sub', 1, 'my child'))
  })

  test('is distinguished from its siblings [multiple_sub_orchs_unique_ids]', async () => {
    const { turn } = play((ctx) => ctx.map([1, 2, 3], (n, inner) => inner.run(sub, n)))

    const { events } = await turn(1)

    const ids = events.slice(1).map((event) => (event as { id: string }).id)
    expect(ids).toEqual([childId(1), childId(2), childId(3)])
  })

  test('keeps the version it was started with when a later one is registered', async () => {
    const later = workflow('sub', { version: '2.0.0' }, async (n: number) => n)
    const { instance, turn } = play(
      (ctx) => ctx.run(later, 1),
      instanceWithPast(recorded.child(1, 'sub', 1)),
    )

    const { issued } = await turn(2)

    expect(issued.map(({ event }) => event)).toEqual([recorded.child(1, 'sub', 1)])
    expect(statusOf(instance)).toBe('running')
  })
})
