import { expect, test } from 'vitest'

import { activity, channel, type Client, stateKey, workflow } from '../../src/index.ts'
import { describeInPlaces, reportOf, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { deferred } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

// The tests of the contract's SDK for Node that talk to instances: messages, executions, versions,
// state. Left out until they exist: lists, statistics, pruning and deletion in bulk, sessions, tags,
// tracing to a file.

const [go, other] = [channel<string>('go'), channel<string>('other')]
const data = channel<{ n: number }>('data')
const echo = activity('echo', (text: string) => text)
const waits = workflow('ni-waits', async (_: undefined, ctx) => ctx.receive(go))
const says = workflow('ni-says', async (text: string, ctx) => ctx.run(echo, text))

describeInPlaces('instances in the SDK for Node', (place) => {
  test('it is seen running, then completed [node_8]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)
    expect((await instance.info())?.status).toBe('running')
    await instance.send(go, 'on')

    expect(await statusOf(instance)).toBe('completed')
  })

  test.each([
    ['it comes [node_12]', 'on'],
    ['it has a type [node_131]', 'typed'],
    ['a client sends it [node_137]', 'from a client'],
  ])('a message is waited for: %s', async (_title, text) => {
    const runtime = await place.open(waits, { lease: '1s' })
    const { id } = await runtime.start(waits)
    const sender = text === 'from a client' ? place.connect() : runtime
    await sender.get(id).send(go, text)

    expect(await runtime.get(id).result()).toBe(text)
  })

  test.each([
    ['until a condition holds [node_13]', 'ni-rolls'],
    ['with an activity in each [node_74]', 'ni-rolls-works'],
    ['with typed input [node_135]', 'ni-rolls-typed'],
  ])('executions follow each other %s', async (_title, name) => {
    const rolls = workflow(name, async ({ n }: { n: number }, ctx): Promise<string> => {
      const text = await ctx.run(echo, `${n}`)
      return n < 3 ? ctx.continueAsNew({ n: n + 1 }) : text
    })
    const runtime = await place.open(rolls)

    expect(await runtime.run(rolls, { n: 1 })).toBe('3')
  })

  test('a running instance is cancelled [node_14]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)
    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
  })

  test('one that has ended is not [node_66]', async () => {
    const runtime = await place.open(says)
    const instance = await runtime.start(says, 'x')
    await instance.result()
    await instance.cancel()

    expect((await instance.info())?.status).toBe('completed')
  })

  test('its children are cancelled too [node_65]', async () => {
    const parent = workflow('ni-parent', async (_: undefined, ctx) =>
      ctx.run(waits, undefined, { id: 'ni-65' }),
    )
    const runtime = await place.open([parent, waits])
    const instance = await runtime.start(parent)
    await untilItWaitsFor(runtime.get('ni-65'), 'channel "go"')
    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    expect(await statusOf(runtime.get('ni-65'))).toBe('cancelled')
  })

  test.each([
    ['lost a race [node_88]', 'ni-88'],
    ['took too long [node_90]', 'ni-90'],
  ])('a child that %s is cancelled', async (_title, id) => {
    const races = workflow(id, async (_: undefined, ctx) => {
      const child = ctx.run(waits, undefined, { id: `${id}-child` })
      return (await ctx.race({ child, other: ctx.receive(other), time: ctx.sleep('1h') })).key
    })
    const runtime = await place.open([races, waits])
    const instance = await runtime.start(races)
    await untilItWaitsFor(runtime.get(`${id}-child`), 'channel "go"')
    await instance.send(other, 'first')

    expect(await instance.result()).toBe('other')
    expect(await statusOf(runtime.get(`${id}-child`))).toBe('cancelled')
  })

  test('new instances have the latest version [node_19]', async () => {
    const one = workflow('ni-19', async (_: undefined, ctx) => ctx.info.version)
    const two = workflow(
      'ni-19',
      { version: '2.0.0' },
      async (_: undefined, ctx) => ctx.info.version,
    )
    const runtime = await place.open([one, two])

    expect(await runtime.run(one)).toBe('2.0.0')
  })

  test.each<[string, string, { version?: string }, string]>([
    ['the latest version [node_20]', 'ni-20', {}, '3.0.0'],
    ['the version that is named [node_59]', 'ni-59', { version: '2.0.0' }, '2.0.0'],
  ])('the next execution has %s', async (_title, name, options, expected) => {
    const code = (version: string) =>
      workflow(name, { version }, async (n: number, ctx): Promise<string> =>
        n === 0 ? ctx.continueAsNew(1, options) : ctx.info.version,
      )
    const runtime = await place.open([code('1.0.0'), code('2.0.0'), code('3.0.0')])

    expect(await runtime.run(code('1.0.0'), 0, { version: '1.0.0' })).toBe(expected)
  })

  test('a start of a version [node_138]', async () => {
    const one = workflow('ni-138', async (_: undefined, ctx) => ctx.info.version)
    const two = workflow(
      'ni-138',
      { version: '2.0.0' },
      async (_: undefined, ctx) => ctx.info.version,
    )
    const runtime = await place.open([one, two])

    expect(await runtime.run(one, undefined, { version: '1.0.0' })).toBe('1.0.0')
  })

  test('a runtime stops in the middle, and another continues [node_22]', async () => {
    const first = await place.open(waits)
    await first.start(waits, undefined, { id: 'ni-22' })
    await first.close()
    const second = await place.open(waits)
    await second.get('ni-22').send(go, 'resumed')

    expect(await second.get('ni-22').result()).toBe('resumed')
  })

  test('an activity may use a client [node_23]', async () => {
    let client: Client | undefined
    const starts = activity('starts', async (text: string) => (await client!.start(says, text)).id)
    const runs = workflow('ni-23', async (_: undefined, ctx) => ctx.run(starts, 'by an activity'))
    const runtime = await place.open([runs, says])
    client = runtime

    const id = await runtime.run(runs)

    expect(await runtime.get(id).result()).toBe('by an activity')
  })

  test.each([
    ['over its turns [node_25]', 'ni-25'],
    ['turn by turn [node_70]', 'ni-70'],
    ['for the client to see [node_71]', 'ni-71'],
  ])('progress is shown %s', async (_title, name) => {
    const tells = workflow(name, async (_: undefined, ctx) => {
      for (const part of [1, 2, 3]) {
        ctx.progress({ part })
        await ctx.receive(go)
      }
    })
    const runtime = await place.open(tells)
    const instance = await runtime.start(tells)
    const seen: unknown[] = []
    for await (const { status, progress } of place.connect().get(instance.id).watch()) {
      if (status !== 'running') break
      seen.push(progress)
      await instance.send(go, 'on')
    }

    expect(seen).toEqual([{ part: 1 }, { part: 2 }, { part: 3 }])
  })

  test('progress survives continue-as-new, and can be cleared [node_26]', async () => {
    const rolls = workflow('ni-26', async (n: number, ctx): Promise<string> => {
      if (n === 0) {
        ctx.progress('kept')
        return ctx.continueAsNew(1)
      }
      const text = await ctx.receive(go)
      ctx.progress(undefined)
      return text
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await untilItWaitsFor(instance, 'channel "go"')
    expect((await instance.info())?.progress).toBe('kept')
    await instance.send(go, 'end')
    await instance.result()

    expect((await instance.info())?.progress).toBeUndefined()
  })

  test('a store runs a first workflow [node_27]', async () => {
    const runtime = await place.open(says)

    expect(await runtime.run(says, 'smoke')).toBe('smoke')
  })

  test.each([
    ['two at once [node_28]', 'ni-28', 0],
    ['then an activity [node_29]', 'ni-29', 1],
    ['typed [node_134]', 'ni-134', 0],
    ['of a version [node_58]', 'ni-58', 0],
  ])(
    'an instance that is only started runs independently: %s',
    async (_title, name, activities) => {
      const detaches = workflow(name, async (_: undefined, ctx) => {
        for (const n of [1, 2])
          await ctx.start(says, `${n}`, { id: `${name}-${n}`, version: '1.0.0' })
        for (let i = 0; i < activities; i++) await ctx.run(echo, 'x')
        return 'returned'
      })
      const runtime = await place.open([detaches, says])

      expect(await runtime.run(detaches)).toBe('returned')
      expect(await runtime.get(`${name}-1`).result()).toBe('1')
      expect(await runtime.get(`${name}-2`).result()).toBe('2')
    },
  )

  test('updates are received between cycles [node_31]', async () => {
    const reloads = workflow(
      'ni-31',
      async (seen: readonly string[], ctx): Promise<readonly string[]> => {
        const all = [...seen]
        for (let text; (text = await ctx.receive(other, { timeout: 0 })) !== undefined;)
          all.push(text)
        return (await ctx.receive(go)) === 'end' ? all : ctx.continueAsNew(all)
      },
    )
    const runtime = await place.open(reloads)
    const instance = await runtime.start(reloads, [])
    for (const text of ['a', 'b']) await instance.send(other, text)
    await instance.send(go, 'cycle')
    await instance.send(go, 'end')

    expect(await instance.result()).toEqual(['a', 'b'])
  })

  test('an instance describes itself [node_47]', async () => {
    const runtime = await place.open(says)
    await runtime.run(says, 'x', { id: 'ni-47' })

    expect(await runtime.get('ni-47').info()).toMatchObject({
      id: 'ni-47',
      workflow: 'ni-says',
      version: '1.0.0',
      status: 'completed',
      execution: 1,
    })
  })

  test.each([
    ['what it was [node_48]'],
    ['how many there are [node_49]'],
    ['what happened in it [node_50]'],
    ['with its data [node_51]'],
  ])('an execution describes %s', async (title) => {
    const name = `ni-${title.length}-executions`
    const rolls = workflow(name, async (n: number, ctx): Promise<number> => {
      await ctx.run(echo, `${n}`)
      return n < 2 ? ctx.continueAsNew(n + 1) : n
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 1)
    await instance.result()

    expect((await instance.info())?.execution).toBe(2)
    const events = await eventsOf(instance, { execution: 1 })
    expect(events.map(({ type }) => type)).toEqual(['started', 'activity', 'completed', 'ended'])
    expect(events[1]!.data).toMatchObject({ name: 'echo', input: '1' })
    expect(events[2]!.data).toMatchObject({ value: '1' })
  })

  test.each([
    ['in order [node_72]', 'ni-72'],
    ['apart from those of others [node_73]', 'ni-73'],
    ['typed [node_132]', 'ni-132'],
  ])('messages wait in their channel, %s', async (_title, name) => {
    const takes = workflow(name, async (_: undefined, ctx) => [
      await ctx.receive(data),
      await ctx.receive(other),
      await ctx.receive(data),
    ])
    const runtime = await place.open(takes)
    const instance = await runtime.start(takes)
    for (const n of [1, 2]) await instance.send(data, { n })
    await instance.send(other, 'x')

    expect(await instance.result()).toEqual([{ n: 1 }, 'x', { n: 2 }])
  })

  test.each([
    ['all of an activity and a message [node_93]', 'ni-93'],
    ['all of an activity and a structure [node_95]', 'ni-95'],
  ])('values come as they were sent: %s', async (_title, name) => {
    const joins = workflow(name, async (_: undefined, ctx) =>
      ctx.all([ctx.run(echo, 'a'), ctx.receive(data)]),
    )
    const runtime = await place.open(joins)
    const instance = await runtime.start(joins)
    await instance.send(data, { n: 7 })

    expect(await instance.result()).toEqual(['a', { n: 7 }])
  })

  test.each([
    ['a message before a timer [node_98]', 'ni-98'],
    ['a structure before a timer [node_99]', 'ni-99'],
  ])('race: %s', async (_title, name) => {
    const races = workflow(name, async (_: undefined, ctx) =>
      ctx.race({ data: ctx.receive(data), time: ctx.sleep('1h') }),
    )
    const runtime = await place.open(races)
    const instance = await runtime.start(races)
    await instance.send(data, { n: 7 })

    expect(await instance.result()).toEqual({ key: 'data', value: { n: 7 } })
  })

  test('race: a timer before an activity, whose signal aborts [node_97]', async () => {
    const aborted = deferred<boolean>()
    const learns = activity('learns', async (_: undefined, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      aborted.resolve(signal.aborted)
    })
    const races = workflow(
      'ni-97',
      async (_: undefined, ctx) =>
        (await ctx.race({ work: ctx.run(learns), time: ctx.sleep(20) })).key,
    )
    const runtime = await place.open(races)

    expect(await runtime.run(races)).toBe('time')
    expect(await aborted.promise).toBe(true)
  })

  test.each([
    ['of another kind [node_78]', 'ni-78'],
    ['one more [node_79]', 'ni-79'],
  ])('a command %s in new code suspends the instance', async (_title, name) => {
    const before = workflow(name, async (_: undefined, ctx) => {
      await ctx.run(echo, 'a')
      await ctx.receive(go)
    })
    const after = workflow(name, async (_: undefined, ctx) => {
      if (name === 'ni-78') await ctx.sleep(1)
      else await ctx.run(echo, 'inserted')
      await ctx.run(echo, 'a')
      await ctx.receive(go)
    })
    const first = await place.open(before)
    await untilItWaitsFor(await first.start(before, undefined, { id: name }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(after)
    await second.get(name).send(go, 'on')

    expect(await reportOf(second.get(name))).toMatchObject({ name: 'NondeterminismError' })
  })

  test('a child has the id it is given [node_133]', async () => {
    const parent = workflow('ni-133', async (_: undefined, ctx) =>
      ctx.run(says, 'x', { id: 'ni-133-child' }),
    )
    const runtime = await place.open([parent, says])

    expect(await runtime.run(parent)).toBe('x')
    expect(await runtime.get('ni-133-child').result()).toBe('x')
  })

  test('a client starts and waits [node_136]', async () => {
    await place.open(says, { lease: '1s' })

    expect(await place.connect().run(says, 'by a client')).toBe('by a client')
  })

  test('requests and replies through the state [node_139]', async () => {
    const answers = workflow('ni-139', async (_: undefined, ctx) => {
      const { n } = await ctx.receive(data)
      ctx.state.set(stateKey<number>(`answer-${n}`), n * n)
    })
    const runtime = await place.open(answers)
    const instance = await runtime.start(answers)
    await instance.send(data, { n: 6 })
    await instance.result()

    expect(await instance.readState(stateKey<number>('answer-6'))).toBe(36)
  })

  test('what is old is pruned from the state [node_140]', async () => {
    const prunes = workflow('ni-140', async (_: undefined, ctx) => {
      ctx.state.set(stateKey<number>('old'), 1)
      await ctx.sleep(20)
      ctx.state.set(stateKey<number>('young'), 2)
      return [ctx.state.prune(10), ctx.state.keys()]
    })
    const runtime = await place.open(prunes)

    expect(await runtime.run(prunes)).toEqual([1, ['young']])
  })

  test('a counter in the state [node_141]', async () => {
    const counter = stateKey<number>('counter')
    const counts = workflow('ni-141', async (_: undefined, ctx) => {
      for (let i = 0; i < 5; i++) {
        ctx.state.set(counter, (ctx.state.get(counter) ?? 0) + 1)
        await ctx.run(echo, 'x')
      }
    })
    const runtime = await place.open(counts)
    const instance = await runtime.start(counts)
    await instance.result()

    expect(await instance.readState(counter)).toBe(5)
  })

  test('the state of another is read [node_142]', async () => {
    const key = stateKey<string>('key')
    const writes = workflow('ni-142-writes', async (_: undefined, ctx) =>
      ctx.state.set(key, 'there'),
    )
    const reads = workflow('ni-142-reads', async (_: undefined, ctx) =>
      ctx.get('ni-142').readState(key),
    )
    const runtime = await place.open([writes, reads])
    await runtime.run(writes, undefined, { id: 'ni-142' })

    expect(await runtime.run(reads)).toBe('there')
  })

  test('a chat by channel, progress and executions [node_143]', async () => {
    const chat = workflow('ni-143', async (turn: number, ctx): Promise<number> => {
      const text = await ctx.receive(go)
      if (text === 'bye') return turn
      ctx.progress(`${turn}: ${await ctx.run(echo, text)}`)
      return ctx.continueAsNew(turn + 1)
    })
    const runtime = await place.open(chat)
    const instance = await runtime.start(chat, 0)
    await instance.send(go, 'hello')
    for await (const { progress } of instance.watch()) if (progress === '0: hello') break
    await instance.send(go, 'bye')

    expect(await instance.result()).toBe(1)
  })
})

describeInPlaces('a database as a service, as workflows', (place) => {
  const deleted = channel<string>('deleted')
  const health = stateKey<number>('health')
  const create = activity('create', (name: string) => `db-${name}`)
  const drop = activity('drop', (name: string) => `dropped ${name}`)
  const check = activity('check', () => 'healthy')
  const poll = activity('poll', (n: number) => n >= 2)

  /** Checks until it learns that its database is gone. */
  const actor = workflow('pg-actor', async (name: string, ctx): Promise<string> => {
    await ctx.run(check)
    ctx.state.set(health, (ctx.state.get(health) ?? 0) + 1)
    const gone = await ctx.receive(deleted, { timeout: 5 })
    return gone === undefined ? ctx.continueAsNew(name) : `actor of ${name} ended`
  })
  const makes = workflow('pg-makes', async (name: string, ctx) => {
    const made = await ctx.run(create, name)
    await ctx.start(actor, name, { id: `actor-${name}` })
    return made
  })
  const removes = workflow('pg-removes', async (name: string, ctx) => {
    const dropped = await ctx.run(drop, name)
    await ctx.get(`actor-${name}`).send(deleted, name)
    return dropped
  })
  const backs = workflow('pg-backs', async (_: string, ctx) => {
    for (let n = 0; ; n++) {
      if (await ctx.run(poll, n)) return `backed up after ${n}`
      await ctx.sleep(1)
    }
  })

  test('one is created [node_144]', async () => {
    const runtime = await place.open([makes, removes, actor])

    expect(await runtime.run(makes, 'a')).toBe('db-a')
    await runtime.run(removes, 'a')
    await runtime.get('actor-a').result()
  })

  test('its actor checks it until it is gone [node_145]', async () => {
    const runtime = await place.open(actor)
    const instance = await runtime.start(actor, 'b')
    for await (const { execution } of instance.watch()) if (execution >= 3) break
    await instance.send(deleted, 'b')

    expect(await instance.result()).toBe('actor of b ended')
    expect(await instance.readState(health)).toBeGreaterThanOrEqual(3)
  })

  test('it is deleted, and its actor learns that [node_146]', async () => {
    const runtime = await place.open([makes, removes, actor])
    await runtime.run(makes, 'c')

    expect(await runtime.run(removes, 'c')).toBe('dropped c')
    expect(await runtime.get('actor-c').result()).toBe('actor of c ended')
  })

  test('a backup is polled to its end [node_147]', async () => {
    const runtime = await place.open(backs)

    expect(await runtime.run(backs, 'd')).toBe('backed up after 2')
  })

  test('a whole life [node_149]', async () => {
    const runtime = await place.open([makes, removes, backs, actor])

    expect(await runtime.run(makes, 'e')).toBe('db-e')
    expect(await runtime.run(backs, 'e')).toBe('backed up after 2')
    expect(await runtime.run(removes, 'e')).toBe('dropped e')
    expect(await runtime.get('actor-e').result()).toBe('actor of e ended')
  })
})
