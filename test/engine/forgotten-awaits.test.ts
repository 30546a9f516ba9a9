/* oxlint-disable typescript/no-floating-promises -- which is what this is about */
import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'

import { activity, channel, workflow, type WorkflowContext } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace, type StoreKind } from '../support/engine.ts'
import type { LogLine } from '../support/workers.ts'

const mail = activity('mail', async (n: number) => n)
const child = workflow('child', async (n: number) => n)
const go = channel<string>('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

/** Code that forgets an await, what it forgot, and the text of that line. */
const FORGETFUL: Record<string, [(ctx: WorkflowContext) => Promise<unknown>, string, string]> = {
  'an activity': [async (ctx) => void ctx.run(mail, 11), 'activity "mail"', 'ctx.run(mail, 11)'],
  'a step': [async (ctx) => void ctx.step('s', () => 12), 'step "s"', "ctx.step('s', () => 12)"],
  'a child': [async (ctx) => void ctx.run(child, 13), 'child workflow "child"', 'run(child, 13)'],
  'a timer': [async (ctx) => void ctx.sleep('14h'), 'a timer', "ctx.sleep('14h')"],
  'an activity after a wait': [
    async (ctx) => {
      await ctx.step('one', () => 1)
      ctx.run(mail, 15)
    },
    'activity "mail"',
    'ctx.run(mail, 15)',
  ],
  'a group': [
    async (ctx) => void ctx.all([ctx.run(mail, 16)]),
    'activity "mail"',
    'ctx.all([ctx.run(mail, 16)])',
  ],
  'a scope': [
    async (ctx) => void ctx.scope(async (inner) => inner.run(mail, 17)),
    'activity "mail"',
    'inner.run(mail, 17)',
  ],
  'what is in a scope': [
    async (ctx) => ctx.scope(async (inner) => void inner.run(mail, 18), { timeout: '1m' }),
    'activity "mail"',
    'inner.run(mail, 18)',
  ],
  'a function that is not awaited': [
    async (ctx) => {
      const helper = async (): Promise<unknown> => ctx.run(mail, 20)
      void helper()
    },
    'activity "mail"',
    'ctx.run(mail, 20)',
  ],
  'Promise.allSettled that is not awaited': [
    async (ctx) => void Promise.allSettled([ctx.step('s', () => 21)]),
    'step "s"',
    "ctx.step('s', () => 21)",
  ],
  'what is handled before it began': [
    async (ctx) => void ctx.run(child, 22).catch(() => {}),
    'child workflow "child"',
    'ctx.run(child, 22)',
  ],
  'a call that is not awaited, in the turn that resumes': [
    async (ctx) => {
      await ctx.sleep(1)
      ctx.run(mail, 23).then(String)
    },
    'activity "mail"',
    'ctx.run(mail, 23)',
  ],
}

const SOURCE = readFileSync(import.meta.filename, 'utf8').split('\n')

/** A call as it is named, with the text of the line instead of its number. */
function found(call: string): [call: string, line: string] {
  const [, name, line] = /^(.*?) at .*forgotten-awaits\.test\.ts:(\d+):\d+\)?$/.exec(call) ?? []
  return [name ?? call, SOURCE[Number(line) - 1] ?? '']
}

/** Code that leaves something behind on purpose. */
const DELIBERATE: Record<string, (ctx: WorkflowContext) => Promise<unknown>> = {
  'the loser of a race': async (ctx) => Promise.race([ctx.sleep('1h'), ctx.run(mail, 1)]),
  'the loser of ctx.race': async (ctx) => ctx.race({ a: ctx.sleep('1h'), b: ctx.run(mail, 1) }),
  'what is left when ctx.race is decided at once': async (ctx) =>
    ctx.race({ a: async (inner) => inner.run(mail, 1), b: async () => 'b' }),
  'what a function still does when the code continues': async (ctx) => {
    const helper = async (): Promise<unknown> => ctx.run(waits, undefined)
    void helper()
    await ctx.step('one', () => 1)
  },
  'what is cancelled': async (ctx) => ctx.run(mail, 1).cancel(),
  'an instance of its own': async (ctx) => void ctx.start(child, 1),
  'a message': async (ctx) => void ctx.get('other').send(go, 'x'),
  'a receive': async (ctx) => void ctx.receive(go),
  'what was done by the end': async (ctx) => {
    const done = ctx.run(mail, 1)
    await ctx.run(mail, 2)
    await done
  },
  'a child that outlives it': async (ctx) => {
    void ctx.run(waits, undefined, { onParentClose: 'abandon' })
    await ctx.step('one', () => 1)
  },
  'a child that outlives it from the same turn on': async (ctx) =>
    void ctx.run(child, 19, { onParentClose: 'abandon' }),
  'a handler of errors': async (ctx) => void ctx.sleep('1h').catch(() => {}),
}

const careless = workflow('careless', async (what: string, ctx) => {
  await (FORGETFUL[what]?.[0] ?? DELIBERATE[what]!)(ctx)
  return 'done'
})
const register = [careless, child, waits]

function warnings({ lines }: { readonly lines: readonly LogLine[] }): readonly LogLine[] {
  return lines.filter(({ message }) => message.startsWith('workflow ended without awaiting calls'))
}

