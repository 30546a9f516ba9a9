/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  beginWith,
  type Code,
  completed,
  failed,
  fired,
  locateMismatch,
  play,
  STARTED,
  takeTurn,
  testInstance,
} from '../../../test/support/executions.ts'
import type { Event } from '../../store/history.ts'
import { NondeterminismError } from './nondeterminism.ts'

const charge = activity('charge', (n: number) => n)
const ship = activity('ship', (n: number) => n)

const CHARGE: Event = {
  type: 'activity',
  command: 1,
  name: 'charge',
  input: '1',
  where: 'local',
  tag: '',
  session: '',
}

/** What replaying these events with this code throws. */
async function mismatch(code: Code, ...events: Event[]): Promise<NondeterminismError> {
  const instance = testInstance('i', [{ at: 1, events: [STARTED, ...events] }])
  const error = await takeTurn(instance, 2, beginWith(code)).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NondeterminismError)
  return error as NondeterminismError
}

describe('a replay', () => {
  test.each<[string, Event, Code]>([
    ['the name', CHARGE, (ctx) => ctx.run(ship, 1)],
    ['the input', CHARGE, (ctx) => ctx.run(charge, 2)],
    ['the kind', CHARGE, (ctx) => ctx.step('charge', () => 1)],
    ['the kind', CHARGE, (ctx) => ctx.sleep(1)],
    [
      'the name of a step',
      { type: 'step', command: 1, name: 'a' },
      (ctx) => ctx.step('b', () => 1),
    ],
    ['nothing at all', CHARGE, async () => 1],
  ])('a command is matched by position, and %s is compared', async (_, event, code) => {
    expect((await mismatch(code, event)).position).toBe(1)
  })

  test('the position of a timer is compared, its length is not', async () => {
    const code: Code = async (ctx) => {
      await ctx.sleep('9d')
      await ctx.sleep(1)
    }
    const past = [{ at: 1, events: [STARTED, { type: 'timer', command: 1, fireAt: 77 } as const] }]
    const { turn } = play(code, testInstance('i', past))

    const { events } = await turn(5, fired(1))

    expect(events).toEqual([fired(1), { type: 'timer', command: 2, fireAt: 6 }])
  })

  test('a report names the command, what was recorded, and what the code did', async () => {
    const error = await mismatch(
      async (ctx) => {
        await ctx.run(charge, 1)
        await ctx.step('look', () => 1)
      },
      CHARGE,
      completed(1),
      {
        type: 'activity',
        command: 2,
        name: 'ship',
        input: `"${'x'.repeat(99)}"`,
        where: 'local',
        tag: '',
        session: '',
      },
    )

    expect(error).toMatchObject({
      position: 2,
      expected: `activity "ship" with input "${'x'.repeat(59)}…`,
      actual: 'step "look"',
      message: `command 2 was activity "ship" with input "${'x'.repeat(59)}…, but the code now asks for step "look"`,
    })
  })

  test.each<[string, Code, string]>([
    ['still waits', async (ctx) => ctx.run(charge, 1), 'nothing'],
    ['has ended', async (ctx) => void ctx.run(charge, 1), 'the end of the workflow'],
  ])('a command that is missing while the code %s is found', async (_, code, actual) => {
    const error = await mismatch(code, CHARGE, { type: 'step', command: 2, name: 'more' })

    expect(error).toMatchObject({ position: 2, expected: 'step "more"', actual })
  })

  test('an extra command before the next input is detected', async () => {
    const code: Code = (ctx) => Promise.all([ctx.run(charge, 1), ctx.run(ship, 1)])

    const error = await mismatch(code, CHARGE, completed(1))

    expect(error).toMatchObject({ position: 2, actual: 'activity "ship" with input 1' })
  })

  test('code that ends before a recorded input is detected', async () => {
    const code: Code = async (ctx) => {
      const both = [ctx.run(charge, 1), ctx.run(charge, 2)]
      await both[0]
    }
    const second: Event = { ...CHARGE, command: 2, input: '2' }

    const error = await mismatch(code, CHARGE, second, completed(1), completed(2))

    expect(error).toMatchObject({ position: 2, actual: 'the end of the workflow' })
  })

  test('a result for a command that is not open is detected', async () => {
    const error = await mismatch((ctx) => ctx.run(charge, 1), CHARGE, completed(7))

    expect(error.message).toBe('completed for command 7, which is not open')
  })

  test('commands beyond the end of history are new', async () => {
    const code: Code = (ctx) => Promise.all([ctx.run(charge, 1), ctx.run(ship, 1)])
    const { instance, turn } = play(code, testInstance('i', [{ at: 1, events: [STARTED] }]))

    const { events, issued } = await turn(3)

    expect(events.map((event) => (event as { name?: string }).name)).toEqual(['charge', 'ship'])
    expect(issued.map(({ event }) => event.command)).toEqual([1, 2])
    expect(instance.run.at).toBe(3)
  })

  test.each([
    [[1, 2], 'first'],
    [[2, 1], 'second'],
  ])('completions are applied in the order of history: %j', async (order, winner) => {
    const code: Code = (ctx) =>
      Promise.race([
        ctx.step('a', () => 1).then(() => 'first'),
        ctx.step('b', () => 1).then(() => 'second'),
        ctx.sleep('1d'),
      ]).then((won) => ctx.step(won as string, () => 1))
    const events: Event[] = [
      STARTED,
      { type: 'step', command: 1, name: 'a' },
      { type: 'step', command: 2, name: 'b' },
      { type: 'timer', command: 3, fireAt: 9e9 },
      completed(order[0]!),
      { type: 'step', command: 4, name: winner },
      completed(order[1]!),
    ]
    const { instance, turn } = play(code, testInstance('i', [{ at: 1, events }]))

    await turn(2)

    expect([...instance.run.open.keys()]).toEqual([3, 4])
  })

  test('failed attempts of open commands are remembered, those of settled ones are not', async () => {
    const code: Code = (ctx) => Promise.allSettled([ctx.step('a', () => 1), ctx.step('b', () => 1)])
    const attempt = (command: number, count: number): Event => ({
      type: 'attempt',
      command,
      attempt: count,
      retryAt: 100 * count,
      error: 'null',
    })
    const events: Event[] = [
      STARTED,
      { type: 'step', command: 1, name: 'a' },
      { type: 'step', command: 2, name: 'b' },
      attempt(1, 1),
      attempt(2, 1),
      attempt(2, 2),
      failed(1, new Error('x')),
    ]
    const { instance, turn } = play(code, testInstance('i', [{ at: 1, events }]))

    await turn(2)

    const { calls } = instance
    expect([calls.failures(1), calls.retryAt(1)]).toEqual([0, undefined])
    expect([calls.failures(2), calls.retryAt(2)]).toEqual([2, 200])
  })

  test('the source line is looked up only in a second replay', async () => {
    const code: Code = (ctx) => ctx.run(ship, 1)
    const past = [{ at: 1, events: [STARTED, CHARGE] }]
    const error = await takeTurn(testInstance('i', past), 2, beginWith(code)).catch(
      (e: unknown) => e,
    )

    expect((error as Error).message).not.toContain('.ts:')
    const located = await locateMismatch(
      testInstance('i', past),
      beginWith(code),
      error as NondeterminismError,
    )
    expect(located).not.toBe(error)
    expect(located.message).toContain((error as Error).message)
    expect(located.message).toMatch(/ at .+:\d+:\d+\)?$/)
  })

  test('time is that of each turn', async () => {
    const times: number[] = []
    const code: Code = async (ctx) => {
      times.push(ctx.now().getTime())
      await ctx.step('a', () => 1)
      times.push(ctx.now().getTime())
      await ctx.step('b', () => 1)
      times.push(ctx.now().getTime())
      await ctx.sleep(1)
    }
    const past = [
      { at: 10, events: [STARTED, { type: 'step', command: 1, name: 'a' } as const] },
      { at: 20, events: [completed(1), { type: 'step', command: 2, name: 'b' } as const] },
    ]
    const { turn } = play(code, testInstance('i', past))

    await turn(30, completed(2))

    expect(times).toEqual([10, 20, 30])
  })
})
