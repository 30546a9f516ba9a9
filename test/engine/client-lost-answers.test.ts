import { expect, test } from 'vitest'

import { channel, ConflictError, connect, open, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { type LosingStore, losingStore } from '../support/wrapped-store.ts'

const notes = channel<string>('notes')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(notes))

const sends = workflow('sends', async (to: string, ctx) => {
  await ctx.get(to).send(notes, 'once')
  return 'sent'
})

const receives = workflow('receives', async (_: undefined, ctx) => {
  const all: string[] = []
  while (all.at(-1) !== 'last') all.push(await ctx.receive(notes))
  return all
})

/** A client whose answers can be lost, and a second one to look with. */
function openLosing() {
  const inner = sqlite({ path: ':memory:' }) as StoreHandle
  const store: LosingStore = losingStore(inner[OPEN_WORKFLOW_STORE]())
  const losing: StoreHandle = { kind: 'losing', [OPEN_WORKFLOW_STORE]: () => store }
  const [client, other] = [connect(losing), connect(inner)]
  return {
    store,
    client,
    other,
    runtime: () => open(inner, { register: [waits, receives] }),
    losingRuntime: () => open(losing, { register: [sends] }),
    async [Symbol.asyncDispose]() {
      await client.close()
      await other.close()
    },
  }
}

test('a message whose outcome is unknown is sent again only under a key', async () => {
  await using space = openLosing()
  const { client, store } = space
  await client.get('x').info()

  void store.loseNext('post')
  const without = client.get('x').send(notes, 'without')
  await expect(without).rejects.toThrow('the answer was lost')
  void store.loseNext('post')
  await client.get('x').send(notes, 'with', { dedupeKey: 'key' })
  await client.get('x').send(notes, 'last')

  await using runtime = await space.runtime()
  expect(await runtime.run(receives, undefined, { id: 'x' })).toEqual(['without', 'with', 'last'])
})

test('the last message that fits is not reported as refused after a lost answer', async () => {
  await using space = openLosing()
  const { client, store } = space
  await using runtime = await space.runtime()
  const waiting = await runtime.start(waits)

  const lost = store.loseNext('post')
  const sent = client.get(waiting.id).send(notes, 'once', { dedupeKey: 'key' })
  void sent.catch(() => {})
  await lost
  const thaw = store.freeze()
  await runtime.idle()
  expect(await waiting.result()).toBe('once')
  thaw()

  await sent
  await expect(client.get(waiting.id).send(notes, 'late', { dedupeKey: 'other' })).rejects.toThrow(
    ConflictError,
  )
})

test('a workflow whose message was the last that fits continues after a lost answer', async () => {
  await using space = openLosing()
  const { store } = space
  await using runtime = await space.runtime()
  const waiting = await runtime.start(waits)

  await using senders = await space.losingRuntime()
  const lost = store.loseNext('post')
  const sender = await senders.start(sends, waiting.id)
  await lost
  const thaw = store.freeze()
  await runtime.idle()
  expect(await waiting.result()).toBe('once')
  thaw()

  expect(await sender.result()).toBe('sent')
})

test.each([
  [
    'cancel',
    'post',
    {
      status: 'scheduled',
      waitingFor: [
        'a runtime that registers workflow "waits" (no live runtime does)',
        'its cancellation (cancelled: why)',
      ],
    },
  ],
  ['terminate', 'terminate', { status: 'terminated' }],
  ['suspend', 'suspend', { status: 'suspended' }],
] as const)('a lost answer to %s is requested again', async (verb, method, becomes) => {
  await using space = openLosing()
  const { client, store } = space
  const handle = await client.start(waits)

  const lost = store.loseNext(method)
  await handle[verb]('why')

  await lost
  const info = await space.other.get(handle.id).info()
  expect(info).toMatchObject(becomes)
})

test.each(['start', 'import'] as const)(
  'an answer to %s that is lost makes no second instance',
  async (verb) => {
    await using space = openLosing()
    const { client, store } = space
    const model = await client.start(waits)
    const exported = await model.export()

    const lost = store.loseNext(verb)
    const made =
      verb === 'start'
        ? await client.start(waits, undefined, { id: 'x', onConflict: 'error' })
        : await client.import(exported, { id: 'x' })

    await lost
    expect(await made.info()).toMatchObject({ id: 'x', status: 'scheduled' })
  },
)

test('an answer to a start of an id with early messages that is lost is recognised', async () => {
  await using space = openLosing()
  const { client, store } = space
  await client.get('x').send(notes, 'early')

  const lost = store.loseNext('start')
  const handle = await client.start(waits, undefined, { id: 'x', onConflict: 'error' })

  await lost
  await using runtime = await space.runtime()
  expect(await runtime.get(handle.id).result()).toBe('early')
})
