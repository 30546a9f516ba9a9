import { expect, expectTypeOf, test } from 'vitest'

import {
  ConflictError,
  failure,
  type Instance,
  NotFoundError,
  request,
  stateKey,
  workflow,
  type WorkflowContext,
} from '../../src/index.ts'
import { deferred, describeOnStores, openSpace } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

const ask = request<string, string>('ask')
const total = stateKey<number>('total')
const hello = workflow('hello', async (name: string) => `hello ${name}`)

const VERBS: readonly (readonly [verb: string, call: (instance: Instance) => unknown])[] = [
  ['result', (instance) => instance.result()],
  ['cancel', (instance) => instance.cancel()],
  ['terminate', (instance) => instance.terminate()],
  ['suspend', (instance) => instance.suspend()],
  ['resume', (instance) => instance.resume()],
  ['fork', (instance) => instance.fork({ at: 1 })],
  ['history', (instance) => eventsOf(instance)],
  ['export', (instance) => instance.export()],
  ['readState', (instance) => instance.readState(total)],
  ['watch', (instance) => instance.watch()[Symbol.asyncIterator]().next()],
]

describeOnStores('an id without an instance', (kind) => {
  test('is an error of its own for every verb that needs one', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(hello)
    const client = space.connect()

    for (const holdfast of [runtime, client]) {
      for (const [verb, call] of VERBS) {
        const error = await Promise.resolve(call(holdfast.get('nobody'))).catch((e: unknown) => e)
        expect(error).toBeInstanceOf(NotFoundError)
        expect(error).toEqual(new NotFoundError(`${verb}: there is no instance "nobody"`, 'nobody'))
      }
    }
    expect(await client.get('nobody').info()).toBeUndefined()
  })

  test('is an error inside a workflow only through a client', async () => {
    await using space = await openSpace(kind)
    const looks = workflow('looks', async (_: undefined, ctx) => {
      const read = await ctx.get('nobody').readState(total)
      const error = await ctx.step('ask', (activity) =>
        activity.client
          .get('nobody')
          .result()
          .catch((e: unknown) => e instanceof NotFoundError),
      )
      return [read, error]
    })
    const runtime = await space.open(looks)

    expect(await runtime.run(looks, undefined)).toEqual([undefined, true])
  })
})

describeOnStores('operations that are impossible', (kind) => {
  test('is said: an instance that has ended is not resumed', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(hello)
    await runtime.run(hello, 'Kim', { id: 'done' })

    await expect(runtime.get('done').resume()).rejects.toEqual(
      new ConflictError(
        `resume: instance "done" has ended (completed) and cannot continue; instance.fork({ at }) creates a new one with its history, and start(…, { onConflict: 'restart' }) starts it anew`,
        'done',
      ),
    )
    const waits = await space.connect().start(workflow<string, string>('nowhere'), 'x')
    // It runs again already: nothing is left to do.
    await waits.resume()
  })

  test.each(['tag', 'session'] as const)('is said: a step has no %s', async (option) => {
    await using space = await openSpace(kind)
    const wrong = workflow('wrong', async (_: undefined, ctx) =>
      ctx.step('mail', () => 1, { [option]: 'x' }).catch(() => 2),
    )
    const runtime = await space.open(wrong)

    expectTypeOf<Parameters<WorkflowContext['step']>[2] & {}>().not.toHaveProperty(option)
    await expect(runtime.run(wrong, undefined)).rejects.toThrow(
      `workflow "wrong" failed: ctx.step "mail": ${option} is not an option of a step, which always runs in the process of its workflow; use an activity to run code elsewhere: ctx.run(activity, input, { ${option} })`,
    )
  })
})

describeOnStores('errors in a history', (kind) => {
  test('are plain data, which JSON keeps', async () => {
    await using space = await openSpace(kind)
    const Declined = failure<{ code: number }>('DeclinedInHistoryTest')
    const inner = new TypeError('no address')
    const answered = deferred()
    const fails = workflow('fails', async (_: undefined, ctx) => {
      const asked = await ctx.receive(ask)
      asked.reject(new Declined('not you', { code: 7 }))
      await ctx
        .step(
          'mail',
          () => {
            throw new Declined('refused', { code: 4 })
          },
          { retry: { maxAttempts: 1 } },
        )
        .catch(() => {})
      await ctx.step(
        'post',
        () => {
          throw new Error('returned', { cause: inner })
        },
        { retry: { maxAttempts: 1 } },
      )
    })
    const runtime = await space.open(fails)
    const started = await runtime.start(fails, undefined)
    await started.request(ask, 'why?').catch(() => answered.resolve())
    await answered.promise
    await started.result().catch(() => {})

    const events = JSON.parse(JSON.stringify(await eventsOf(started))) as {
      type: string
      data: Record<string, unknown>
    }[]

    const failed = events.filter(({ type }) => type === 'failed').map(({ data }) => data['error'])
    expect(failed).toMatchObject([
      { name: 'DeclinedInHistoryTest', message: 'refused', details: { code: 4 } },
      {
        name: 'ActivityError',
        message: 'step "post" failed after 1 attempt: returned',
        activity: 'post',
        attempts: 1,
        cause: { name: 'Error', message: 'returned', cause: { name: 'TypeError' } },
      },
    ])
    const { stack } = (failed[1] as { cause: { stack: string } }).cause
    expect(stack).toContain('not-found.test.ts')
    expect(events.find(({ type }) => type === 'replied')!.data['value']).toMatchObject({
      name: 'DeclinedInHistoryTest',
      details: { code: 7 },
    })
    // An export keeps them as errors, so that it can be imported.
    const imported = await space.connect().import(await started.export(), { id: 'imported' })
    await expect(runtime.get(imported.id).result()).rejects.toThrow('returned')
  })
})
