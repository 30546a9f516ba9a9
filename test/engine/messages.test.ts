// Whole error messages, as a user reads them for the first time.

import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'

import { activity, channel, connect, open, request, stateKey } from '../../src/index.ts'
import { workflow, type WorkflowContext } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { silentLog } from '../../src/base/log.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'
import { postgresUrl, testSchema } from '../support/postgres.ts'

const go = channel<string>('go')
const seen = stateKey<number>('seen')
const hello = workflow('hello', async (name: string) => `hello ${name}`)

/** What a promise is rejected with, in words. */
async function sentence(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
}

test('a server that cannot be reached is named, with the user, and without the password', async () => {
  const port = await closedPort()
  const url = `postgres://kim:secret@127.0.0.1:${port}/shop`

  const lines: [object, string | undefined][] = []
  const warn = (data: object, message?: string): number => lines.push([data, message])
  const client = connect(url, { log: { ...silentLog, warn } })
  const words = await sentence(client.start(hello, 'Kim'))
  await client.close()

  expect(words).toBe(
    `open: cannot connect to PostgreSQL at 127.0.0.1, port ${port} as user "kim" to database "shop": connect ECONNREFUSED 127.0.0.1:${port}; nothing listens there; is the server running, and is the port right?`,
  )
  expect(lines).toMatchObject([
    [{ withinMs: 3_000 }, 'the database server refuses connections; retrying for 3 seconds'],
  ])
})

test('a user that does not exist on the server is to be created', async () => {
  const url = new URL(postgresUrl())
  url.username = 'ghost'
  const client = connect(url.href, { log: silentLog })

  const words = await sentence(client.start(hello, 'Kim'))
  await client.close()

  expect(words).toMatch(/: role "ghost" does not exist; create it, or name another user$/)
})

test.each(['kim:secret@127.0.0.1:port/shop', 'kim:sec#ret@127.0.0.1/shop'])(
  'a URL that cannot be read is not shown (%s)',
  async (rest) => {
    const client = connect(`postgres://${rest}`, { log: silentLog })
    const error = await client.start(hello, 'Kim').then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    await client.close()

    expect(error?.message).toBe(
      'open: the URL cannot be read: the port must be a number, and in a user name or password the characters : / ? # [ ] @ % must be percent-encoded (encodeURIComponent)',
    )
    expect(inspect(error)).not.toContain('kim')
  },
)

test('privileges that a role lacks are named as grants that fix it', async () => {
  await using database = await testSchema('rights')
  const { schema } = database
  const role = `app_${schema.replaceAll(/\W/g, '_')}`
  await using owner = await open(postgres({ url: database.url, schema }), { register: hello })
  await database.query(`create role ${quoted(role)} login`)
  const url = new URL(postgresUrl())
  url.username = role
  const client = connect(postgres({ url: url.href, schema }))
  try {
    const words = await sentence(client.start(hello, 'Kim', { id: 'a' }))
    const name = quoted(schema)
    const grants = [
      `grant usage on schema ${name} to ${quoted(role)}`,
      `grant select, insert, update, delete on all tables in schema ${name} to ${quoted(role)}`,
      `grant usage, select, update on all sequences in schema ${name} to ${quoted(role)}`,
    ]
    expect(words).toBe(
      `open: permission denied for schema ${schema}; the owner of the schema has to grant role ${quoted(role)} the missing privileges: ${grants.join('; ')}`,
    )

    await database.query(grants[0]!)
    expect(await sentence(client.start(hello, 'Kim', { id: 'a' }))).toMatch(
      /: permission denied for (table|sequence) \w+; the owner of the schema has to grant role "app_.*"$/,
    )
    for (const grant of grants.slice(1)) await database.query(grant)
    expect(await client.run(hello, 'Kim', { id: 'a', timeout: '10s' })).toBe('hello Kim')
    expect(owner.health().workers.length).toBeGreaterThan(0)
  } finally {
    await client.close()
    await database.query(`drop owned by ${quoted(role)}`)
    await database.query(`drop role ${quoted(role)}`)
  }
})

test('a saga that fails, and cannot undo, names both causes', async () => {
  await using space = await openSpace('memory')
  const pay = activity('pay', { retry: { maxAttempts: 1 } }, async () => {
    throw new Error('card declined')
  })
  const refund = activity('refund', { retry: { maxAttempts: 1 } }, async () => {
    throw new Error('bank is closed')
  })
  const order = workflow('order', async (_: undefined, ctx) =>
    ctx.saga(async (undo) => {
      undo(async () => {})
      undo(() => ctx.run(refund))
      await ctx.run(pay)
    }),
  )
  const runtime = await space.open(order)

  expect(await sentence(runtime.run(order, undefined))).toBe(
    'workflow "order" failed: ctx.saga failed: activity "pay" failed after 1 attempt: card declined; ' +
      '1 of 2 undo functions failed as well, so their effects remain: activity "refund" failed after 1 attempt: bank is closed',
  )
})

test('a result, or an answer, that takes too long says what the instance waits for', async () => {
  await using space = await openSpace('memory')
  const ask = request<string, string>('ask')
  const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
  const runtime = await space.open(waits)
  const started = await runtime.start(waits, undefined, { id: 'w' })

  const [late, unanswered] = await Promise.all([
    sentence(started.result({ timeout: 400 })),
    sentence(started.request(ask, 'why?', { timeout: 400 })),
  ])

  expect(late).toBe(
    'result: instance "w" took longer than 400 ms; it is waiting for a message on channel "go"',
  )
  expect(unanswered).toBe(
    'request "ask": the reply of instance "w" took longer than 400 ms; it is waiting for a message on channel "go"',
  )
})

