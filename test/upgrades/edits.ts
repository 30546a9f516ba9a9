// Edits of workflows: what the code was when instances began, what it is now, and whether those
// instances can continue.

import { activity, channel, stateKey, type WorkflowContext, workflow } from '../../src/index.ts'

/** An edit of the code of one workflow. */
export interface Edit {
  readonly name: string
  readonly before: Code
  readonly after: Code
  /** What `checkAgainst` must find, for an edit that breaks. */
  readonly finds?: { readonly change: string; readonly message: RegExp; readonly patch?: RegExp }
}

type Code = (input: number, ctx: WorkflowContext) => Promise<unknown>

// None of them may be called by a check. Those that run before it are called by a runtime.
export const called: string[] = []
const recorded = <T>(name: string, value: T): T => {
  called.push(name)
  return value
}
const reserve = activity('reserve', (n: number) => recorded('reserve', n + 1))
const charge = activity('charge', (n: number) => recorded('charge', n * 2))
const mail = activity('send mail', (n: number) => recorded('mail', `mail ${n}`))
const audit = activity('audit', (n: number) => recorded('audit', n))
const refund = activity('refund', (n: number) => recorded('refund', n))
const answers = channel<string>('answers')
const questions = channel<string>('questions')
const stage = stateKey<string>('stage')
export const kid = workflow('kid', async (n: number) => n)

/** Waits, so that the instance is unfinished. */
const rest = (ctx: WorkflowContext): Promise<unknown> => ctx.sleep('30d')

const order: Code = async (n, ctx) => {
  const reserved = await ctx.run(reserve, n)
  const charged = await ctx.run(charge, reserved)
  await rest(ctx)
  return charged
}

