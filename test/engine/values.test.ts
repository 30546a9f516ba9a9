/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import { activity, type Codec, workflow } from '../../src/index.ts'
import type { Schema } from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'

const echo = activity('echo', async (value: unknown) => value)
const through = workflow('through', async (value: unknown, ctx) => {
  const stepped = await ctx.step('again', () => value)
  return ctx.run(echo, stepped)
})

/** A hand-made Standard Schema. */
function schema<In, Out>(
  validate: (value: unknown) => { value: Out } | { issues: readonly object[] } | Promise<unknown>,
): Schema<In, Out> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

describeOnStores('values', (kind) => {
  test('dates, maps, sets, bigints, bytes and undefined come back as they were', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(through)
    const value = {
      date: new Date('2030-01-02T03:04:05.678Z'),
      map: new Map<unknown, unknown>([
        ['a', 1n],
        [{ b: 2 }, new Set([1, 'x'])],
      ]),
      set: new Set(['a', undefined]),
      big: 2n ** 80n,
      bytes: new Uint8Array([0, 1, 255]),
      nothing: undefined,
      numbers: [NaN, -0, Infinity, 1e300],
      text: '!tagged ~b \u001e\u001f\u0000\u0001 \ud83d\ude00',
    }

    const result = await holdfast.run(through, value)

    expect(result).toStrictEqual(value)
  })

  test.each([
    ['a NUL', 'a\0b'],
    ['lone surrogates', '\ud800 and \udc00'],
    ['separators', '\u0001\u001e\u001f\u2028\u2029\r\n'],
    ['ten megabytes', 'x'.repeat(10 << 20)],
    ['ten megabytes to escape', '\0"\\'.repeat((10 << 20) / 24)],
    ['much nesting', JSON.parse('['.repeat(900) + ']'.repeat(900)) as unknown],
  ])('%s as input and result affects nothing else', { timeout: 60_000 }, async (_, value) => {
    await using space = await openSpace(kind)
    const limits = { inputBytes: 32 << 20, resultBytes: 32 << 20 }
    const holdfast = await space.open(through, { limits })

    const results = await Promise.all([
      ...Array.from({ length: 20 }, (__, n) => holdfast.run(through, n)),
      holdfast.run(through, value),
      ...Array.from({ length: 20 }, (__, n) => holdfast.run(through, n)),
    ])

    const numbers = Array.from({ length: 20 }, (__, n) => n)
    expect(results.slice(0, 20)).toEqual(numbers)
    expect(results[20]).toEqual(value)
    expect(results.slice(21)).toEqual(numbers)
  })

  test.each([
    ['a function', { f: () => 1 }, 'cannot store a function at $.f'],
    [
      'a class instance',
      { x: new URL('http://a') },
      'cannot store an instance of URL at $.x; convert it to plain data',
    ],
    [
      'a promise',
      { p: Promise.resolve(1) },
      'cannot store a Promise at $.p; did you forget await?',
    ],
    ['a symbol', [Symbol('s')], 'cannot store a symbol at $[0]'],
    ['a cycle', cycle(), 'cannot store a cycle at $.self; it leads back to $'],
  ])('%s is refused by its path before anything is started', async (_, value, message) => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(through)

    const bad = holdfast.start(through, value, { id: 'bad' }).catch((error: unknown) => error)
    const good = holdfast.run(through, 1)

    expect(await bad).toBeInstanceOf(TypeError)
    expect(await bad).toMatchObject({ message: `workflow "through": its input: ${message}` })
    expect(await good).toBe(1)
    expect(await holdfast.get('bad').info()).toBeUndefined()
  })

  test('an input of an activity that cannot be stored is thrown at the call', async () => {
    await using space = await openSpace(kind)
    const tries = workflow('tries', async (_, ctx) => {
      try {
        await ctx.run(echo, { f: () => 1 })
        return 'stored'
      } catch (error) {
        return (error as Error).message
      }
    })
    const holdfast = await space.open(tries)

    expect(await holdfast.run(tries)).toBe(
      'ctx.run: input of activity "echo": cannot store a function at $.f',
    )
  })

  test('the code never shares an object with its caller', async () => {
    await using space = await openSpace(kind)
    const list: number[] = [1]
    const grow = activity('grow', async (items: number[]) => {
      items.push(items.length + 1)
      return items
    })
    const run = workflow('run', async (items: number[], ctx) => {
      const grown = await ctx.run(grow, items)
      items.push(99)
      return [items, grown]
    })
    const holdfast = await space.open(run)

    expect(await holdfast.run(run, list)).toEqual([
      [1, 99],
      [1, 2],
    ])
    expect(list).toEqual([1])
  })

  test('a schema parses the input once, at the edge', async () => {
    await using space = await openSpace(kind)
    let parsed = 0
    const input = schema<{ n: string }, { n: number }>((value) => {
      parsed++
      return { value: { n: Number((value as { n: string }).n) } }
    })
    const add = workflow('add', { input }, async ({ n }, ctx) => {
      await ctx.sleep(1)
      return n + 1
    })
    const holdfast = await space.open(add)

    expect(await holdfast.run(add, { n: '41' })).toBe(42)
    expect(parsed).toBe(1)
  })

  test('an input that its schema refuses is named by its path', async () => {
    await using space = await openSpace(kind)
    const input = schema<{ items: { price: number }[] }, { items: { price: number }[] }>(() =>
      Promise.resolve({
        issues: [
          { message: 'must be positive', path: ['items', 0, { key: 'price' }] },
          { message: 'too late' },
        ],
      }),
    )
    const buy = workflow('buy', { input }, async () => 1)
    const holdfast = await space.open(buy)

    await expect(holdfast.start(buy, { items: [{ price: -1 }] }, { id: 'b' })).rejects.toThrow(
      'workflow "buy": its input is not valid: $.items.0.price: must be positive; $: too late',
    )
    expect(await holdfast.get('b').info()).toBeUndefined()
  })

  test('a schema of an activity parses what its code receives', async () => {
    await using space = await openSpace(kind)
    const input = schema<string, number>((value) => ({ value: Number(value) }))
    const half = activity('half', { input }, async (n) => n / 2)
    const run = workflow('run', async (text: string, ctx) => ctx.run(half, text))
    const holdfast = await space.open(run)

    expect(await holdfast.run(run, '42')).toBe(21)
  })

  test.each<[string, Codec]>([
    [
      'bytes',
      {
        encode: (value) => Buffer.from(JSON.stringify(value)).map((byte) => byte ^ 0xff),
        decode: (data) =>
          JSON.parse(
            Buffer.from(data as Uint8Array)
              .map((byte) => byte ^ 0xff)
              .toString(),
          ) as unknown,
      },
    ],
    [
      'text with control characters',
      {
        encode: (value) => `\0\u0001\u001e\u001f\ud800${JSON.stringify(value)}`,
        decode: (data) => JSON.parse((data as string).slice(5)) as unknown,
      },
    ],
  ])('a codec that writes %s is used for every value', async (_, codec) => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(through, { codec })

    const result = await holdfast.run(through, { a: [1, 'ä'] }, { id: 'c' })

    expect(result).toEqual({ a: [1, 'ä'] })
    expect(await space.connect({ codec }).get('c').result()).toEqual(result)
  })
})

function cycle(): object {
  const value: Record<string, unknown> = {}
  value['self'] = value
  return value
}
