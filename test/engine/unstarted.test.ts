// Instances before their first turn: messages that wait for a start, and delayed starts.

import { expect, test } from 'vitest'

import { channel, ChannelFullError, request, workflow } from '../../src/index.ts'
import { MAX_UNSTARTED_MESSAGES, UNSTARTED_KEPT_MS } from '../../src/store/constants.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { message } from '../../src/testing/contract/items.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { countingStore, describeRace, engineOn, FREQUENT_TICKS } from '../support/race.ts'
import { memoryLog } from '../support/workers.ts'

const notes = channel<string>('notes')
const question = request<string, string>('question')

test('a send to an id that was never started is rejected when the limit is reached', async () => {
  await using space = await openSpace('memory')
  const sends = workflow('sends', async (id: string, ctx) => ctx.get(id).send(notes, 'one more'))
  const runtime = await space.open(sends)
  const store = (space.store as StoreHandle)[OPEN_WORKFLOW_STORE]()
  await store.open()
  const iid = await store.reserve(1)
  await store.post(
    Array.from({ length: MAX_UNSTARTED_MESSAGES }, () =>
      message('nobody', '"x"', { iid, name: 'other' }),
    ),
  )

  const refused = [
    runtime.get('nobody').send(notes, 'one more'),
    runtime.get('nobody').request(question, 'who is there?'),
    runtime.run(sends, 'nobody'),
  ]

  const errors = await Promise.all(refused.map((one) => one.catch((error: unknown) => error)))
  const words =
    'instance "nobody" has not been started and already has 10000 waiting messages, the limit; ' +
    'start it, or check the id'
  expect(errors.map((error) => (error as Error).message)).toEqual([
    `send: ${words}`,
    `request: ${words}`,
    expect.stringContaining(`send: ${words}`),
  ])
  expect(errors[0]).toBeInstanceOf(ChannelFullError)
  expect(errors[0]).toMatchObject({
    instanceId: 'nobody',
    channel: 'notes',
    capacity: MAX_UNSTARTED_MESSAGES,
  })
  await store.close()
})

describeRace('messages for an id that is never started', (open) => {
  test('expire after a week: a runtime says how many, in its log and its health', async () => {
    await using under = await open()
    const log = memoryLog()
    const nothing = workflow('nothing', async () => {})
    const ticking = countingStore(await under.another())
    await using runtime = await engineOn(ticking.store, nothing, { ...FREQUENT_TICKS, log })
    await runtime.get('nobody').send(notes, 'one')
    await runtime.get('nobody').send(notes, 'two')
    await ticking.furtherTicks(1)
    const before = runtime.health().undelivered

    await under.advance(UNSTARTED_KEPT_MS + 1_000)
    await eventually(() => runtime.health().undelivered.early > 0)

    expect(before).toEqual({ late: 0, early: 0 })
    expect(runtime.health().undelivered).toEqual({ late: 0, early: 2 })
    expect(log.lines).toContainEqual({
      level: 'warn',
      message: 'messages expired: their instance was never started',
      data: { messages: 2 },
    })
    expect(await under.store.find(['nobody'])).toEqual([undefined])
  })
})

describeOnStores('a delayed start', (kind) => {
  test('keeps its time when it is suspended and resumed', async () => {
    await using space = await openSpace(kind)
    let ran = 0
    const later = workflow('later', async () => void ran++)
    const runtime = await space.open(later)
    const [far, near] = [
      await runtime.start(later, undefined, { delay: '1h' }),
      await runtime.start(later, undefined, { delay: 300 }),
    ]
    const before = await far.info()

    for (const instance of [far, near]) {
      await instance.suspend('wait')
      await instance.resume()
    }
    const after = await far.info()
    await near.result()

    expect(ran).toBe(1)
    expect(before?.waitingFor).toEqual([expect.stringMatching(/^its start at /)])
    expect(after).toMatchObject({ status: 'scheduled', waitingFor: before?.waitingFor })
    await far.cancel('never mind')
    await expect(far.result()).rejects.toThrow('cancelled: never mind')
    expect(ran).toBe(1)
  })

  test('is cancelled while it is suspended, and ends when it is resumed', async () => {
    await using space = await openSpace(kind)
    let ran = 0
    const later = workflow('later', async () => void ran++)
    const runtime = await space.open(later)
    const instance = await runtime.start(later, undefined, { delay: '1h' })

    await instance.suspend('wait')
    await instance.cancel('never mind')
    await instance.resume()

    await expect(instance.result()).rejects.toThrow('cancelled: never mind')
    expect(ran).toBe(0)
  })
})