export const BREAKING: readonly Edit[] = [
  {
    name: 'a call is added before others',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(audit, n)
      return order(n, ctx)
    },
    finds: {
      change: 'added',
      message: /command 1 was activity "reserve".*asks for activity "audit".*edits\.ts:\d+/,
      patch: /if \(ctx\.patched\('add audit'\)\) \{\n {2}await ctx\.run\(audit/,
    },
  },
  {
    name: 'a call is removed',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(charge, n + 1)
      await rest(ctx)
    },
    finds: {
      change: 'removed',
      message: /command 1 was activity "reserve".*asks for activity "charge"/,
      patch: /!ctx\.patched\('remove reserve'\)[^]*ctx\.run\(reserve/,
    },
  },
  {
    name: 'two calls change places',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(charge, n)
      await ctx.run(reserve, n)
      await rest(ctx)
    },
    finds: { change: 'reordered', message: /command 1 was activity "reserve"/, patch: /old order/ },
  },
  {
    name: 'an activity gets another name',
    before: order,
    after: async (n, ctx) => {
      const reserved = await ctx.run(reserve, n)
      await ctx.run(refund, reserved)
      await rest(ctx)
    },
    finds: {
      change: 'replaced',
      message: /command 2 was activity "charge".*asks for activity "refund"/,
      patch: /ctx\.patched\('refund instead of charge'\)[^]*refund[^]*else[^]*charge/,
    },
  },
  {
    name: 'an input changes',
    before: order,
    after: async (n, ctx) => {
      const reserved = await ctx.run(reserve, n)
      await ctx.run(charge, reserved * 100)
      await rest(ctx)
    },
    finds: {
      change: 'input',
      message: /command 2 was activity "charge" with input 4, but .* with input 400/,
      patch: /ctx\.patched\('new input of charge'\) \? newInput : oldInput/,
    },
  },
  {
    name: 'a step becomes an activity',
    before: async (n, ctx) => {
      await ctx.step('send mail', () => n)
      await rest(ctx)
    },
    after: async (n, ctx) => {
      await ctx.run(mail, n)
      await rest(ctx)
    },
    finds: { change: 'replaced', message: /command 1 was step "send mail"/, patch: /sendMail/ },
  },
  {
    name: 'the code returns early',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(reserve, n)
      return n
    },
    finds: {
      change: 'removed',
      message:
        /command 2 was activity "charge".*returns, after activity "reserve" at .*edits\.ts:\d+/,
    },
  },
  {
    name: 'another channel is read',
    before: async (_, ctx) => ctx.receive(answers),
    after: async (_, ctx) => ctx.receive(questions),
    finds: { change: 'replaced', message: /command 1 was receive on channel "answers"/ },
  },
  {
    name: 'a value of the state changes',
    before: async (_, ctx) => {
      ctx.state.set(stage, 'new')
      await rest(ctx)
    },
    after: async (_, ctx) => {
      ctx.state.set(stage, 'created')
      await rest(ctx)
    },
    finds: {
      change: 'input',
      message: /once called state\.set "stage" to "new".* to "created" at .*edits\.ts:\d+/,
      patch: /the new call, .*edits\.ts:\d+/,
    },
  },
  {
    name: 'a call is made beside another that is done',
    before: order,
    after: async (n, ctx) => {
      const also = ctx.run(audit, n)
      const reserved = await ctx.run(reserve, n)
      await also
      await ctx.run(charge, reserved)
      await rest(ctx)
    },
    finds: { change: 'added', message: /command 1 was activity "reserve"/ },
  },
  {
    name: 'the code throws',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(reserve, n)
      throw new TypeError('a mistake')
    },
    finds: { change: 'throws', message: /threw TypeError: a mistake at .*edits\.ts:\d+/ },
  },
  {
    name: 'the code waits for a timer of Node',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(reserve, n)
      await new Promise((resolve) => setTimeout(resolve, 1))
      await rest(ctx)
    },
    finds: { change: 'other', message: /setTimeout\(\) was called at .*edits\.ts:\d+.*ctx\.sleep/ },
  },
  {
    name: 'the code waits for a promise of its own',
    before: async (_, ctx) => ctx.receive(answers),
    after: async () => new Promise(() => {}),
    finds: {
      change: 'removed',
      message: /issues no command, and waits for something that is not durable/,
    },
  },
  {
    name: 'calls side by side follow each other',
    before: async (n, ctx) => {
      await Promise.all([ctx.run(charge, n), ctx.run(audit, n)])
      await rest(ctx)
    },
    after: async (n, ctx) => {
      await ctx.run(charge, n)
      await ctx.run(audit, n)
      await rest(ctx)
    },
    finds: {
      change: 'reordered',
      message: /command 2 was activity "audit".*issues no command/,
      patch: /ctx\.patched\('audit later'\)[^]*new order[^]*else[^]*old order/,
    },
  },
  {
    name: 'a list is worked through one by one',
    before: async (_, ctx) => {
      await ctx.map([1, 2], (one, inner) => inner.run(charge, one))
      await rest(ctx)
    },
    after: async (_, ctx) => {
      await ctx.map([1, 2], (one, inner) => inner.run(charge, one), { concurrency: 1 })
      await rest(ctx)
    },
    finds: { change: 'reordered', message: /command 2 was activity "charge"/, patch: /old order/ },
  },
  {
    name: 'one of two calls side by side is removed',
    before: async (n, ctx) => {
      await Promise.all([ctx.run(charge, n), ctx.run(audit, n)])
      await rest(ctx)
    },
    after: async (n, ctx) => {
      await ctx.run(charge, n)
      await rest(ctx)
    },
    finds: {
      change: 'removed',
      message: /command 2 was activity "audit"/,
      patch: /!ctx\.patched\('remove audit'\)[^]*the condition it had/,
    },
  },
  {
    name: 'calls after each other are made side by side',
    before: async (n, ctx) => {
      await ctx.run(charge, n)
      await ctx.run(audit, n)
      await rest(ctx)
    },
    after: async (n, ctx) => {
      await Promise.all([ctx.run(charge, n), ctx.run(audit, n)])
      await rest(ctx)
    },
    finds: {
      change: 'reordered',
      message: /history has no command 2 before the result of command 1, but .* activity "audit"/,
      patch: /ctx\.patched\('audit earlier'\)[^]*new order[^]*else[^]*old order/,
    },
  },
  {
    name: 'a call gets a scope with a timeout',
    before: order,
    after: async (n, ctx) => {
      await ctx.scope((inner) => inner.run(reserve, n), { timeout: '1h' })
      await rest(ctx)
    },
    finds: {
      change: 'added',
      message: /asks for a timer/,
      patch: /ctx\.patched\('add timer'\)[^]*ctx\.sleep\(…\) \/\/ or a timeout of a scope/,
    },
  },
  {
    name: 'a value of the state is set before another one',
    before: async (n, ctx) => {
      await ctx.run(charge, n)
      ctx.state.set(stage, 'charged')
      await rest(ctx)
    },
    after: async (n, ctx) => {
      ctx.state.set(stage, 'begun')
      await ctx.run(charge, n)
      ctx.state.set(stage, 'charged')
      await rest(ctx)
    },
    finds: {
      change: 'added',
      message: /once called state\.set "stage" to "charged"/,
      patch: /ctx\.patched\('add state stage'\)[^]*ctx\.state\.set\(stage/,
    },
  },
]

