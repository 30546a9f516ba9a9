import { expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import { transaction as inPostgres } from '../../src/postgres/index.ts'
import { transaction as inSqlite } from '../../src/sqlite/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { type LogLine, memoryLog } from '../support/workers.ts'

const TWICE = { maxAttempts: 2, delay: 20, jitter: false }
const ONCE = { maxAttempts: 1 }

/** What lines say, without those of the machinery; of an error its message. */
function logged({ lines }: { readonly lines: readonly LogLine[] }): unknown[] {
  return lines
    .filter(({ data }) => data['instanceId'] !== undefined)
    .map(({ level, message, data }) => {
      const { err, ...keys } = data
      return [level, message, keys, ...(err === undefined ? [] : [(err as Error).message])]
    })
}

const refuse = (): never => {
  throw new RangeError('no')
}
const fails = activity('fails', { retry: TWICE }, refuse)

test.each([[{ code: 5 }], ['text'], [null], [undefined]])(
  'a thrown value that is not an error is logged as one: %j',
  async (thrown) => {
    await using space = await openSpace('memory')
    const throws = (): never => {
      // oxlint-disable-next-line typescript/only-throw-error -- which is what this is about
      throw thrown
    }
    const odd = activity('odd', { retry: TWICE }, throws)
    const run = workflow('run', async (_: undefined, ctx) => {
      void Promise.resolve().then(throws)
      await ctx.run(odd).catch(() => {})
      throws()
    })
    const runtime = await space.open(run)

    await runtime.run(run).catch(() => {})

    const lines = space.log.lines.filter(({ data }) => 'err' in data)
    expect(lines.map(({ message }) => message)).toEqual([
      'activity failed; retrying',
      'activity failed; giving up',
      'unhandled rejection in workflow code',
      'workflow failed',
    ])
    for (const { data } of lines) {
      expect(data['err']).toBeInstanceOf(Error)
      expect((data['err'] as Error).cause).toEqual(thrown)
    }
  },
)

describeOnStores('failures', (kind) => {
  test('are logged: each retry, each activity that gives up, and the workflow that fails', async () => {
    await using space = await openSpace(kind)
    const run = workflow('run', async (_: undefined, ctx) => ctx.run(fails))
    const runtime = await space.open(run)

    await runtime.run(run, undefined, { id: 'a' }).catch(() => {})

    const keys = { instanceId: 'a', workflow: 'run', execution: 1 }
    const attempt = { ...keys, activity: 'fails', maxAttempts: 2 }
    const next = expect.any(Date) as Date
    expect(logged(space.log)).toEqual([
      ['info', 'activity failed; retrying', { ...attempt, attempt: 1, nextAttemptAt: next }, 'no'],
      ['warn', 'activity failed; giving up', { ...attempt, attempt: 2 }, 'no'],
      ['error', 'workflow failed', keys, 'activity "fails" failed after 2 attempts: no'],
    ])
  })

  test('of steps, transactions and limits of time are logged as those of activities', async () => {
    await using space = await openSpace(kind)
    const moves = kind === 'postgres' ? inPostgres('moves', refuse) : inSqlite('moves', refuse)
    const waits = activity(
      'waits',
      (_: undefined, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
        }),
    )
    const run = workflow('run', async (_: undefined, ctx) => {
      for (const call of [
        () => ctx.step('in place', refuse, { retry: ONCE }),
        () => ctx.run(moves, undefined, { retry: ONCE }),
        () => ctx.run(waits, undefined, { timeout: 20, retry: ONCE }),
        () => ctx.run(waits, undefined, { totalTimeout: 20 }),
        () => ctx.run(waits, undefined, { startTimeout: 20, tag: 'nobody' }),
      ]) {
        await call().catch(() => {})
      }
    })
    const runtime = await space.open(run, { lease: '1s' })

    await runtime.run(run, undefined, { id: 'a', timeout: '10s' })

    const about = { instanceId: 'a', workflow: 'run', execution: 1 }
    const gaveUp = (name: string, more: object, message: string): unknown => [
      'warn',
      'activity failed; giving up',
      { ...about, activity: name, ...more },
      message,
    ]
    const once = { attempt: 1, maxAttempts: 1 }
    const hasNone =
      'a transaction needs a database in a file; one in memory can be used by its own thread only'
    const refused = kind === 'memory' ? `transaction "moves" cannot run: ${hasNone}` : 'no'
    expect(logged(space.log)).toEqual([
      gaveUp('in place', once, 'no'),
      gaveUp('moves', once, refused),
      gaveUp('waits', once, 'activity "waits" took longer than 20 ms'),
      gaveUp('waits', { attempt: 1 }, 'activity "waits" took longer than 20 ms'),
      gaveUp('waits', { attempt: 0 }, 'activity "waits" did not begin within 20 ms'),
    ])
  })

  test('of a task are logged by the runtime that ran it, once', async () => {
    await using space = await openSpace(kind)
    const elsewhere = memoryLog()
    const run = workflow('run', async (_: undefined, ctx) =>
      ctx.run(fails, undefined, { tag: 'far' }).catch(() => 'handled'),
    )
    const runtime = await space.open(run, { lease: '1s' })
    await space.open(fails, { tags: { only: ['far'] }, lease: '1s', log: elsewhere })

    await runtime.run(run, undefined, { id: 'a', timeout: '10s' })

    expect(elsewhere.lines.filter(({ message }) => message.startsWith('activity'))).toMatchObject([
      { level: 'info', data: { instanceId: 'a', attempt: 1, activity: 'fails', tag: 'far' } },
      { level: 'warn', data: { instanceId: 'a', attempt: 2, activity: 'fails', tag: 'far' } },
    ])
    expect(logged(space.log)).toEqual([])
  })

  test('are not logged again on replay, nor for a parent that handles them', async () => {
    await using space = await openSpace(kind)
    const go = channel<string>('go')
    const child = workflow('child', async (_: undefined, ctx) => ctx.run(fails))
    const run = workflow('run', async (_: undefined, ctx) => {
      await ctx.run(child, undefined, { id: 'c' }).catch(() => {})
      return ctx.receive(go)
    })
    const first = await space.open([run, child])
    const started = await first.start(run, undefined, { id: 'a' })
    await eventually(async () => (await started.info())!.waitingFor[0]?.includes('go'))
    const before = logged(space.log)
    await first.close()

    const second = await space.open([run, child])
    await second.get('a').send(go, 'on')
    await second.get('a').result({ timeout: '10s' })

    expect(before).toMatchObject([
      ['info', 'activity failed; retrying', { instanceId: 'c' }, 'no'],
      ['warn', 'activity failed; giving up', { instanceId: 'c' }, 'no'],
      ['error', 'workflow failed', { instanceId: 'c' }, expect.any(String)],
    ])
    expect(logged(space.log)).toEqual(before)
  })

  test('say which instance was cancelled, terminated or suspended, once', async () => {
    await using space = await openSpace(kind)
    const go = channel<string>('go')
    const child = workflow('child', async (_: undefined, ctx) => ctx.receive(go))
    const run = workflow('run', async (_: undefined, ctx) =>
      ctx.run(child, undefined, { id: `${ctx.info.id}-child`, onParentClose: 'terminate' }),
    )
    const breaks = workflow('breaks', () => new Promise(() => {}))
    const runtime = await space.open([run, child, breaks], { lease: '1s' })
    const start = async (id: string): Promise<void> => {
      const started = await runtime.start(run, undefined, { id })
      await eventually(async () => (await runtime.get(`${id}-child`).info()) !== undefined)
      await eventually(async () => (await started.info())!.waitingFor.length > 0)
    }
    await start('a')
    await start('b')

    await runtime.get('a').cancel('too late')
    await runtime
      .get('a')
      .result()
      .catch(() => {})
    await runtime
      .get('a-child')
      .result()
      .catch(() => {})
    await runtime.get('b').suspend('audit')
    await runtime.get('b').terminate('enough')
    await runtime.get('b').terminate('enough')
    await runtime
      .get('b-child')
      .result()
      .catch(() => {})
    await runtime.start(breaks, undefined, { id: 'c' })
    await eventually(async () => (await runtime.get('c').info())!.status === 'suspended')

    const of = (id: string): unknown[] =>
      space.log.lines.flatMap(({ level, message, data }) =>
        data['instanceId'] === id ? [[level, message, data['reason']]] : [],
      )
    expect(of('a')).toEqual([['info', 'workflow cancelled', 'too late']])
    expect(of('a-child')).toHaveLength(1)
    expect(of('b')).toEqual([
      ['info', 'instance suspended', 'audit'],
      ['warn', 'workflow terminated', 'enough'],
    ])
    expect(of('b-child')).toEqual([['info', 'workflow terminated', expect.any(String)]])
    expect(of('c')).toEqual([
      ['error', 'instance suspended; resume it once the cause is fixed', undefined],
    ])
  })

  test('are logged with the keys of ctx.log', async () => {
    await using space = await openSpace(kind)
    const logs = activity('logs', { retry: ONCE }, (_: undefined, ctx) => {
      ctx.log.info({}, 'mine')
      throw new RangeError('no')
    })
    const run = workflow('run', async (_: undefined, ctx) => {
      ctx.log.info({}, 'mine')
      await ctx.run(logs)
    })
    const runtime = await space.open(run)

    await runtime.run(run, undefined, { id: 'a' }).catch(() => {})

    const keys = (said: string): string[][] =>
      space.log.lines.flatMap(({ message, data }) =>
        message.startsWith(said) ? [Object.keys(data).filter((key) => key !== 'err')] : [],
      )
    const [ofWorkflow, ofActivity] = keys('mine')
    expect(ofWorkflow).toEqual(['instanceId', 'workflow', 'execution'])
    expect(keys('workflow failed')).toEqual([ofWorkflow])
    expect(ofActivity).toEqual([...ofWorkflow!, 'activity', 'attempt'])
    expect(keys('activity failed')).toEqual([[...ofActivity!, 'maxAttempts']])
  })
})
