import { expect, test } from 'vitest'

import { activity, ActivityError, workflow } from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'
import { dataOf, stopped } from './support.ts'

const mail = activity<string, string>('mail')
const sends = workflow('sends', async (to: string, ctx) => ctx.run(mail, to))
const sendsOnce = workflow('sends once', async (to: string, ctx) =>
  ctx.run(mail, to, { retry: { maxAttempts: 1 } }),
)

describeOnStores('the options of what implements a contract', (kind) => {
  // Beside the workflow, or in a runtime of its own, where the call is a task.
  test.each([['beside the workflow'], ['elsewhere']])('hold %s', async (place) => {
    await using space = await openSpace(kind)
    const attempts: number[] = []
    const fails = mail.implement(
      async (to, ctx) => {
        attempts.push(ctx.attempt)
        throw new Error(`no such address: ${to}`)
      },
      { retry: { maxAttempts: 2, backoff: 'none' } },
    )
    const isBeside = place === 'beside the workflow'
    const runtime = await space.open(isBeside ? [sends, sendsOnce, fails] : [sends, sendsOnce])
    if (!isBeside) await space.open(fails)

    const error = await runtime.run(sends, 'kim', { timeout: '10s' }).catch((e: unknown) => e)
    await runtime.run(sendsOnce, 'kim', { timeout: '10s' }).catch(() => {})

    expect((error as Error).cause).toBeInstanceOf(ActivityError)
    // Twice as the code says, then once as the call says.
    expect(attempts).toEqual([1, 2, 1])
  })

  test.each([['beside the workflow'], ['elsewhere']])(
    'end an attempt that takes too long, %s',
    async (place) => {
      await using space = await openSpace(kind)
      const hangs = mail.implement(async (_to, ctx) => String(await stopped(ctx)), {
        retry: { maxAttempts: 1 },
        timeout: 20,
      })
      const isBeside = place === 'beside the workflow'
      const runtime = await space.open(isBeside ? [sends, hangs] : sends)
      if (!isBeside) await space.open(hangs)

      await expect(runtime.run(sends, 'kim', { timeout: '10s' })).rejects.toThrow(
        'workflow "sends" failed: activity "mail" failed after 1 attempt: activity "mail" took longer than 20 ms',
      )
    },
  )

  test('check its input', async () => {
    await using space = await openSpace(kind)
    const input = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          value === 'kim' ? { value } : { issues: [{ message: 'nobody we know' }] },
      },
    } as never
    const code = mail.implement(async (to) => `hello ${to}`, { input })
    const runtime = await space.open([sends, code])

    expect(await runtime.run(sends, 'kim')).toBe('hello kim')
    await expect(runtime.run(sends, 'eve')).rejects.toThrow('nobody we know')
  })

  test('route a call by its tag, and a runtime without the code leaves the route as it is', async () => {
    await using space = await openSpace(kind)
    const tagged = mail.implement(async (_to, ctx) => ctx.info.tag ?? 'none', { tag: 'gpu' })
    const asker = await space.open([sends, tagged])
    const started = await asker.start(sends, 'kim', { id: 'i' })
    await asker.idle()
    await asker.close()
    // It replays a history in which the call had a tag that this code does not name.
    const next = await space.open(sends)
    await next.idle()
    await space.open(tagged, { tags: ['gpu'] })

    const again = next.get(sends, 'i')
    expect(await again.result({ timeout: '15s' })).toBe('gpu')
    expect(await dataOf(again, 'activity')).toMatchObject([{ tag: 'gpu', where: 'task' }])
    expect(started.id).toBe('i')
  })
})
