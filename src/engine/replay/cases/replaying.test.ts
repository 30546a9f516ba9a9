/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type Code,
  completed,
  instanceWithPast,
  logged,
  play,
  recorded,
} from '../../../../test/support/executions.ts'

const charge = activity('charge', (n: number) => n)

/** How many lines were logged since there were `before`. */
const linesSince = (before: number): number => logged.lines.length - before

/** Notes between its activities whether the past is being repeated. */
function watched(): { readonly seen: boolean[]; readonly code: Code } {
  const seen: boolean[] = []
  const code: Code = async (ctx) => {
    for (let i = 1; i <= 3; i++) {
      seen.push(ctx.info.replaying)
      ctx.log.info({ i }, 'seen')
      await ctx.run(charge, i)
    }
  }
  return { seen, code }
}

const [CHARGE, CHARGED] = [recorded.activity(1, 'charge', 1), completed(1)]
const FIRST = [CHARGE, CHARGED] as const
const SECOND = recorded.activity(2, 'charge', 2)

describe('ctx.replaying', () => {
  test('is false in a new instance [fresh_execution_not_replaying]', async () => {
    const { seen, code } = watched()
    const before = logged.lines.length
    const { turn } = play(code)

    await turn(1)

    expect(seen).toEqual([false])
    expect(linesSince(before)).toBe(1)
  })

  test('is true during replay, and log lines are not written again [replay_is_replaying]', async () => {
    const { seen, code } = watched()
    const before = logged.lines.length
    const { turn } = play(code, instanceWithPast(...FIRST, SECOND))

    await turn(2)

    expect(seen).toEqual([true, true])
    expect(linesSince(before)).toBe(0)
  })

  test('changes in the middle of a turn, where history ends [transitions_after_history]', async () => {
    const { seen, code } = watched()
    const before = logged.lines.length
    const { turn } = play(code, instanceWithPast(...FIRST, SECOND))

    await turn(2, completed(2))

    expect(seen).toEqual([true, true, false])
    expect(linesSince(before)).toBe(1)
  })

  test('is false for an instance that was started elsewhere and never ran [fresh_start_with_zero_persisted]', async () => {
    const { seen, code } = watched()
    const before = logged.lines.length
    const { turn } = play(code, instanceWithPast())

    await turn(2)

    expect(seen).toEqual([false])
    expect(linesSince(before)).toBe(1)
  })

  test('is false after the last event of a history that was cut there', async () => {
    const { seen, code } = watched()
    const { turn } = play(code, instanceWithPast(CHARGE, { type: 'forked' }, CHARGED))

    await turn(2)

    expect(seen).toEqual([true, false])
  })

  test('lets a patch apply that is first reached after a history that was cut there', async () => {
    const changes: boolean[] = []
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      changes.push(ctx.patched('repaired'))
      await ctx.run(charge, 2)
    }
    const { turn } = play(code, instanceWithPast(CHARGE, { type: 'forked' }, CHARGED))

    const { events } = await turn(2)

    expect(changes).toEqual([true])
    expect(events).toEqual([{ type: 'patched', change: 'repaired' }, SECOND])
  })
})
