import { describe, expect, test } from 'vitest'
import { activity, channel, workflow } from '../../src/index.ts'
import { openTest, stub, stubStep } from '../../src/testing/index.ts'

const DAY = 86_400_000
const approved = channel<string>('approved')
const mail = activity('mail', async (to: string): Promise<string> => {
  throw new Error(`no mail server for ${to}`)
})

const sleeper = workflow('sleeper', async (days: number, ctx) => {
  const before = ctx.now().getTime()
  await ctx.sleep(`${days}d`)
  return ctx.now().getTime() - before
})

const approve = workflow('approve', async (to: string, ctx) => {
  await ctx.run(mail, to)
  const by = await ctx.receive(approved, { timeout: '3d' })
  return by === undefined ? 'expired' : `approved by ${by}`
})

describe('time', () => {
  test('jumps over a sleep of days while the test waits for the result', async () => {
    await using t = await openTest({ register: sleeper })

    expect(await t.run(sleeper, 30)).toBe(30 * DAY)
    expect(t.now()).toEqual(new Date('2030-01-31T00:00:00Z'))
  })

  test('does not move while no call waits', async () => {
    await using t = await openTest({ register: approve, stubs: [stub(mail, () => 'sent')] })

    const order = await t.start(approve, 'kim')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await t.settle()
    await order.send(approved, 'ann')

    expect(await order.result()).toBe('approved by ann')
    expect(t.now()).toEqual(new Date('2030-01-01T00:00:00Z'))
  })

  test('moves by exactly what advance says', async () => {
    await using t = await openTest({ register: approve, stubs: [stub(mail, () => 'sent')] })

    const order = await t.start(approve, 'kim')
    await t.advance('2d')
    expect((await order.info())?.status).toBe('running')
    await t.advance('1d')

    expect((await order.info())?.output).toBe('expired')
    expect(t.now()).toEqual(new Date('2030-01-04T00:00:00Z'))
  })
})

test('a workflow in place of options is named', async () => {
  const hello = workflow('hello', async () => 'hello')

  // @ts-expect-error not options
  await expect(openTest(hello)).rejects.toThrow(
    'openTest: needs options, got a definition: pass it as { register }',
  )
  await expect(openTest({ register: [] })).rejects.toThrow(
    /^openTest: register contains no workflow/,
  )
})

test('steps are replaced by name', async () => {
  const w = workflow('w', async (_, ctx) => ctx.step('fetch', () => 'real'))
  await using t = await openTest({ register: w, stubs: [stubStep('fetch', () => 'stub')] })

  expect(await t.run(w)).toBe('stub')
  expect(t.calls).toEqual([{ activity: 'fetch', input: undefined, attempt: 1 }])
})
