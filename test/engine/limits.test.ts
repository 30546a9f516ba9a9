// Limits of sizes: where each of them is enforced, that nothing is lost by it, and that a replay decides
// as the code did, whatever the limits are by then.

import { expect, test } from 'vitest'
import { activity, ActivityError, channel, request, stateKey, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const notes = channel<string>('notes')
const asks = request<string, string>('asks')
const kept = stateKey<string>('kept')
const of = (length: number): string => 'x'.repeat(length)

const echoes = workflow('echoes', async (text: string) => text.length)
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(notes))

describeOnStores('limits of sizes', (kind) => {
  test('an input over the limit is refused, and nothing is written', async () => {
    await using space = await openSpace(kind)
    const limits = { inputBytes: 100 }
    const client = space.connect({ limits })
    const runtime = await space.open(echoes, { limits })

    for (const caller of [client, runtime]) {
      await expect(caller.start(echoes, of(99), { id: 'large' })).rejects.toThrow(
        new RangeError(
          'workflow "echoes": its input has 101 bytes, over the limit of 100; store large data elsewhere and pass a reference, or raise limits.inputBytes',
        ),
      )
      expect(await caller.get('large').info()).toBeUndefined()
    }
    expect(await runtime.run(echoes, of(98))).toBe(98)
    // Bytes, not characters.
    await expect(runtime.run(echoes, 'ü'.repeat(50))).rejects.toThrow('has 102 bytes')
  })

  test('a message and a request over the limit are refused, and nothing is written', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits, { limits: { messageBytes: 100 } })
    const instance = await runtime.start(waits)

    await expect(instance.send(notes, of(99))).rejects.toThrow(
      'channel "notes": the message has 101 bytes, over the limit of 100',
    )
    await expect(instance.request(asks, of(99))).rejects.toThrow(
      'request "asks": its input has 101',
    )
    await instance.send(notes, of(98))

    expect(await instance.result()).toBe(of(98))
  })

  test('a result of an activity over the limit fails it, without another attempt', async () => {
    await using space = await openSpace(kind)
    let calls = 0
    const makes = activity('makes', async (length: number) => {
      calls++
      return of(length)
    })
    const asksFor = workflow('asksFor', async (length: number, ctx) => {
      const made = ctx.run(makes, length).then(
        (text) => `${text.length}`,
        (error: Error) => `${error.message} ${error instanceof ActivityError && error.attempts}`,
      )
      return made
    })
    const runtime = await space.open(asksFor, { limits: { resultBytes: 1_000 } })

    expect(await runtime.run(asksFor, 999)).toBe(
      'activity "makes" failed after 1 attempt: activity "makes": its result has 1001 bytes, over the limit of 1000; store large data elsewhere and return a reference, or raise limits.resultBytes 1',
    )
    expect(calls).toBe(1)
    expect(await runtime.run(asksFor, 998)).toBe('998')
  })

  test('a result of a workflow over the limit suspends it; with a higher limit it ends, and nothing runs again', async () => {
    await using space = await openSpace(kind)
    let calls = 0
    const once = activity('once', async () => ++calls)
    const returns = workflow('returns', async (length: number, ctx) => {
      await ctx.run(once)
      return of(length)
    })
    const first = await space.open(returns, { limits: { resultBytes: 1_000 } })
    const instance = await first.start(returns, 2_000, { id: 'r' })
    const info = await eventually(async () => {
      const now = (await instance.info())!
      return now.status === 'suspended' && now
    })
    expect(info.error).toMatchObject({
      name: 'RangeError',
      message: expect.stringMatching(
        /^workflow "returns": its result has 2002 bytes, over the limit of 1000; .* raise limits\.resultBytes$/,
      ) as string,
    })

    // Without a change, it is suspended again.
    await instance.resume()
    await eventually(async () => (await instance.info())!.status === 'suspended')
    await first.close()
    const second = await space.open(returns, { limits: { resultBytes: 3_000 } })
    await second.get('r').resume()

    expect(await second.get('r').result()).toBe(of(2_000))
    expect(calls).toBe(1)
  })

  test.each([
    ['raised', { stateValueBytes: 100_000, stateKeys: 1_000, progressBytes: 100_000 }],
    ['lowered', { stateValueBytes: 10, stateKeys: 1, progressBytes: 1, inputBytes: 10 }],
  ])('a replay decides as the code did, although limits were %s since', async (_change, later) => {
    await using space = await openSpace(kind)
    const names = activity('names', async (text: string) => text.length)
    const [a, b, c] = ['a', 'b', 'c'].map((name) => stateKey<string>(name)) as [
      typeof kept,
      typeof kept,
      typeof kept,
    ]
    const tries = workflow('tries', async (_: undefined, ctx) => {
      const said: string[] = []
      const attempt = (what: string, does: () => unknown): void => {
        try {
          does()
          said.push(what)
        } catch (error) {
          said.push(`${what}: ${(error as Error).name}`)
        }
      }
      attempt('small', () => ctx.state.set(a, of(90)))
      attempt('large', () => ctx.state.set(b, of(200)))
      attempt('second', () => ctx.state.set(b, of(50)))
      attempt('third key', () => ctx.state.set(c, '1'))
      attempt('progress', () => ctx.progress(of(98)))
      attempt('large progress', () => ctx.progress(of(99)))
      const lengths = [await ctx.run(names, of(90))]
      try {
        await ctx.run(names, of(2_000))
      } catch (error) {
        said.push((error as Error).name)
      }
      await ctx.receive(notes)
      return { said, lengths, keys: ctx.state.keys() }
    })
    const limits = { stateValueBytes: 100, stateKeys: 2, progressBytes: 100, inputBytes: 1_000 }
    const first = await space.open(tries, { limits })
    const instance = await first.start(tries, undefined, { id: 't' })
    await eventually(async () => (await instance.info())!.waitingFor.length > 0)
    await eventually(async () =>
      (await instance.info())!.waitingFor.some((wait) => wait.includes('notes')),
    )
    await first.close()
    const second = await space.open(tries, { limits: later })
    await second.get('t').send(notes, 'go')

    expect(await second.get('t').result()).toEqual({
      said: [
        'small',
        'large: RangeError',
        'second',
        'third key: RangeError',
        'progress',
        'large progress: RangeError',
        'RangeError',
      ],
      lengths: [90],
      keys: ['a', 'b'],
    })
  })

  test('all state together has a limit, which counts what is replaced and deleted', async () => {
    await using space = await openSpace(kind)
    const [a, b] = [stateKey<string>('a'), stateKey<string>('b')]
    const fills = workflow('fills', async (_: undefined, ctx) => {
      ctx.state.set(a, of(78))
      ctx.state.set(a, of(58))
      ctx.state.set(b, of(38))
      ctx.state.delete(a)
      ctx.state.set(a, of(58))
      ctx.state.set(a, of(59))
    })
    const runtime = await space.open(fills, { limits: { stateBytes: 100 } })

    await expect(runtime.run(fills)).rejects.toThrow(
      'ctx.state.set "a": all state would have 101 bytes, over the limit of 100; store large data elsewhere',
    )
  })

  test('a history over the limit suspends the instance after a warning; it continues with a higher limit', async () => {
    await using space = await openSpace(kind)
    const done: number[] = []
    const counts = activity('counts', async (n: number) => void done.push(n))
    const loops = workflow('loops', async (rounds: number, ctx) => {
      for (let n = 1; n <= rounds; n++) await ctx.run(counts, n)
      return 'done'
    })
    const first = await space.open(loops, { limits: { historyEvents: 40 } })
    const instance = await first.start(loops, 30, { id: 'h' })
    const info = await eventually(async () => {
      const now = (await instance.info())!
      return now.status === 'suspended' && now
    })

    expect(info.error!.message).toMatch(
      /^history has 4[12] events, over the limit of 40; raise limits\.historyEvents, then resume\(\) the instance; use ctx\.continueAsNew/,
    )
    const before = done.length
    expect(before).toBe(20)
    const warnings = space.log.lines.filter(({ message }) =>
      message?.startsWith('history is close'),
    )
    expect(warnings).toMatchObject([
      { level: 'warn', data: { instanceId: 'h', historyEvents: 40 } },
    ])
    expect(warnings[0]!.message).toContain('ctx.continueAsNew')
    await first.close()
    const second = await space.open(loops)
    await second.get('h').resume()

    expect(await second.get('h').result()).toBe('done')
    expect(done).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
  })

  test('a history may have as many bytes as its limit, and executions begin anew', async () => {
    await using space = await openSpace(kind)
    const echo = activity('echo', async (text: string) => text)
    const loops = workflow(
      'loops',
      async ({ rounds, per }: { rounds: number; per: number }, ctx): Promise<string> => {
        for (let n = 0; n < per; n++) await ctx.run(echo, of(1_000))
        return rounds === 1 ? 'done' : ctx.continueAsNew({ rounds: rounds - 1, per })
      },
    )
    const runtime = await space.open(loops, { limits: { historyBytes: 10_000 } })

    expect(await runtime.run(loops, { rounds: 5, per: 3 })).toBe('done')
    const long = await runtime.start(loops, { rounds: 1, per: 10 })
    const info = await eventually(async () => {
      const now = (await long.info())!
      return now.status === 'suspended' && now
    })
    expect(info.error!.message).toMatch(/^history has 1\d{4} bytes, over the limit of 10000/)
  })

  test('the warning says which instance it is', async () => {
    await using space = await openSpace(kind)
    const echo = activity('echo', async (text: string) => text)
    const values = workflow('values', async (next: string, ctx): Promise<string> => {
      ctx.progress(of(85))
      ctx.state.set(kept, of(85))
      await ctx.run(echo, of(85))
      await ctx.step('step', async (step) => {
        step.heartbeat(of(85))
        return of(85)
      })
      const asked = await ctx.receive(asks)
      asked.reply(of(85))
      return next === '' ? of(85) : ctx.continueAsNew('')
    })
    const limits = {
      inputBytes: 100,
      messageBytes: 100,
      resultBytes: 100,
      progressBytes: 100,
      stateValueBytes: 100,
    }
    const runtime = await space.open([values, echo], { limits })
    const instance = await runtime.start(values, of(85), { id: 'v' })
    for (let n = 0; n < 2; n++) await instance.request(asks, of(85))
    await instance.result()

    const about = new Map(
      space.log.lines
        .filter(({ message }) => message.endsWith('is close to its limit'))
        .map(({ message, data }) => [message.replace(' is close to its limit', ''), data]),
    )
    const all = { instanceId: 'v', workflow: 'values', execution: 1 }
    expect(Object.fromEntries(about)).toMatchObject({
      'workflow "values": its input': { instanceId: 'v', workflow: 'values' },
      'request "asks": its input': { instanceId: 'v' },
      'ctx.progress: the value': all,
      'ctx.state.set "kept": the value': all,
      'ctx.run: input of activity "echo"': all,
      'activity "echo": its result': { ...all, activity: 'echo', attempt: 1 },
      'step "step": ctx.heartbeat': { ...all, activity: 'step' },
      'step "step": its result': { ...all, activity: 'step' },
      'reply: the value': all,
      'workflow "values": its result': { ...all, execution: 2 },
    })
  })

  test('a value close to its limit is warned of once a minute', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(echoes, { limits: { inputBytes: 100 } })

    for (let n = 0; n < 5; n++) await runtime.run(echoes, of(85))

    const warnings = space.log.lines.filter(({ level }) => level === 'warn')
    expect(warnings).toMatchObject([
      {
        message: 'workflow "echoes": its input is close to its limit',
        data: { bytes: 87, limit: 'limits.inputBytes', max: 100 },
      },
    ])
  })

  test('unknown limits are refused with a guess, and those of a runtime by connect', async () => {
    await using space = await openSpace(kind)

    await expect(space.open(echoes, { limits: { stateKey: 1 } as never })).rejects.toThrow(
      'open: limits: unknown option "stateKey", did you mean "stateKeys"?',
    )
    expect(() => space.connect({ limits: { stateKeys: 1 } as never })).toThrow(
      'connect: limits: unknown option "stateKeys"',
    )
    await expect(space.open(echoes, { limits: { inputBytes: 0 } })).rejects.toThrow(
      'open: limits: inputBytes must be a whole number, 1 or more, got 0',
    )
  })
})
