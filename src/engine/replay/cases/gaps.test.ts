// Weak points of the system that the contract describes (its section 9.1), by their numbers: what is
// decided by the code of an execution and its history alone.

/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  channel,
  childId,
  type Code,
  completed,
  instanceWithPast,
  dropped,
  errorOf,
  failed,
  fired,
  host,
  mail,
  nextExecution,
  OTHER_SEED,
  play,
  post,
  received,
  recorded,
  refusal,
  restart,
  set,
  STARTED,
  stateKey,
  statusOf,
  testInstance,
  workflow,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => n)
const count = stateKey<number>('count')

const CHARGE = recorded.activity(1, 'charge', 1)

describe('known weak points', () => {
  test('children of two executions never share an id [gap_01]', async () => {
    const code: Code = (ctx) => ctx.run(sub, 1)
    const second = testInstance('i', undefined, { execution: 2 })

    const events = [await play(code).turn(1), await play(code, second).turn(1)]

    const ids = events.map((turn) => (turn.events[1] as { id: string }).id)
    expect(ids).toEqual([childId(1, 1), childId(1, 2)])
  })

  test('exceeding a limit throws at the call, and fails the workflow like any error [gap_04]', async () => {
    const { progressBytes } = host.guard.limits
    const { instance, turn } = play(async (ctx) => {
      ctx.start(sub, 1, { id: 'own' }).catch(() => {})
      ctx.progress('x'.repeat(progressBytes + 1))
    })

    const { issued } = await turn(1)

    expect(issued.map(({ event }) => event.type)).toEqual(['start'])
    await turn(2, completed(1))
    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toMatchObject({ originalName: 'RangeError' })
  })

  test('keys of earlier turns and executions count towards the limit [gap_05]', async () => {
    const { stateKeys } = host.guard.limits
    const fill: Code = async (ctx) => {
      for (let i = 1; i < stateKeys; i++) ctx.state.set(stateKey(`k${i}`), i)
      await ctx.sleep(1)
      return ctx.continueAsNew(null as never)
    }
    const exceed: Code = async (ctx) => {
      ctx.state.set(stateKey('last'), 1)
      await ctx.sleep(1)
      ctx.state.set(stateKey('one too many'), 1)
    }
    const first = play(fill)
    await first.turn(1)
    await first.turn(2, fired(1))
    const second = play(exceed, nextExecution(first.instance))
    await second.turn(3)

    await second.turn(4, fired(1))

    expect(statusOf(second.instance)).toBe('failed')
    expect(errorOf(second.instance).message).toContain(`the instance already has ${stateKeys} keys`)
  })

  test('a start in the turn that continues as new is carried out before the next execution [gap_07]', async () => {
    const { instance, turn } = play(async (ctx) => {
      ctx.start(sub, 1, { id: 'own' }).catch(() => {})
      await ctx.continueAsNew(2 as never)
    })

    const { events, issued } = await turn(1)

    expect(events).toEqual([STARTED, recorded.start(1, 'sub', 1, 'own')])
    expect(issued.map(({ event }) => event.command)).toEqual([1])
    expect([...instance.run.open.keys()]).toEqual([1])
    await turn(2, completed(1))
    expect([...instance.run.open.keys()]).toEqual([])
    expect(statusOf(instance)).toBe('continued')
  })

  test('a message that arrives before the receive, or before the first turn, is received [gap_09]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      return ctx.receive(orders)
    }
    const { instance, turn } = play(code)
    post(instance, mail('orders', 'early'))
    await turn(1)

    const { events } = await turn(2, completed(1))

    expect(events).toEqual([completed(1), recorded.receive(2, 'orders'), received(2, 'early')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'early' })
  })

  test('a repeated failure is ignored [gap_13]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1).catch(() => {})
      await ctx.sleep('1d')
    }
    const error = failed(1, new Error('declined'))
    const past = instanceWithPast(CHARGE, error, recorded.timer(2, 86_400_001))

    expect((await play(code, past).turn(2, error)).events).toEqual([])
  })

  test('pruning decides by the time of turns, and so the same on replay [gap_17]', async () => {
    const pruned: number[] = []
    const code: Code = async (ctx) => {
      ctx.state.set(count, 1)
      await ctx.run(charge, 1)
      pruned.push(ctx.state.prune(100))
      await ctx.run(charge, 2)
      pruned.push(ctx.state.prune(100))
      await ctx.run(charge, 3)
    }
    const first = play(code)
    await first.turn(1_000)
    await first.turn(1_100, completed(1))
    const { events } = await first.turn(1_101, completed(2))

    await restart(code, first).turn(9_000_000)

    expect(events).toContainEqual({ type: 'unset', key: 'count' })
    expect(pruned).toEqual([0, 1, 0, 1])
  })

  describe('changed code is detected', () => {
    test('when it ends before its history does [gap_19]', async () => {
      const code: Code = async (ctx) => {
        void ctx.run(charge, 1)
        return 'early'
      }

      const error = await refusal(code, CHARGE, completed(1))

      expect(error).toMatchObject({ position: 1, actual: 'the end of the workflow' })
    })

    test('when it gives its child another name', async () => {
      const code: Code = (ctx) => ctx.run(sub, 1, { id: 'renamed' })

      expect((await refusal(code, recorded.child(1, 'sub', 1, 'named'))).position).toBe(1)
    })

    test.each<[string, Event]>([
      ['set', set('count', 1)],
      ['deleted', { type: 'unset', key: 'count' }],
      ['cleared', { type: 'cleared' }],
    ])('when it keeps no state where it once %s some', async (_, change) => {
      const error = await refusal((ctx) => ctx.run(charge, 1), change, CHARGE)

      expect(error.message).toContain('state.')
    })
  })

  test('a timer that is no longer needed wakes no instance [gap_20]', async () => {
    const code: Code = async (ctx) => {
      await ctx.race({ paid: ctx.run(charge, 1), late: ctx.sleep(10) })
      await ctx.run(charge, 2)
    }
    const first = play(code)
    await first.turn(1)
    const { events } = await first.turn(2, completed(1))
    const second = restart(code, first)

    const woken = await second.turn(11, fired(2))

    expect(events).toContainEqual(dropped(2))
    expect(woken.events).toEqual([])
    expect([...second.instance.run.open.keys()]).toEqual([3])
  })

  test('ids are UUIDs, are the same on replay, and differ between instances [gap_21]', async () => {
    const made: string[] = []
    const code: Code = async (ctx) => {
      made.push(ctx.uuid())
      await ctx.run(charge, 1)
      made.push(ctx.uuid())
      await ctx.run(charge, 2)
    }
    const first = play(code)
    await first.turn(1)
    await first.turn(2, completed(1))
    await restart(code, first).turn(3)
    const started = { ...STARTED, seed: OTHER_SEED }
    await play(code, testInstance('i', undefined, { started })).turn(1)

    const [one, two, oneAgain, twoAgain, other] = made
    expect([oneAgain, twoAgain]).toEqual([one, two])
    expect(new Set([one, two, other]).size).toBe(3)
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    expect(made.filter((id) => uuid.test(id))).toEqual(made)
  })
})
