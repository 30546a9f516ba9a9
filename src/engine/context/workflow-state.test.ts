import { expect, test } from 'vitest'

import { play, STARTED, testInstance } from '../../../test/support/executions.ts'
import { stateKey } from '../define/channels.ts'
import type { WorkflowContext } from '../define/workflow-context.ts'

const [a, b, c] = [stateKey<number>('a'), stateKey<number>('b'), stateKey<number>('c')]

async function prunes(ctx: WorkflowContext): Promise<unknown> {
  ctx.state.set(a, 1)
  await ctx.sleep(0)
  ctx.state.set(b, 2)
  await ctx.sleep(0)
  const removed = ctx.state.prune('1s')
  ctx.state.set(c, removed)
  return ctx.sleep(0)
}

test('prune removes values that were set longer ago, by the time of turns', async () => {
  const { instance, turn } = play(prunes)
  await turn(1_000)
  await turn(2_000, { type: 'fired', command: 1 })

  const { events, effects } = await turn(2_500, { type: 'fired', command: 2 })

  expect(events.slice(1, 3)).toEqual([
    { type: 'unset', key: 'a' },
    { type: 'set', key: 'c', value: '1' },
  ])
  expect(effects?.state).toEqual([
    { key: 'a', value: null },
    { key: 'c', value: '1' },
  ])
  expect(JSON.parse(instance.writeState())).toEqual([
    ['b', '2', 2_000],
    ['c', '1', 2_500],
  ])
})

test('the next execution keeps the age of the values it received', async () => {
  const state = JSON.stringify([
    ['a', '1', 1_000],
    ['b', '2', 5_000],
  ])
  const instance = testInstance('i', undefined, { started: { ...STARTED, state } })
  const { turn } = play(async (ctx) => {
    ctx.progress([ctx.state.prune('2s'), ctx.state.keys(), ctx.state.get(b)])
    await ctx.sleep(1)
  }, instance)

  const { effects } = await turn(5_500)

  expect(effects?.progress).toBe('[1,["b"],2]')
})