export const SAFE: readonly Edit[] = [
  { name: 'nothing changes', before: order, after: async (n, ctx) => order(n, ctx) },
  {
    name: 'a call is added behind a patch',
    before: order,
    after: async (n, ctx) => {
      if (ctx.patched('audit first')) await ctx.run(audit, n)
      return order(n, ctx)
    },
  },
  {
    name: 'a call is removed behind a patch',
    before: order,
    after: async (n, ctx) => {
      const reserved = ctx.patched('no reserve') ? n : await ctx.run(reserve, n)
      await ctx.run(charge, reserved)
      await rest(ctx)
    },
  },
  {
    name: 'a call is replaced behind a patch',
    before: order,
    after: async (n, ctx) => {
      const reserved = await ctx.run(reserve, n)
      if (ctx.patched('refund instead')) await ctx.run(refund, reserved)
      else await ctx.run(charge, reserved)
      await rest(ctx)
    },
  },
  {
    name: 'a call is added where no instance has been yet',
    before: order,
    after: async (n, ctx) => {
      await order(n, ctx)
      await ctx.run(audit, n)
    },
  },
  {
    name: 'the retries of an activity change',
    before: order,
    after: async (n, ctx) => {
      const reserved = await ctx.run(reserve, n, { retry: { maxAttempts: 9 }, timeout: '1m' })
      await ctx.run(charge, reserved)
      await rest(ctx)
    },
  },
  {
    name: 'the code of a step changes',
    before: async (n, ctx) => {
      const found = await ctx.step('look', () => n)
      await ctx.run(mail, found)
      await rest(ctx)
    },
    after: async (_, ctx) => {
      const found = await ctx.step('look', () => recorded('step', -1))
      await ctx.run(mail, found)
      await rest(ctx)
    },
  },
  {
    name: 'log lines and progress are added',
    before: order,
    after: async (n, ctx) => {
      ctx.log.info({ n }, 'begins')
      ctx.progress('begun')
      return order(n, ctx)
    },
  },
  {
    name: 'a timer gets another length',
    before: order,
    after: async (n, ctx) => {
      await ctx.run(charge, await ctx.run(reserve, n))
      await ctx.sleep('90d')
    },
  },
  {
    name: 'another value is returned',
    before: async (n, ctx) => ctx.run(charge, n),
    after: async (n, ctx) => ({ paid: await ctx.run(charge, n) }),
  },
  {
    name: 'a call is added at the end of instances that have ended',
    before: async (n, ctx) => ctx.run(charge, n),
    after: async (n, ctx) => {
      await ctx.run(charge, n)
      await ctx.run(audit, n)
    },
  },
  {
    name: 'a child and a failure are handled by other lines',
    before: async (n, ctx) => {
      const value = await ctx.run(kid, n)
      await ctx.run(charge, value)
      await rest(ctx)
    },
    after: async (n, ctx) => {
      let value = 0
      try {
        value += await ctx.run(kid, n)
      } catch {
        value = NaN
      }
      await ctx.run(charge, value)
      await rest(ctx)
    },
  },
  {
    name: 'a value of the state is set, and no other change of state follows',
    before: order,
    after: async (n, ctx) => {
      ctx.state.set(stage, 'begun')
      const reserved = await ctx.run(reserve, n)
      ctx.state.delete(stage)
      await ctx.run(charge, reserved)
      await rest(ctx)
    },
  },
  {
    name: 'a call is cancelled that had no result',
    before: async (n, ctx) => {
      const reminder = ctx.sleep('9d')
      await ctx.run(charge, n)
      await rest(ctx)
      reminder.cancel()
    },
    after: async (n, ctx) => {
      const reminder = ctx.sleep('9d')
      await ctx.run(charge, n)
      reminder.cancel()
      await rest(ctx)
    },
  },
]

/** The workflows of edits as they were. */
export function before(edits: readonly Edit[]): ReturnType<typeof workflow>[] {
  return edits.map((edit) => workflow(edit.name, edit.before)) as ReturnType<typeof workflow>[]
}

/** The workflows of edits as they are now. */
export function after(edits: readonly Edit[]): ReturnType<typeof workflow>[] {
  return edits.map((edit) => workflow(edit.name, edit.after)) as ReturnType<typeof workflow>[]
}
