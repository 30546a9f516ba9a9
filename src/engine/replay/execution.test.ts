/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  beginWith,
  completed,
  failed,
  fired,
  play,
  takeTurn,
  testInstance,
  type WorkflowContext,
} from '../../../test/support/executions.ts'
import { failure } from '../../base/errors.ts'
import { inTurn } from './current-turn.ts'

const Declined = failure<{ code: number }>('DeclinedInExecutionTest')

describe('an execution', () => {
  test('issues its commands in order, numbered from 1, after the input that caused them', async () => {
    const { turn } = play(async (ctx) => {
      await Promise.all([ctx.step('a', () => 1), ctx.sleep(5)])
      await ctx.step('b', () => 1)
    })

    expect((await turn(100)).events.slice(1)).toEqual([
      { type: 'step', command: 1, name: 'a' },
      { type: 'timer', command: 2, fireAt: 105 },
    ])
    expect((await turn(110, fired(2), completed(1))).events).toEqual([
      fired(2),
      completed(1),
      { type: 'step', command: 3, name: 'b' },
    ])
  })

  test('runs until it waits, however many microtasks that takes', async () => {
    const { turn } = play(async (ctx) => {
      for (let i = 0; i < 5_000; i++) await Promise.resolve()
      await new ReadableStream({
        start(stream) {
          stream.enqueue(1)
          stream.close()
        },
      })
        .getReader()
        .read()
      return ctx.step('after', () => 1)
    })

    expect((await turn(1)).events.at(-1)).toEqual({ type: 'step', command: 1, name: 'after' })
  })

  test('its commands settle with the very value or error that was recorded', async () => {
    const seen: unknown[] = []
    const { turn } = play(async (ctx) => {
      seen.push(await ctx.step('a', () => 1))
      await ctx.step('b', () => 1).catch((error: unknown) => seen.push(error))
    })

    await turn(1)
    await turn(2, completed(1, new Map([[1n, new Date(0)]])))
    await turn(3, failed(2, new Declined('no', { code: 7 })))

    expect(seen[0]).toEqual(new Map([[1n, new Date(0)]]))
    expect(seen[1]).toBeInstanceOf(Declined)
    expect(seen[1]).toMatchObject({ details: { code: 7 } })
  })

  test('a second result, and results after the end, change nothing', async () => {
    const { instance, turn } = play(async (ctx) => {
      const later = ctx.step('b', () => 1)
      const value = await ctx.step('a', () => 1)
      void later
      return value
    })
    await turn(1)

    const { events } = await turn(2, completed(2, 'first'), completed(2, 'second'), completed(1))

    expect(events).toEqual([completed(2, 'first'), { type: 'dropped', command: 1 }])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'first' })
  })

  test('a command outside its turn is refused, and breaks the execution', async () => {
    let ctx!: WorkflowContext
    const { instance, turn } = play(async (given) => {
      ctx = given
      await ctx.sleep(1)
    })
    await turn(1)
    let breaks = 0
    instance.run.onBreak(() => breaks++)

    expect(() => ctx.step('x', () => 1)).toThrow(
      'instance "i" called step "x" outside any turn: it waited for something that is not durable',
    )
    expect(() => ctx.sleep(1)).toThrow('called ctx.sleep() outside any turn')
    expect(breaks).toBe(1)
    await expect(turn(2)).rejects.toThrow('called step "x" outside any turn')
    expect(inTurn()).toBeUndefined()
  })

  test('a command in the turn of another instance names both', async () => {
    let other!: WorkflowContext
    const waiting = play(async (ctx) => {
      other = ctx
      await ctx.sleep(1)
    }, testInstance('a'))
    await waiting.turn(1)
    let thrown: unknown
    const acting = play(async (ctx) => {
      try {
        void other.sleep(1)
      } catch (error) {
        thrown = error
      }
      await ctx.sleep(1)
    }, testInstance('b'))

    await acting.turn(1)

    expect((thrown as Error).message).toMatch(
      /^instance "a" called ctx\.sleep\(\) in the turn of instance "b": it waited/,
    )
    expect(waiting.instance.run.broken).toBe(thrown)
    expect(acting.instance.run.broken).toBeUndefined()
  })

  test('a return outside its turn breaks the execution', async () => {
    const { instance, turn } = play(async (ctx) => {
      void ctx.sleep('1d')
      await new Promise((resolve) => setImmediate(resolve))
    })
    await turn(1)
    const broken = new Promise<void>((resolve) => instance.run.onBreak(resolve))
    await broken

    expect(instance.run.outcome).toBeUndefined()
    await expect(turn(2)).rejects.toThrow('instance "i" returned outside any turn')
  })

  test('code that waits for something that is not durable is refused', async () => {
    const { turn } = play(async () => new Promise(() => {}))

    await expect(turn(1)).rejects.toThrow('instance "i" waits for something that is not durable')
  })

  test('a dropped execution has no effect', async () => {
    let ctx!: WorkflowContext
    let finished = false
    const { instance, turn } = play(async (given) => {
      ctx = given
      try {
        await ctx.sleep(1)
      } finally {
        finished = true
      }
    })
    await turn(1)
    instance.run.drop()

    const command = ctx.step('x', () => 1)
    const settled = await Promise.race([
      command.then(() => true),
      new Promise((resolve) => setImmediate(() => resolve(false))),
    ])

    expect(settled).toBe(false)
    expect(finished).toBe(false)
    expect(instance.run.broken).toBeUndefined()
    expect([...instance.run.open]).toEqual([])
  })

  test('turns never overlap: the second waits for the first', async () => {
    const order: string[] = []
    const slow = (name: string) => async (ctx: WorkflowContext) => {
      for (let i = 0; i < 100; i++) await Promise.resolve()
      order.push(name)
      await ctx.sleep(1)
    }

    await Promise.all(
      ['a', 'b', 'c'].map((id) => takeTurn(testInstance(id), 1, beginWith(slow(id)))),
    )

    expect(order).toEqual(['a', 'b', 'c'])
    expect(inTurn()).toBeUndefined()
  })

  test('an input that cannot be read does not reach the code as an error', async () => {
    const instance = testInstance('i')
    const begin = (): never => {
      throw new SyntaxError('codec: cannot read')
    }

    await expect(takeTurn(instance, 1, begin)).rejects.toThrow('codec: cannot read')
    expect(instance.run.outcome).toBeUndefined()
    expect(inTurn()).toBeUndefined()
  })
})
