import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { HintSender, type HintBatch } from './hint-sender.ts'

const RUNTIME = { runtime: 7, hasRoom: true }
const CLIENT = { runtime: 0, hasRoom: false }

function scene() {
  const clock = virtualClock()
  const sent: HintBatch[] = []
  const state = { others: true, isListening: true, fails: false, takesMs: 0, lost: 0 }
  const sender = new HintSender({
    clock,
    listener: () => 'me',
    lost: () => void state.lost++,
    isListening: () => state.isListening,
    async send(parcel) {
      sent.push(parcel)
      if (state.takesMs > 0) await new Promise<void>((done) => clock.after(state.takesMs, done))
      if (state.fails) throw new Error('no connection')
      return state.others
    },
  })
  return { clock, sent, state, sender }
}

test('hints of one moment are sent at once in one call, and none twice', async () => {
  const { clock, sent, sender } = scene()

  sender.announce({ kind: 'mail', iids: [1, 2] }, RUNTIME)
  sender.announce({ kind: 'mail', iids: [2, 3] }, RUNTIME)
  sender.announce({ kind: 'due', iids: [4] }, RUNTIME)
  const ship = { activity: 'ship', pinned: false }
  sender.announce({ kind: 'tasks', activities: [{ ...ship, count: 1 }] }, RUNTIME)
  sender.announce({ kind: 'tasks', activities: [{ ...ship, count: 2 }] }, RUNTIME)
  sender.announce({ kind: 'recalled', iids: [5] }, RUNTIME)
  await clock.advance(0)

  expect(sent).toEqual([
    {
      origin: RUNTIME,
      mail: [1, 2, 3],
      due: [4],
      tasks: [{ ...ship, count: 3 }],
      notifications: [{ to: 'all', payload: '{"kind":"recalled","iids":[5],"from":"me"}' }],
    },
  ])
})

test('however many hints there are, the server is called once a millisecond', async () => {
  const { clock, sent, sender } = scene()

  for (let iid = 1; iid <= 100; iid++) {
    sender.announce({ kind: 'mail', iids: [iid] }, RUNTIME)
    await clock.advance(0.1)
  }
  await clock.advance(1)

  expect(sent.flatMap(({ mail }) => mail)).toHaveLength(100)
  expect(sent.length).toBeLessThanOrEqual(11)
})

test('hints during a call are batched for the next one', async () => {
  const { clock, sent, state, sender } = scene()
  state.takesMs = 100

  for (let iid = 1; iid <= 50; iid++) {
    sender.announce({ kind: 'mail', iids: [iid] }, RUNTIME)
    await clock.advance(2)
  }
  await clock.advance('1s')

  expect(sent.flatMap(({ mail }) => mail)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
  expect(sent).toHaveLength(2)
})

test('a call that fails is reported as lost, and the next one is made', async () => {
  const { clock, sent, state, sender } = scene()
  state.fails = true
  sender.announce({ kind: 'mail', iids: [1] }, RUNTIME)
  await clock.advance(1)
  state.fails = false

  sender.announce({ kind: 'mail', iids: [2] }, RUNTIME)
  await clock.advance(1)

  expect(sent.map(({ mail }) => mail)).toEqual([[1], [2]])
  expect(state.lost).toBe(1)
})

test('the only runtime sends no hints for ten seconds', async () => {
  const { clock, sent, state, sender } = scene()
  state.others = false
  sender.announce({ kind: 'mail', iids: [1] }, RUNTIME)
  await clock.advance(1)

  for (let second = 0; second < 9; second++) {
    sender.announce({ kind: 'mail', iids: [2] }, RUNTIME)
    await clock.advance('1s')
  }
  expect(sent).toHaveLength(1)

  await clock.advance('1s')
  sender.announce({ kind: 'mail', iids: [3] }, RUNTIME)
  await clock.advance(1)
  expect(sent.at(-1)!.mail).toEqual([3])
})

test('the only runtime still sends hints to listeners that wait', async () => {
  const { clock, sent, state, sender } = scene()
  state.others = false
  sender.announce({ kind: 'freed' }, RUNTIME)
  await clock.advance(1)

  sender.announce({ kind: 'changed', to: 'you', iids: [1] }, RUNTIME)
  sender.announce({ kind: 'waiting', iids: [2] }, RUNTIME)
  await clock.advance(1)

  expect(sent.at(-1)!.notifications.map(({ to }) => to)).toEqual(['all', 'you'])
})

test('changes for one listener are sent in one notification', async () => {
  const { clock, sent, sender } = scene()

  sender.announce({ kind: 'changed', to: 'you', iids: [1] }, RUNTIME)
  sender.announce({ kind: 'changed', to: 'them', iids: [1] }, RUNTIME)
  sender.announce({ kind: 'changed', to: 'you', iids: [1, 2] }, RUNTIME)
  await clock.advance(1)

  expect(sent.flatMap(({ notifications }) => notifications)).toEqual([
    { to: 'you', payload: '{"kind":"changed","iids":[1,2],"from":"me"}' },
    { to: 'them', payload: '{"kind":"changed","iids":[1],"from":"me"}' },
  ])
})

test('a client, and a runtime without notifications, always send their hints', async () => {
  const { clock, sent, state, sender } = scene()
  state.others = false
  sender.announce({ kind: 'mail', iids: [1] }, CLIENT)
  await clock.advance(1)
  sender.announce({ kind: 'mail', iids: [2] }, RUNTIME)
  await clock.advance(1)
  state.isListening = false

  sender.announce({ kind: 'mail', iids: [3] }, RUNTIME)
  await clock.advance(1)

  expect(sent.map(({ mail }) => mail)).toEqual([[1], [2], [3]])
})

test('a runtime that joins just after a hint was withheld is asked to poll', async () => {
  const { clock, sent, state, sender } = scene()
  state.others = false
  sender.announce({ kind: 'mail', iids: [1] }, RUNTIME)
  await clock.advance(1)
  sender.announce({ kind: 'mail', iids: [2] }, RUNTIME)
  await clock.advance(20)

  sender.joined()
  await clock.advance(1)

  expect(sent.at(-1)!.notifications).toEqual([
    { to: 'all', payload: '{"kind":"work","iids":[],"at":0,"from":"me"}' },
  ])
})

test('a runtime that joins later polled by itself, and gets later hints', async () => {
  const { clock, sent, state, sender } = scene()
  state.others = false
  sender.announce({ kind: 'mail', iids: [1] }, RUNTIME)
  await clock.advance('5s')

  sender.joined()
  await clock.advance(1)
  expect(sent).toHaveLength(1)

  sender.announce({ kind: 'mail', iids: [2] }, RUNTIME)
  await clock.advance(1)
  expect(sent.at(-1)!.mail).toEqual([2])
})

test('all hints are sent before the store is closed', async () => {
  const { clock, sent, sender } = scene()
  sender.announce({ kind: 'freed' }, RUNTIME)

  await clock.until(sender.drain())

  expect(sent).toHaveLength(1)
})
