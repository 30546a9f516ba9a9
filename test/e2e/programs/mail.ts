// Workflows that get messages, from outside and from each other. No two messages are alike.

import { channel, message, request, stateKey, workflow } from '../../../src/index.ts'
import { type Effects, Refused, takes } from './effects.ts'
import type { Families } from './families.ts'
import type { Job } from './workflows.ts'

/** Filled by the driving process for `collect`, and by `leaves`. */
export const parcels = channel<string>('parcels')
/** Requests of the driving process to `desk`. */
export const questions = request<Question, number>('questions')

export interface Question {
  readonly text: string
  readonly i: number
}

const words = channel<string>('words')
const answers = channel<readonly string[]>('answers')
/** What the other instance of `talks` is called, behind its own id. */
const OTHER = '.other'
const list = stateKey<readonly string[]>('list')

export function mailOn({ quick }: Effects, { leaf }: Families) {
  // Begins a new execution after each second message, with the others waiting.
  const collect = workflow('collect', async ({ seed, n }: Job, ctx): Promise<unknown> => {
    for (let left = n; left > 0; left--) {
      if (left < n && left % 2 === 0) return ctx.continueAsNew({ seed, n: left })
      const parcel = await ctx.receive(parcels)
      ctx.state.set(list, [...(ctx.state.get(list) ?? []), parcel])
      await ctx.run(quick, { value: left, ms: takes(seed, left, 60) })
    }
    return ctx.state.get(list)
  })

  const replies = workflow('replies', async ({ seed, n }: Job, ctx) => {
    const received: string[] = []
    while (received.length < n) {
      received.push(await ctx.receive(words))
      await ctx.run(quick, { value: received.length, ms: takes(seed, received.length, 40) })
    }
    void ctx.get(ctx.info.id.slice(0, -OTHER.length)).send(answers, received)
  })

  return {
    collect,
    replies,

    talks: workflow('talks', async ({ seed, n }: Job, ctx) => {
      const { id } = ctx.info
      const said = (i: number): string => `${id}: word ${i}`
      const other = await ctx.start(
        replies,
        { seed, n: n + 3 },
        { id: `${id}${OTHER}`, send: message(words, said(0)) },
      )
      for (let i = 1; i <= n; i++) await other.send(words, said(i))
      const together = [other.send(words, said(n + 1)), other.send(words, said(n + 2))]
      const received = await ctx.receive(answers)
      await Promise.all(together)
      // Those two have no order.
      return [received.slice(0, n + 1), received.slice(n + 1).toSorted()]
    }),

    // What it does not wait for is done before it ends.
    leaves: workflow('leaves', async ({ seed, n }: Job, ctx) => {
      const { id } = ctx.info
      await ctx.run(quick, { value: n, ms: takes(seed, n, 60) })
      for (let i = 0; i < n; i++) void ctx.get(`${id}.box`).send(parcels, `${id}: left ${i}`)
      void ctx.start(collect, { seed, n }, { id: `${id}.box` })
      void ctx.start(leaf, { seed, n })
    }),

    desk: workflow('desk', async ({ seed, n }: Job, ctx) => {
      for (let i = 0; i < n; i++) {
        const asked = await ctx.receive(questions)
        const value = await ctx.run(quick, { value: asked.input.i * 2, ms: takes(seed, i, 60) })
        if (asked.input.i % 3 === 2) asked.reject(new Refused('not this one', { value }))
        else asked.reply(value)
      }
      return n
    }),
  }
}
