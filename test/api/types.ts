/* oxlint-disable typescript/no-unnecessary-type-parameters -- types are compared by them */

// What the compiler must accept, refuse and infer. It is compiled, never run.

import {
  activity,
  type Asked,
  channel,
  type Child,
  connect,
  type DurablePromise,
  type ExportedHistory,
  failure,
  type HistoryEvent,
  type InputOf,
  type Instance,
  type InstanceInfo,
  message,
  open,
  type OutputOf,
  type Remote,
  request,
  type Schema,
  stateKey,
  type Status,
  workflow,
  type WorkflowContext,
} from 'holdfast'
import type { Order } from './domain.ts'
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
const plain = workflow('plain', { version: '2.0.0' }, async (order: Order, ctx) =>
  ctx.run(checked, { a: order.id }),
)
void client.start(plain, { id: '1', email: '', total: 1, items: [] })
is<Equal<Awaited<ReturnType<typeof client.run<Order, string>>>, string>>(true)

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

// What a workflow returns is checked by a schema of that type.
workflow('checked', { output: schema<number>(), timeout: '1h', cleanup: 500 }, async () => 1)
// @ts-expect-error the schema is of text
workflow('checked', { output: schema<string>() }, async () => 1)

// Helpers take a plain context. The next execution takes the workflow's own input.
const helper = (ctx: WorkflowContext): Promise<void> => ctx.sleep('1s')
const again = workflow('again', async (n: number, ctx) => {
  await helper(ctx)
  // @ts-expect-error a helper does not know what the workflow takes
  const anew = (other: WorkflowContext) => other.continueAsNew(n)
  void anew
  if (n > 9) return 'done'
  // @ts-expect-error text is no number
  if (n > 8) return ctx.continueAsNew('x')
  return ctx.continueAsNew(n + 1, { version: '2.0.0' })
})
is<Equal<OutputOf<typeof again>, string>>(true)
workflow('forever', async (_, ctx) => ctx.continueAsNew())

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

// Children and other instances.
const total = stateKey<{ sum: number }>('total')
const letters = channel<{ by: string }>('letters')
const parsedLetters = channel('parsed', {
  schema: schema<{ n: string }, { n: number }>(),
  capacity: 5,
})
const ask = request<{ q: string }, number>('ask')
const ship = workflow<{ to: string }, { tracking: string }>('ship')
workflow('parent', async (id: string, ctx) => {
  const child = ctx.run(ship, { to: id }, { id, timeout: '1d', onParentClose: 'terminate' })
  is<Equal<typeof child, Child<{ tracking: string }>>>(true)
  child.cancel('too late')
  await child.send(letters, { by: child.id })
  is<Equal<Awaited<typeof child>, { tracking: string }>>(true)
  const done = ctx.run(checked, { a: 'x' })
  is<Equal<typeof done, DurablePromise<string>>>(true)
  await ctx.run(none)
  // @ts-expect-error a child is not retried
  await ctx.run(ship, { to: 'x' }, { retry: { maxAttempts: 2 } })
  // @ts-expect-error an activity has no parent
  await ctx.run(checked, { a: 'x' }, { onParentClose: 'cancel' })
  // @ts-expect-error wrong input
  void ctx.run(ship, { from: 'x' })
  // @ts-expect-error a channel does not run
  void ctx.run(letters)

  const remote = await ctx.start(ship, { to: id }, { id: `${id}-2`, delay: '1h' })
  is<Equal<typeof remote, Remote>>(true)
  const sum = await ctx.get('other').readState(total)
  is<Equal<typeof sum, { sum: number } | undefined>>(true)
  // @ts-expect-error an instance that was only started has no result here
  remote.result()
  return ctx.info.parentId ?? 'nobody'
})

// State.
workflow('keeping', async (n: number, ctx) => {
  const before = ctx.state.get(total)
  is<Equal<typeof before, { sum: number } | undefined>>(true)
  ctx.state.set(total, { sum: n })
  ctx.state.delete(total)
  ctx.state.clear()
  is<Equal<ReturnType<typeof ctx.state.keys>, readonly string[]>>(true)
  is<Equal<ReturnType<typeof ctx.state.prune>, number>>(true)
  // @ts-expect-error no such unit
  ctx.state.prune('1 week')
  // @ts-expect-error not what the key holds
  ctx.state.set(total, n)
  // @ts-expect-error a key is made by stateKey
  ctx.state.get('total')
})

