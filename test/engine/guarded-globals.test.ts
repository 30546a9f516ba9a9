import { expect, test, vi } from 'vitest'
import {
  activity,
  type Instance,
  type InstanceInfo,
  open,
  type Schema,
  workflow,
} from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const calls: Record<string, () => unknown> = {
  'Date.now()': () => Date.now(),
  'Math.random()': () => Math.random(),
  'setTimeout()': () => setTimeout(fired, 0),
  'setInterval()': () => setInterval(fired, 1),
  'setImmediate()': () => setImmediate(fired),
  'fetch()': () => fetch('http://127.0.0.1:1/'),
}
const fired = vi.fn<() => void>()

function suspended(instance: Instance): Promise<InstanceInfo> {
  return eventually(async () => {
    const info = (await instance.info())!
    return info.status === 'suspended' && info
  })
}

describeOnStores('a global that cannot be replayed', (kind) => {
  test('suspends the instance; nothing of that turn happens, and a corrected deploy continues', async () => {
    await using space = await openSpace(kind)
    const ran: string[] = []
    const did = (what: string): number => ran.push(what)
    const act = activity('act', async (what: string) => did(what))
    const order = (look: () => unknown) =>
      workflow('order', async (_: undefined, ctx) => {
        try {
          return await ctx.saga(async (undo) => {
            await ctx.run(act, 'reserve')
            undo(() => ctx.run(act, 'release'))
            look()
            await ctx.run(act, 'charge')
            return 'done'
          })
        } catch (error) {
          did('caught')
          throw error
        } finally {
          did('finally')
        }
      })
    const careless = order(() => Date.now())
    const first = await space.open(careless)

    const instance = await first.start(careless, undefined, { id: 'o' })
    const { error } = await suspended(instance)
    const before = [...ran]
    await first.close()
    const second = await space.open(order(() => 'nothing'))
    await second.get('o').resume()

    expect(error!.message).toMatch(
      /^instance "o" of workflow "order" 1\.0\.0: Date\.now\(\) was called at .*guarded-globals\.test\.ts:\d+:\d+\)?\. It gives a different value on replay; use ctx\.now\(\) instead\. Fix the code, then resume the instance$/,
    )
    expect(before).toEqual(['reserve'])
    expect(await second.get('o').result({ timeout: '10s' })).toBe('done')
    expect(ran).toEqual(['reserve', 'charge', 'finally'])
  })
})

test.each(Object.keys(calls))('%s says what to use, and has no effect', async (name) => {
  await using space = await openSpace('memory')
  const careless = workflow('careless', async (late: boolean, ctx) => {
    if (late) await ctx.sleep(1)
    await calls[name]!()
    await ctx.sleep(1)
  })
  const runtime = await space.open(careless)

  for (const late of [false, true]) {
    const { error } = await suspended(await runtime.start(careless, late))
    expect(error!.message).toContain(`: ${name} was called at `)
    expect(error!.message).toMatch(
      /\. It (gives a different value on replay|cannot be replayed); use ctx\.\w+\(/,
    )
  }
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(fired).not.toHaveBeenCalled()
})

test('activities, steps and all other code can use them', async () => {
  const allowed = activity('allowed', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return Date.now() > 0 && Math.random() < 1
  })
  const fine = workflow('fine', async (_: undefined, ctx) => {
    const step = await ctx.step('step', () => Date.now() > 0)
    return [step, await ctx.run(allowed)]
  })
  const now = Date.now
  const runtime = await open('memory:', { register: fine })

  expect(Date.now).not.toBe(now)
  expect(Date.now()).toBeGreaterThan(0)
  expect(await runtime.run(fine)).toEqual([true, true])
  await runtime.close()
  expect(Date.now).toBe(now)
})

test('the stack of the report begins with its message', async () => {
  const lines: { err?: Error }[] = []
  const keep = (data: object): number => lines.push(data)
  const log = { debug() {}, info() {}, warn: keep, error: keep }
  const careless = workflow('careless', async () => Date.now())
  await using runtime = await open('memory:', { register: careless, log })

  await suspended(await runtime.start(careless))
  const reported = await eventually(async () => lines.find(({ err }) => err !== undefined))

  expect(reported.err!.stack).toContain(
    'It gives a different value on replay; use ctx.now() instead. Fix the code',
  )
})

test('codecs, schemas and limit keys can use them', async () => {
  const used = new Set<string>()
  const use = (who: string): void => {
    if (Date.now() > 0 && Math.random() < 1) used.add(who)
  }
  const plain = {
    encode: (value: unknown): string => JSON.stringify([value]),
    decode: (data: Uint8Array | string): unknown => (JSON.parse(String(data)) as [unknown])[0],
  }
  const codec: typeof plain = {
    encode: (value) => (use('encode'), plain.encode(value)),
    decode: (data) => (use('decode'), plain.decode(data)),
  }
  const schema = (who: string): Schema<string> => ({
    '~standard': { version: 1, vendor: 'test', validate: (value) => (use(who), { value }) },
  })
  const limit = { concurrency: 1, key: () => (use('limit.key'), 'one') }
  const act = activity('act', { input: schema('act input'), limit }, async (text) => text)
  const options = { input: schema('input'), output: schema('output') }
  const fine = workflow('fine', options, async (text: string, ctx) => {
    ctx.progress(text)
    return ctx.run(act, `${text}!`)
  })
  await using runtime = await open('memory:', { register: [fine, act], codec })

  const result = await runtime.run(fine, 'a', { timeout: '10s' })

  expect(result).toBe('a!')
  expect([...used].toSorted()).toEqual(
    ['encode', 'decode', 'limit.key', 'act input', 'input', 'output'].toSorted(),
  )
})

test('in production nothing is guarded', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  try {
    const careless = workflow('careless', async () => Date.now() > 0)
    await using runtime = await open('memory:', { register: careless })

    expect(await runtime.run(careless)).toBe(true)
  } finally {
    vi.unstubAllEnvs()
  }
})
