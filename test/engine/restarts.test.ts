/* oxlint-disable vitest/no-conditional-expect -- the outcome depends on which side was faster */
/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import { activity, open, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace, STORES } from '../support/engine.ts'

describeOnStores('restarts', (kind) => {
  test('another runtime continues at once where a closed one stopped', async () => {
    await using space = await openSpace(kind)
    const ran: string[] = []
    const note = activity('note', async (name: string) => void ran.push(name))
    const gate = deferred()
    const twoSteps = workflow('two-steps', async (_, ctx) => {
      await ctx.run(note, 'first')
      await ctx.step('gate', (at) => {
        const stopped = new Promise((_resolve, reject) => {
          at.signal.addEventListener('abort', () => reject(at.signal.reason as Error))
        })
        return Promise.race([gate.promise, stopped])
      })
      await ctx.run(note, 'second')
      return ran.length
    })
    const first = await space.open(twoSteps)
    const handle = await first.start(twoSteps, undefined, { id: 'w' })
    await eventually(async () => (await handle.info())!.waitingFor[0]?.startsWith('step "gate"'))

    await first.close({ drain: 0 })
    gate.resolve(undefined)
    const second = await space.open(twoSteps)

    expect(await second.get(twoSteps, 'w').result({ timeout: '5s' })).toBe(2)
    expect(ran).toEqual(['first', 'second'])
  })

  test('closing lets running activities finish and records what they did', async () => {
    await using space = await openSpace(kind)
    const begun = deferred()
    const ends = deferred<string>()
    let runs = 0
    const slow = activity('slow', async () => {
      runs++
      begun.resolve(undefined)
      return ends.promise
    })
    const run = workflow('run', async (_, ctx) => {
      const value = await ctx.run(slow)
      await ctx.sleep(1)
      return value
    })
    const first = await space.open(run)
    await first.start(run, undefined, { id: 'w' })
    await begun.promise

    const closed = first.close({ drain: '10s' })
    ends.resolve('done')
    await closed
    const second = await space.open(run)

    expect(await second.get(run, 'w').result({ timeout: '5s' })).toBe('done')
    expect(runs).toBe(1)
  })

  test('an activity that does not finish while closing is aborted and run again elsewhere', async () => {
    await using space = await openSpace(kind)
    const aborted = deferred<unknown>()
    let runs = 0
    const slow = activity('slow', async (_, ctx) => {
      if (++runs === 2) return 'again'
      ctx.signal.addEventListener('abort', () => aborted.resolve(ctx.signal.reason))
      return new Promise<string>(() => {})
    })
    const run = workflow('run', async (_, ctx) => ctx.run(slow))
    const first = await space.open(run)
    await first.start(run, undefined, { id: 'w' })
    await eventually(() => runs === 1)

    await first.close({ drain: 20 })
    const second = await space.open(run)

    expect(await aborted.promise).toMatchObject({ name: 'CancelledError' })
    expect(await second.get(run, 'w').result({ timeout: '5s' })).toBe('again')
  })

  test('a closed runtime refuses to start anything, and closing twice is harmless', async () => {
    await using space = await openSpace(kind)
    const run = workflow('run', async () => 1)
    const holdfast = await space.open(run)

    await Promise.all([holdfast.close(), holdfast.close()])

    await expect(holdfast.start(run)).rejects.toMatchObject({ name: 'StoreError', code: 'closed' })
  })

  test('a start that races with a close is either refused or survives', async () => {
    await using space = await openSpace(kind)
    const add = workflow('add', async (n: number, ctx) => ctx.step('add', () => n + 1))
    const other = workflow('other', async (n: number) => n)
    const first = await space.open(add)
    await first.run(add, 0)

    const starts = Array.from({ length: 60 }, (_, n) =>
      n % 3 === 0 ? first.start(other, n, { id: `n-${n}` }) : first.start(add, n, { id: `n-${n}` }),
    )
    const closed = first.close({ drain: '5s' })
    const outcomes = await Promise.allSettled(starts)
    await closed
    const second = await space.open([add, other])

    for (const [n, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toMatchObject({ name: 'StoreError', code: 'closed' })
      } else {
        const result = await second.get(`n-${n}`).result({ timeout: '5s' })
        expect(result).toBe(n % 3 === 0 ? n : n + 1)
      }
    }
  })

  test('values of steps are the same after a restart, and so is the time', async () => {
    await using space = await openSpace(kind)
    const seen: unknown[][] = []
    const gate = deferred()
    const run = workflow('run', async (_, ctx) => {
      const values: unknown[] = [ctx.info.id, ctx.now().getTime()]
      seen.push(values)
      values.push(await ctx.step('random', () => Math.random()), ctx.now().getTime())
      await ctx.sleep(1)
      values.push(ctx.now().getTime())
      await ctx.step('gate', (at) =>
        Promise.race([
          gate.promise,
          new Promise((_resolve, reject) =>
            at.signal.addEventListener('abort', () => reject(new Error('stop'))),
          ),
        ]),
      )
      return values
    })
    const first = await space.open(run)
    await first.start(run, undefined, { id: 'w' })
    await eventually(() => seen[0]?.length === 5)
    await first.close({ drain: 0 })
    gate.resolve(undefined)
    const second = await space.open(run)

    const result = await second.get(run, 'w').result({ timeout: '5s' })

    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(result).toEqual(seen[0])
  })

  test('a failed attempt with a long delay is remembered over a restart', async () => {
    await using space = await openSpace(kind)
    const attempts: number[] = []
    const retry = { delay: '1200ms', jitter: false, backoff: 'fixed' } as const
    const flaky = activity('flaky', { retry }, async (_, ctx) => {
      attempts.push(ctx.attempt)
      if (ctx.attempt < 2) throw new Error('not yet')
      return 'ok'
    })
    const run = workflow('run', async (_, ctx) => ctx.run(flaky))
    const first = await space.open(run)
    const handle = await first.start(run, undefined, { id: 'w' })
    await eventually(async () => (await handle.info())!.waitingFor[0]?.includes('attempt 1 failed'))
    await first.close()
    const second = await space.open(run)

    expect(await second.get(run, 'w').result({ timeout: '8s' })).toBe('ok')
    expect(attempts).toEqual([1, 2])
  })

  test('lines of the workflow log are written once, and not again after a restart', async () => {
    await using space = await openSpace(kind)
    const gate = deferred()
    const run = workflow('run', async (name: string, ctx) => {
      ctx.log.info({ at: 1 }, `begun ${name}`)
      await ctx.step('one', () => 1)
      ctx.log.info({ at: 2 }, `one ${name}`)
      await ctx.step('gate', (at) =>
        Promise.race([
          gate.promise,
          new Promise((_resolve, reject) =>
            at.signal.addEventListener('abort', () => reject(new Error('stop'))),
          ),
        ]),
      )
      ctx.log.info({ at: 3 }, `gone ${name}`)
    })
    const first = await space.open(run)
    await first.start(run, 'a', { id: 'a' })
    // One that a client starts runs its first lines here, after a claim.
    await space.connect().start(run, 'b', { id: 'b' })
    await first.close({ drain: 0 })
    const second = await space.open(run)
    await eventually(() => space.log.at('info').includes('one b'))
    gate.resolve(undefined)
    await second.get('a').result({ timeout: '5s' })
    await second.get('b').result({ timeout: '5s' })

    const lines = space.log.lines.filter(({ level }) => level === 'info')
    const keys = { instanceId: 'a', workflow: 'run', execution: 1 }
    expect(lines.filter(({ data }) => data['instanceId'] === 'a')).toEqual([
      { level: 'info', message: 'begun a', data: { ...keys, at: 1 } },
      { level: 'info', message: 'one a', data: { ...keys, at: 2 } },
      { level: 'info', message: 'gone a', data: { ...keys, at: 3 } },
    ])
    expect(
      lines.filter(({ data }) => data['instanceId'] === 'b').map(({ message }) => message),
    ).toEqual(['begun b', 'one b', 'gone b'])
  })

  test('a workflow can read whether it is being replayed', async () => {
    await using space = await openSpace(kind)
    const seen: boolean[] = []
    const run = workflow('run', async (_, ctx) => {
      seen.push(ctx.info.replaying)
      await ctx.step('one', () => 1)
      seen.push(ctx.info.replaying)
      await ctx.sleep('1h')
    })
    const first = await space.open(run)
    const handle = await first.start(run, undefined, { id: 'own' })
    await eventually(async () => (await handle.info())!.waitingFor[0]?.startsWith('timer'))
    expect(seen).toEqual([false, false])
    await first.close()
    await space.connect().start(run, undefined, { id: 'client' })
    await space.open(run)
    await eventually(() => seen.length === 4)

    expect(seen).toEqual([false, false, false, false])
  })

  test('a workflow that is not registered here is started, and waits, with a warning', async () => {
    await using space = await openSpace(kind)
    const known = workflow('known', async () => 1)
    const unknown = workflow('unknown', async (n: number) => n)
    const holdfast = await space.open(known)

    const handle = await holdfast.start(unknown, 7)
    await holdfast.start(unknown, 8)

    expect(space.log.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('is not registered here') as string,
        data: { workflow: 'unknown' },
      },
    ])
    expect(await handle.info()).toMatchObject({ status: 'scheduled' })
    await space.open(unknown)
    expect(await handle.result({ timeout: '5s' })).toBe(7)
  })

  test('an activity without code waits, with a warning that names it', async () => {
    await using space = await openSpace(kind)
    const mail = activity<string, void>('mail')
    const run = workflow('run', async (to: string, ctx) => ctx.run(mail, to))
    const first = await space.open(run)

    const handle = await first.start(run, 'kim', { id: 'w' })
    const [line] = await eventually(() => space.log.lines.filter(({ level }) => level === 'warn'))

    expect(line!.message).toContain('no code is registered here for this activity')
    expect(line!.data).toMatchObject({ activity: 'mail', instanceId: 'w' })
    expect((await handle.info())!.waitingFor).toEqual([
      'activity "mail": attempt 1, waiting for a runtime',
    ])
    await first.close()
    const sent: string[] = []
    const second = await space.open([run, mail.implement(async (to) => void sent.push(to))])
    await second.get('w').result({ timeout: '15s' })
    expect(sent).toEqual(['kim'])
  })

  test('a log that throws affects no workflow', async () => {
    await using space = await openSpace(kind)
    const refuse = (): never => {
      throw new Error('disk full')
    }
    const log = { debug: refuse, info: refuse, warn: refuse, error: refuse }
    const run = workflow('run', async (n: number, ctx) => {
      ctx.log.info({}, 'one')
      const doubled = await ctx.step('double', (at) => {
        at.log.warn({}, 'two')
        return n * 2
      })
      ctx.log.error({}, 'three')
      return doubled
    })
    const holdfast = await space.open(run, { log })

    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) => holdfast.run(run, n, { timeout: '5s' })),
    )

    expect(results).toEqual(Array.from({ length: 30 }, (_, n) => n * 2))
  })
})

describe('open', () => {
  test.each(STORES)('a list without definitions is refused on %s', async (kind) => {
    await using space = await openSpace(kind)

    await expect(open(space.store, { register: [] })).rejects.toThrow(
      'open: register contains no workflow and no activity with code',
    )
  })

  test('without register the error says what to pass, and what to use instead', async () => {
    // @ts-expect-error it is needed
    await expect(open('memory:', {})).rejects.toThrow(
      'open: register is missing: list the workflows and activities to run here, or use connect()',
    )
  })
})
