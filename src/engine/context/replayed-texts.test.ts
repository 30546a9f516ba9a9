// Code sees the texts of errors that `ctx` throws, and may pass them on. They are not in history: a
// replay makes them anew, and compares what the code made of them. So a text that changes suspends
// instances that are under way, and belongs into the changelog under "Upgrading".

import { expect, test } from 'vitest'

import {
  activity,
  type Code,
  completed,
  dropped,
  fired,
  instanceWithPast,
  play,
  recorded,
  refusal,
} from '../../../test/support/executions.ts'

const MINUTE = 60_000
const charge = activity('charge', (n: number) => n)
const note = activity('note', (text: string) => text)

/** Charges within a minute, and notes why it could not. */
const chargeInTime: Code = (ctx) =>
  ctx.scope(
    async (inner) => {
      try {
        return await inner.run(charge, 1)
      } catch (error) {
        await ctx.uncancellable((safe) => safe.run(note, (error as Error).message))
        throw error
      }
    },
    { timeout: MINUTE },
  )

const lateCharge = (text: string) =>
  [
    recorded.timer(1, MINUTE),
    recorded.activity(2, 'charge', 1),
    fired(1),
    dropped(2),
    recorded.activity(3, 'note', text),
  ] as const

/** Lets a call outlive its scope, and notes why it was cancelled. */
const leaves: Code = async (ctx) => {
  const left = await ctx.scope(async (inner) => ({ call: inner.run(charge, 1) }))
  const text = await left.call.catch((error: unknown) => (error as Error).message)
  return ctx.run(note, String(text))
}

test('an input that was made of another text does not match its history', async () => {
  const { expected } = await refusal(chargeInTime, ...lateCharge('cancelled: it took too long'))

  expect(expected).toBe('activity "note" with input "cancelled: it took too long"')
})

test('a timeout has the text that history was made with', async () => {
  const past = lateCharge('cancelled: timed out after 60000 ms')
  const { turn } = play(chargeInTime, instanceWithPast(...past))

  expect((await turn(2)).events).toEqual([])
})

test('a call that outlives its scope is cancelled with the text that history was made with', async () => {
  const text = 'cancelled: its scope has ended'
  const past = [dropped(1), recorded.activity(2, 'note', text), completed(2, text)] as const
  const { instance, turn } = play(
    leaves,
    instanceWithPast(recorded.activity(1, 'charge', 1), ...past),
  )

  await turn(2)

  expect(instance.run.outcome).toEqual({ kind: 'returned', value: text })
})
