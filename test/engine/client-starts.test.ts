import { expect, test } from 'vitest'

import { channel, ConflictError, message, stateKey, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const notes = channel<string>('notes')
const upper = channel<string>('upper', {
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value === 'string'
          ? { value: value.toUpperCase() }
          : { issues: [{ message: 'not text' }] },
    },
  },
})
const kept = stateKey<string>('kept')

const one = workflow('one', async (_: string, ctx) => ctx.receive(notes))
const two = workflow('two', async (_: undefined, ctx) => [
  await ctx.receive(notes),
  await ctx.receive(notes),
])
const keeper = workflow('keeper', async (input: string, ctx) => {
  ctx.state.set(kept, input)
  return ctx.receive(notes)
})
const quick = workflow('quick', async (input: number) => input)
const MANY_LABELS = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`label ${i}`, 'x']))

/** A workflow that returns its own version. */
function versioned(version: string) {
  return workflow('versioned', { version }, async () => version)
}

describeOnStores('starts', (kind) => {
  test('a message that comes before the start is received', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()

    await client.get('early').send(notes, 'first')
    await client.get('early').send(notes, 'second')
    const before = await client.get('early').info()
    const holdfast = await space.open(two)
    const handle = await holdfast.start(two, undefined, { id: 'early' })

    expect(before).toBeUndefined()
    expect(await handle.result()).toEqual(['first', 'second'])
  })

  test('an early message meets a start by a client that runs nothing', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()

    await client.get('early').send(notes, 'hello')
    const handle = await client.start(one, '', { id: 'early' })
    await space.open(one)

    expect(await handle.result()).toBe('hello')
  })

  test('of many starts under an id that messages wait for, one wins', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    await client.get('early').send(notes, 'hello')
    const holdfast = await space.open([one, quick])

    const starts = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? holdfast : client).start(one, `${i}`, { id: 'early', onConflict: 'error' }),
      ),
    )

    const won = starts.filter(({ status }) => status === 'fulfilled')
    expect(won).toHaveLength(1)
    expect(await client.get(one, 'early').result()).toBe('hello')
  })

  test('an early message does not hide that the id is of another workflow', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    await client.get('early').send(notes, 'hello')

    const starts = await Promise.allSettled([
      client.start(one, '', { id: 'early' }),
      client.start(two, undefined, { id: 'early' }),
    ])

    const refused = starts.filter((start) => start.status === 'rejected')
    expect(refused).toMatchObject([{ reason: { name: 'ConflictError', instanceId: 'early' } }])
  })

  test('a message sent with the start is the first', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(two)

    const handle = await holdfast.start(two, undefined, { id: 'x', send: message(notes, 'a') })
    await holdfast.start(two, undefined, { id: 'x', send: message(notes, 'b') })

    expect(await handle.result()).toEqual(['a', 'b'])
  })

  test('a message sent with the start passes the schema of its channel', async () => {
    await using space = await openSpace(kind)
    const loud = workflow('loud', async (_, ctx) => ctx.receive(upper))
    const holdfast = await space.open(loud)

    const sent = await holdfast.run(loud, undefined, { send: message(upper, 'abc') })
    const refused = holdfast.start(loud, undefined, {
      id: 'x',
      send: message(upper, 1 as unknown as string),
    })

    expect(sent).toBe('ABC')
    await expect(refused).rejects.toThrow('channel "upper": the message is not valid: $: not text')
    expect(await holdfast.get('x').info()).toBeUndefined()
  })

  test('a start that finds its instance ended returns it, whatever messages it came with', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    await holdfast.run(quick, 1, { id: 'x' })

    const again = await holdfast.start(quick, 1, { id: 'x', send: message(notes, 'late') })

    expect((await again.info())?.status).toBe('completed')
    await expect(again.send(notes, 'late')).rejects.toThrow(ConflictError)
  })

  test('onConflict "error" refuses an id that is taken, whatever became of its instance', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([quick, one])
    await holdfast.run(quick, 1, { id: 'ended' })
    await holdfast.start(one, '', { id: 'open' })

    const options = { onConflict: 'error' } as const
    const ended = holdfast.start(quick, 1, { id: 'ended', ...options })
    const open = space.connect().start(one, '', { id: 'open', ...options })

    await expect(ended).rejects.toThrow(
      new ConflictError('start: id "ended" exists already (completed)', 'ended'),
    )
    await expect(open).rejects.toThrow(
      new ConflictError('start: id "open" exists already (running)', 'open'),
    )
  })

  test('onConflict "restart" ends the running instance, and starts a new one without its state', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([keeper, one])
    const first = await holdfast.start(keeper, 'old', { id: 'x', send: message(upper, 'unread') })
    await eventually(() => holdfast.get('x').readState(kept))

    const second = await holdfast.start(keeper, 'new', { id: 'x', onConflict: 'restart' })
    await eventually(async () => (await second.readState(kept)) === 'new')
    await second.send(notes, 'done')

    expect(await second.result()).toBe('done')
    await expect(first.result()).rejects.toThrow(
      'result: instance "x" was removed, or lost in a database failover',
    )
    await expect(
      holdfast.start(one, '', { id: 'x', onConflict: 'restart' }),
    ).rejects.toBeInstanceOf(ConflictError)
  })

  test('many restarts of one id leave one instance that ends', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(keeper)
    const client = space.connect()

    await Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        (i % 2 === 0 ? holdfast : client).start(keeper, `${i}`, { id: 'x', onConflict: 'restart' }),
      ),
    )
    await holdfast.get('x').send(notes, 'done')

    expect(await holdfast.get('x').result()).toBe('done')
  })

  test('a delayed start is scheduled until its time comes', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)

    const later = await holdfast.start(quick, 1, { delay: '1d' })
    const soon = await holdfast.start(quick, 2, { delay: 50 })

    const info = await later.info()
    expect(info).toMatchObject({
      status: 'scheduled',
      waitingFor: [expect.stringMatching(/^its start at \d{4}-/)],
    })
    expect(await soon.result()).toBe(2)
    expect((await later.info())?.status).toBe('scheduled')
  })

  test('a start that was delayed by a client waits for its time, too', async () => {
    await using space = await openSpace(kind)
    const later = await space.connect().start(quick, 1, { delay: '1d' })
    const soon = await space.connect().start(quick, 2, { delay: 50 })
    await space.open(quick)

    expect(await soon.result()).toBe(2)
    expect((await later.info())?.status).toBe('scheduled')
  })

  test('labels are kept as they were given', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    const labels = { team: 'Ärzte "A"', ['__proto__']: 'x' }

    const handle = await holdfast.start(quick, 1, { labels })
    await handle.result()

    expect((await handle.info())?.labels).toEqual(labels)
  })

  test.each([
    [{ labels: ['a'] }, 'start: labels must be an object with string values, got an array of 1'],
    [{ labels: new Map() }, 'start: labels must be an object with string values, got a Map'],
    [{ labels: null }, 'start: labels must be an object with string values, got null'],
    [{ labels: { a: 1 } }, 'start: labels.a must be a string of 1 to 500 characters'],
    [{ labels: MANY_LABELS }, 'start: labels must have at most 100 entries, got 101'],
    [{ send: { channel: 'x', data: 1 } }, 'start: send must be made by message(channel, data)'],
    [{ version: '1' }, 'start: version must be a semantic version such as \'1.2.0\', got "1"'],
    [{ onConflict: 'ignore' }, "start: onConflict must be one of 'return', 'error', 'restart'"],
    [{ delay: -1 }, 'start: delay'],
  ])('options such as %j are refused', async (options, problem) => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)

    await expect(holdfast.start(quick, 1, options as object)).rejects.toThrow(problem)
  })

  test('the latest registered version is started, unless another is requested', async () => {
    await using space = await openSpace(kind)
    const old = versioned('1.0.0')
    const middle = versioned('1.10.0')
    const next = versioned('2.0.0-beta.1')
    const client = space.connect()
    const given = await client.start(old, undefined)
    const asked = await client.start(old, undefined, { version: '1.10.0' })
    const holdfast = await space.open([middle, old, next])

    expect(await holdfast.run(old, undefined)).toBe('1.10.0')
    expect(await holdfast.run(old, undefined, { version: '1.0.0' })).toBe('1.0.0')
    expect(await holdfast.run(old, undefined, { version: '2.0.0-beta.1' })).toBe('2.0.0-beta.1')
    expect(await given.result()).toBe('1.10.0')
    expect(await asked.result()).toBe('1.10.0')
    expect(space.log.at('warn')).toEqual([])
  })
})