afterEach(() => vi.unstubAllEnvs())

function inProduction(): void {
  vi.stubEnv('NODE_ENV', 'production')
}

describeOnStores('a forgotten await', (kind: StoreKind) => {
  test('of whatever is lost is warned of, with the call and its line', async () => {
    inProduction()
    await using space = await openSpace(kind)
    const runtime = await space.open(register)
    const expected = Object.entries(FORGETFUL)

    for (const [what] of expected) {
      expect(await runtime.run(careless, what, { id: what })).toBe('done')
    }
    const warned = await eventually(() => {
      const all = warnings(space.log)
      return all.length === expected.length && all
    })

    for (const [what, [, call, line]] of expected) {
      const { data } = warned.find(({ data: { instanceId } }) => instanceId === what)!
      expect((data['calls'] as string[]).map(found)).toEqual([
        [call, expect.stringContaining(line)],
      ])
    }
  })

  test('fails the workflow where NODE_ENV is test', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(register)

    for (const [what, [, call, line]] of Object.entries(FORGETFUL)) {
      const error = await runtime.run(careless, what).catch((e: unknown) => e as Error)
      const [, calls] = /ended without awaiting (.*), so it was/.exec((error as Error).message)!
      expect(found(calls!)).toEqual([call, expect.stringContaining(line)])
    }
    const said = space.log.lines.filter(({ level }) => level === 'warn' || level === 'error')
    expect(said.map(({ message }) => message)).toEqual(
      Object.keys(FORGETFUL).map(() => 'workflow failed'),
    )
  })

  test('is not confused with calls that are left behind on purpose', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(register)

    for (const what of Object.keys(DELIBERATE)) {
      expect(await runtime.run(careless, what, { timeout: '8s' })).toBe('done')
    }
    expect(warnings(space.log)).toEqual([])
  })
})

test('calls that began, and were left behind, are warned of and fail nothing', async () => {
  await using space = await openSpace('memory')
  const gives = workflow('gives up', async (_: undefined, ctx) => {
    const fails = ctx.step('f', () => Promise.reject(new Error('no')), {
      retry: { maxAttempts: 1 },
    })
    const later = ctx.sleep('1m')
    try {
      await fails
      return await later
    } catch {
      return 'caught'
    }
  })
  const runtime = await space.open(gives)

  expect(await runtime.run(gives)).toBe('caught')
  const [{ message, data }] = (await eventually(
    () => warnings(space.log).length === 1 && warnings(space.log),
  )) as [LogLine]

  expect(message).toBe(
    'workflow ended without awaiting calls, so they were started and then cancelled; ' +
      'await them, or call cancel() on them',
  )
  expect((data['calls'] as string[]).map((call) => found(call)[0])).toEqual(['a timer'])
})

test.each([
  ['fails', undefined],
  ['fails', 'development'],
  ['completes', 'production'],
])('under node --test the workflow %s where NODE_ENV is %s', async (how, env) => {
  vi.stubEnv('NODE_ENV', env)
  vi.stubEnv('NODE_TEST_CONTEXT', 'child-v8')
  await using space = await openSpace('memory')
  const both = workflow('both', async (_: undefined, ctx) => {
    ctx.run(mail, 1)
    ctx.run(mail, 2)
    return 'completes'
  })
  const runtime = await space.open(both)

  const end = await runtime.run(both).catch(String)

  const failed = /so they were cancelled and may never have run; await them/
  expect(end).toMatch(how === 'fails' ? failed : /^completes$/)
})

test('code that fails, or is cancelled, causes no warning', async () => {
  await using space = await openSpace('memory')
  const fails = workflow('fails', async (_: undefined, ctx) => {
    const later = ctx.run(mail, 1)
    await ctx.step('one', () => Promise.reject(new Error('no')), { retry: { maxAttempts: 1 } })
    await later
  })
  const cleansUp = workflow('cleans up', async (_: undefined, ctx) => {
    const later = ctx.sleep('1h')
    await ctx.receive(go).catch(() => {})
    return later
  })
  const runtime = await space.open([fails, cleansUp])

  await expect(runtime.run(fails)).rejects.toThrow('workflow "fails" failed: step "one" failed')
  const started = await runtime.start(cleansUp)
  await started.cancel()
  await expect(started.result()).rejects.toThrow('cancelled')
  expect(warnings(space.log)).toEqual([])
})

test('each execution that forgets is warned of', async () => {
  inProduction()
  await using space = await openSpace('memory')
  const loops = workflow('loops', async (n: number, ctx) => {
    ctx.run(mail, n)
    if (n > 0) await ctx.continueAsNew(n - 1)
  })
  const runtime = await space.open(loops)

  await runtime.run(loops, 2)
  const warned = await eventually(() => warnings(space.log).length === 3 && warnings(space.log))

  expect(warned.map(({ data }) => data['execution'])).toEqual(expect.arrayContaining([1, 2, 3]))
  const calls = warned.map(({ data }) => (data['calls'] as string[])[0])
  expect(new Set(calls).size).toBe(1)
  expect(calls[0]).toMatch(/forgotten-awaits\.test\.ts/)
})
