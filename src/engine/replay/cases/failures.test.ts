/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  ActivityError,
  beginWith,
  type Code,
  completed,
  instanceWithPast,
  errorOf,
  failed,
  play,
  recorded,
  statusOf,
  takeTurn,
  workflow,
  WorkflowError,
} from '../../../../test/support/executions.ts'
import { NondeterminismError } from '../nondeterminism.ts'

const charge = activity('charge', (n: number) => n)
const sub = workflow('sub', async (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)
const CHILD = recorded.child(1, 'sub', 1)

describe('a failure', () => {
  test('of an activity reaches the code as its own class, with its cause [application_error_propagates]', async () => {
    const error = new ActivityError(
      'declined',
      { activity: 'charge', attempts: 3, originalName: 'RangeError' },
      { cause: new RangeError('no money') },
    )
    let caught: unknown
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1).catch((thrown: unknown) => (caught = thrown))
    }
    const { turn } = play(code, instanceWithPast(CHARGE))

    await turn(2, failed(1, error))

    expect(caught).toBeInstanceOf(ActivityError)
    expect(caught).toMatchObject({ attempts: 3, cause: { message: 'no money' } })
  })

  test('of a child reaches the parent as an error it can catch [sub_orch_app_error_propagates]', async () => {
    const error = new WorkflowError('workflow "sub" failed: no', {
      instanceId: 'c',
      workflow: 'sub',
      originalName: 'Error',
    })
    const code: Code = (ctx) =>
      ctx.run(sub, 1).catch((thrown: unknown) => (thrown as WorkflowError).instanceId)
    const { instance, turn } = play(code, instanceWithPast(CHILD))

    await turn(2, failed(1, error))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'c' })
  })

  test('of the engine does not reach the code: a result that cannot be read [infrastructure_error_aborts]', async () => {
    const { instance, turn } = play(
      (ctx) => ctx.run(charge, 1).catch(() => 'caught'),
      instanceWithPast(CHARGE),
    )

    await expect(turn(2, { ...completed(1), value: '{"torn' })).rejects.toThrow(/codec: cannot/)
    expect(instance.run.outcome).toBeUndefined()
  })

  test('of the engine does not reach the parent: an error of a child that cannot be read [sub_orch_infra_error_aborts_parent]', async () => {
    const { instance, turn } = play(
      (ctx) => ctx.run(sub, 1).catch(() => 'caught'),
      instanceWithPast(CHILD),
    )

    await expect(turn(2, { ...failed(1, 'x'), error: '{"torn' })).rejects.toThrow(/codec: cannot/)
    expect(instance.run.outcome).toBeUndefined()
  })

  test('of replay does not reach the code: it cannot catch that it changed [configuration_error_aborts]', async () => {
    let caught: unknown
    const code: Code = async (ctx) => {
      try {
        return await ctx.run(charge, 2)
      } catch (error) {
        caught = error
        return 'caught'
      }
    }
    const instance = instanceWithPast(CHARGE)

    await expect(takeTurn(instance, 2, beginWith(code))).rejects.toBeInstanceOf(NondeterminismError)
    expect(caught).toBeUndefined()
    expect(instance.run.outcome).toBeUndefined()
  })
})

describe('any thrown value', () => {
  test.each([
    ['text is the message [panic_string]', 'out of paper', 'out of paper'],
    ['anything else is described [panic_other]', { code: 7 }, '{ code: 7 } was thrown'],
  ])('fails the workflow: %s', async (_, thrown, message) => {
    const { instance, turn } = play(async () => {
      // oxlint-disable-next-line typescript/only-throw-error -- what is tried here
      throw thrown
    })

    await turn(1)

    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toMatchObject({
      message: `workflow "test" failed: ${message}`,
      cause: thrown,
    })
  })

  test('fails the workflow even after a wait [panic_during_await]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      throw new TypeError('undefined is not a function')
    }
    const { instance, turn } = play(code, instanceWithPast(CHARGE))

    await turn(2, completed(1))

    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toMatchObject({ originalName: 'TypeError' })
  })
})