// Messages and requests.
workflow('receiving', async (_, ctx) => {
  const letter = await ctx.receive(letters)
  is<Equal<typeof letter, { by: string }>>(true)
  const maybe = await ctx.receive(letters, { timeout: 5 })
  is<Equal<typeof maybe, { by: string } | undefined>>(true)
  const number = await ctx.receive(parsedLetters)
  is<Equal<typeof number, { n: number }>>(true)
  const asked = await ctx.receive(ask)
  is<Equal<typeof asked, Asked<{ q: string }, number>>>(true)
  asked.reply(asked.input.q.length)
  asked.reject(new Error('no'))
  // @ts-expect-error not what is answered
  asked.reply('4')
  const late = await ctx.receive(ask, { timeout: '1s' })
  // @ts-expect-error it may not have come
  late.reply(1)
  // @ts-expect-error a key holds values, nobody sends there
  await ctx.receive(total)
})
const any = client.get('x')
void any.send(letters, { by: 'kim' }, { dedupeKey: 'click-1' })
void any.send(parsedLetters, { n: '1' })
// @ts-expect-error number is the parsed side
void any.send(parsedLetters, { n: 1 })
// @ts-expect-error no such field
void any.send(letters, { bye: 'kim' })
// @ts-expect-error requests are answered
void any.send(ask, { q: 'why' })
const replied = any.request(ask, { q: 'why' }, { timeout: '1s', dedupeKey: 'k' })
is<Equal<typeof replied, Promise<number>>>(true)
// @ts-expect-error nobody answers a message
void any.request(letters, { by: 'kim' })
void client.start(none, undefined, { id: 'a', send: message(letters, { by: 'x' }) })
// @ts-expect-error not what the channel takes
message(letters, { by: 7 })

// Branches.
workflow('branching', async (n: number, ctx) => {
  const [letter, slept] = await ctx.all([ctx.receive(letters), ctx.sleep(1)])
  is<Equal<typeof letter, { by: string }>>(true)
  is<Equal<typeof slept, void>>(true)
  const named = await ctx.all({ a: ctx.step('one', () => n), b: async () => 'text' })
  is<Equal<typeof named, { a: number; b: string }>>(true)
  const first = await ctx.race({ got: ctx.receive(letters), late: ctx.sleep('1h') })
  if (first.key === 'got') is<Equal<typeof first.value, { by: string }>>(true)
  else is<Equal<typeof first.value, void>>(true)
  const mapped = await ctx.map([1, 2], async (item, _inner, index) => `${item}${index}`)
  is<Equal<typeof mapped, string[]>>(true)
  const scoped = ctx.scope(async (inner) => inner.now(), { timeout: '1s' })
  is<Equal<typeof scoped, DurablePromise<Date>>>(true)
  const cleaned = await ctx.uncancellable(async () => n)
  is<Equal<typeof cleaned, number>>(true)
  const booked = await ctx.saga(async (undo) => {
    undo(() => ctx.run(checked, { a: 'x' }))
    return 'booked'
  })
  is<Equal<typeof booked, string>>(true)
  // @ts-expect-error a bare promise cannot be cancelled
  await ctx.race({ x: Promise.resolve(1) })
  // @ts-expect-error a winner has a name
  await ctx.race([ctx.sleep(1)])
})

// The rest of a context.
workflow('odds', async (_, ctx) => {
  is<Equal<ReturnType<typeof ctx.random>, number>>(true)
  is<Equal<ReturnType<typeof ctx.uuid>, string>>(true)
  is<Equal<ReturnType<typeof ctx.patched>, boolean>>(true)
  ctx.progress({ done: 1, of: 3 })
  ctx.signal.throwIfAborted()
})

// Starts.
void client.start(none, undefined, {
  id: 'a',
  onConflict: 'restart',
  delay: '1h',
  version: '2.0.0',
  labels: { customer: '7' },
})
// @ts-expect-error labels are text
void client.start(none, undefined, { labels: { customer: 7 } })
// @ts-expect-error no such way
void client.start(none, undefined, { onConflict: 'ignore' })

// An instance from outside.
const shipped = client.get(ship, 's')
void shipped.cancel('changed their mind')
void shipped.terminate()
void shipped.suspend('look at it')
void shipped.resume()
const kept = shipped.readState(total)
is<Equal<typeof kept, Promise<{ sum: number } | undefined>>>(true)
const watched = shipped.watch({ signal: AbortSignal.abort() })
is<Equal<typeof watched, AsyncIterable<InstanceInfo>>>(true)
const past = shipped.history({ execution: 1 })
is<Equal<typeof past, AsyncIterable<HistoryEvent>>>(true)
const forked = shipped.fork({ at: 3 })
is<Equal<typeof forked, Promise<Instance<{ tracking: string }>>>>(true)
// @ts-expect-error a fork leaves the past somewhere
void shipped.fork({ id: 'x' })
const taken = shipped.export({ execution: 1, redact: (value, { seq }) => (seq === 1 ? 0 : value) })
is<Equal<typeof taken, Promise<ExportedHistory>>>(true)
const imported = taken.then((history) => client.import(history, { id: 'y', labels: {} }))
is<Equal<typeof imported, Promise<Instance>>>(true)
is<Equal<InstanceInfo['status'], Status>>(true)
is<Equal<InstanceInfo['progress'], unknown>>(true)

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