test('the ctx of a workflow that is used inside a step is named, at once or after an await', async () => {
  await using space = await openSpace('memory')
  const mail = activity('mail', async (to: string) => to)
  const later = deferred()
  const wrong = workflow('wrong', async (isLate: boolean, ctx) =>
    ctx.step('send', async () => {
      if (isLate) await later.promise
      return ctx.run(mail, 'kim')
    }),
  )
  const runtime = await space.open(wrong, { log: silentLog })
  const [now, then] = await Promise.all([
    runtime.start(wrong, false, { id: 'now' }),
    runtime.start(wrong, true, { id: 'then' }),
  ])
  await eventually(async () => (await now.info())!.status === 'suspended')
  later.resolve()
  await eventually(async () => (await then.info())!.status === 'suspended')

  expect((await now.info())!.error!.message).toBe(
    'instance "now" of workflow "wrong" 1.0.0 called activity "mail" inside step "send": a step cannot use the ctx of its workflow; call it before or after the step, in the workflow code',
  )
  expect((await then.info())!.error!.message).toBe(
    'instance "then" of workflow "wrong" 1.0.0 called activity "mail" outside any turn: it waited for something that is not durable (a timer, I/O, or a promise shared between instances); use ctx.step, ctx.run or ctx.sleep for it; or, if this was called inside step "send": a step cannot use the ctx of its workflow',
  )
})

test('a nondeterminism error names the line, and the ways out', async () => {
  await using space = await openSpace('memory')
  const [a, b] = [activity('a', async (n: number) => n), activity('b', async (n: number) => n)]
  const before = workflow('change', async (_: undefined, ctx) => {
    await ctx.run(a, 1)
    return ctx.receive(go)
  })
  const after = workflow('change', async (_: undefined, ctx) => {
    await ctx.run(b, 1)
    return ctx.receive(go)
  })
  const first = await space.open(before)
  const started = await first.start(before, undefined, { id: 'c' })
  await eventually(async () => (await started.info())!.waitingFor[0]?.includes('go'))
  await first.close()
  const second = await space.open(after, { log: silentLog })
  await second.get('c').send(go, 'on')
  const instance = second.get('c')
  await eventually(async () => (await instance.info())!.status === 'suspended')

  const { message } = (await instance.info())!.error!
  expect(message.replace(/ at .*\.test\.ts:\d+:\d+\)?;/, ' at LINE;')).toBe(
    'command 1 was activity "a" with input 1, but the code now asks for activity "b" with input 1 at LINE; ' +
      'undo the change, keep both paths with ctx.patched, or register the new code as another version beside the old one; then resume() the instance',
  )
})

test('code that throws during replay is reported with its error and line', async () => {
  await using space = await openSpace('memory')
  const lines: { err?: Error }[] = []
  const keep = (data: object): number => lines.push(data)
  const wait = async (id: string, broken: (ctx: WorkflowContext) => unknown): Promise<string> => {
    const name = `broken-${id}`
    const before = workflow(name, async (_: undefined, ctx) => {
      await ctx.step('first', () => 1)
      ctx.state.set(seen, 1)
      await ctx.sleep('1h')
    })
    const after = workflow(name, async (_: undefined, ctx) => {
      await ctx.step('first', () => 1)
      await broken(ctx)
      await ctx.sleep('1h')
    })
    const first = await space.open(before)
    const started = await first.start(before, undefined, { id })
    await eventually(async () => (await started.info())!.waitingFor[0]?.includes('timer'))
    await first.close()
    const second = await space.open(after, { log: { ...silentLog, error: keep } })
    await second.get(id).cancel('take it up')
    const instance = second.get(id)
    await eventually(async () => (await instance.info())!.status === 'suspended')
    const { message } = (await instance.info())!.error!
    await second.close()
    return message.replace(/ at .*\.test\.ts:\d+:\d+\)?;/, ' at LINE;').split('; undo')[0]!
  }
  const foo: { readonly deep?: { readonly bar: string } } = {}
  const wrong = "TypeError: Cannot read properties of undefined (reading 'bar') at LINE"
  const late = (ctx: WorkflowContext): unknown => (ctx.state.set(seen, 1), foo.deep!.bar)

  expect(await wait('late', late)).toBe(`command 2 was a timer, but the code now threw ${wrong}`)
  expect(await wait('early', () => foo.deep!.bar)).toBe(
    `the code once called state.set "seen" to 1, but now threw ${wrong}`,
  )
  expect(await wait('undurable', (ctx) => (ctx.state.set(seen, 1), new Promise(() => {})))).toMatch(
    /^command 2 was a timer, but the code now issues no command, and waits for something that is not durable/,
  )
  const reported = lines.flatMap(({ err }) => (err === undefined ? [] : [err]))
  expect(reported[0]!.cause).toBeInstanceOf(TypeError)
  expect(reported[0]!.stack).toContain('undo the change, keep both paths with ctx.patched')
})

test('an option in the plural is guessed', () => {
  expect(() => activity('mail', { retries: 3 } as never, async () => 1)).toThrow(
    'activity "mail": unknown option "retries", did you mean "retry"?',
  )
})
