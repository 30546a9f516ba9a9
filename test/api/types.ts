/* oxlint-disable typescript/no-unnecessary-type-parameters -- types are compared by them */

// What the compiler must accept, refuse and infer: the parts of `api/examples/9-tests.ts` of the
// design whose verbs exist. It is compiled, never run.

import {
  activity,
  connect,
  failure,
  type InputOf,
  open,
  type OutputOf,
  type Schema,
  workflow,
  type WorkflowContext,
} from 'holdfast'
import * as orders from './retries.ts'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function is<T extends true>(holds: T): void

declare function schema<In, Out = In>(): Schema<In, Out>
const client = connect('memory:')

// Schemas: callers pass In, code receives Out.
const parsed = workflow(
  'parsed',
  { input: schema<{ n: string; d?: number }, { n: number; d: number }>() },
  async (input, ctx) => {
    is<Equal<typeof input, { n: number; d: number }>>(true)
    await ctx.sleep(1)
    return input.n
  },
)
void client.start(parsed, { n: '1' })
// @ts-expect-error number is the parsed side
void client.start(parsed, { n: 1 })
is<Equal<InputOf<typeof parsed>, { n: string; d?: number }>>(true)
is<Equal<OutputOf<typeof parsed>, number>>(true)

const checked = activity('checked', { input: schema<{ a: string }>() }, async (input) => input.a)
const plain = workflow('plain', { version: '2.0.0' }, async (order: orders.Order, ctx) =>
  ctx.run(checked, { a: order.id }),
)
void client.start(plain, { id: '1', email: '', total: 1, items: [] })
is<Equal<Awaited<ReturnType<typeof client.run<orders.Order, string>>>, string>>(true)

// Literals are not widened by the input.
const mode = workflow('mode', async (_mode: 'a' | 'b') => 1)
// @ts-expect-error 'c' is no mode
void client.start(mode, 'c')
declare const anyString: string
// @ts-expect-error a string is too wide
void client.start(mode, anyString)
// @ts-expect-error input is needed
void client.start(mode)
const none = workflow('none', async (_, ctx) => {
  await ctx.sleep(1)
})
void client.start(none)
void client.start(none, undefined, { id: 'x' })
// @ts-expect-error unknown option
void client.start(none, undefined, { idd: 'x' })
// @ts-expect-error the options of run are those of start and of waiting
void client.start(none, undefined, { timeout: '1s' })
void client.run(none, undefined, { id: 'x', timeout: '1s', signal: AbortSignal.abort() })

// A forgotten input parameter is found by the compiler.
// @ts-expect-error ctx is the input here
workflow('oops', async (ctx) => ctx.sleep(1))
// @ts-expect-error a workflow is an async function
workflow('sync', (n: number) => n)

// Helpers take a plain context.
const helper = (ctx: WorkflowContext): Promise<void> => ctx.sleep('1s')
workflow('helped', async (n: number, ctx) => {
  await helper(ctx)
  return n
})

// What a workflow may wait for, and what comes out.
workflow('combined', async (n: number, ctx) => {
  const both = await Promise.all([ctx.run(checked, { a: 'x' }), ctx.step('two', () => n)])
  is<Equal<typeof both, [string, number]>>(true)
  const step = await ctx.step('date', async () => new Date())
  is<Equal<typeof step, Date>>(true)
  // @ts-expect-error wrong input
  await ctx.run(checked, { b: 'x' })
  // @ts-expect-error missing input
  await ctx.run(checked)
  // @ts-expect-error unknown option
  await ctx.run(checked, { a: 'x' }, { retries: 3 })
  // @ts-expect-error no such unit
  await ctx.sleep('5 seconds')
  // @ts-expect-error a moment is a Date
  await ctx.sleepUntil('tomorrow')
})

// Registration.
void open('memory:', { register: [mode, plain, checked, orders] })
void open('memory:', { register: orders })
// @ts-expect-error register is needed
void open('memory:', {})
const instance = client.get(mode, 'id')
is<Equal<Awaited<ReturnType<typeof instance.result>>, number>>(true)
const untyped = client.get('id')
is<Equal<Awaited<ReturnType<typeof untyped.result>>, unknown>>(true)

// Activities with injected services.
const mailer = activity<{ to: string }, void>('mail')
class Mail {
  readonly activities = [
    mailer.implement(async ({ to }, ctx) => {
      ctx.log.info({ to })
    }),
  ]
}
void open('memory:', { register: [mode, new Mail().activities] })

// Failures.
const Gone = failure('Gone')
const Bad = failure<{ code: number }>('Bad')
workflow('retry', async (n: number, ctx) =>
  ctx.step(
    's',
    () => {
      if (n > 2) throw new Gone('x')
      throw new Bad('y', { code: 1 })
    },
    { retry: { unless: [Gone, Bad, orders.CardDeclined] } },
  ),
)
// @ts-expect-error details are needed
void new Bad('z')
// @ts-expect-error not a failure
activity('bad', { retry: { unless: [Error] } }, () => 1)
