import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Hint, HintStore, HintSubscription } from '../../store/hints.ts'
import { memoryLog } from '../../../test/support/workers.ts'
import { HintHub } from './hints.ts'
import type { PendingWork } from '../operations/pending-work.ts'

const NOTHING: PendingWork = {
  clock: 0,
  mail: [],
  dueAt: null,
  tasksAt: null,
  schedulesAt: null,
  dropped: [],
}
const ORIGIN = { runtime: 0, hasRoom: false }

function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const watched: (readonly number[] | 'stopped')[] = []
  const hub = new HintHub({
    watchChanges: (own) => void watched.push(own),
    unwatchChanges: () => void watched.push('stopped'),
  })
  const join = (runtime: number, pending: Partial<PendingWork> = {}) => {
    const member = {
      asks: [] as number[],
      received: [] as Hint[],
      pending,
      takesMs: 0,
      fails: false,
    }
    const hints: HintStore = hub.hintsOf(async () => {
      member.asks.push(clock.now())
      if (member.takesMs > 0) await new Promise<void>((done) => clock.after(member.takesMs, done))
      if (member.fails) throw new Error('closed')
      return { ...NOTHING, ...member.pending }
    })
    const listening: HintSubscription = hints.listen({
      clock,
      log,
      interest: () => ({ runtime, workflows: [], tasks: null, ownedTasks: [] }),
      receive: (hint) => void member.received.push(hint),
      poll: async () => false,
    })
    return Object.assign(member, { hints, listening })
  }
  return { clock, log, hub, watched, join }
}

test('a commit of another process makes every listener read its pending work', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7, { mail: [1], dueAt: 5_000, tasksAt: 9_000, dropped: [] })
  await clock.advance('1s')
  seven.received.length = 0

  hub.changed()
  await clock.advance(0)

  expect(seven.received).toEqual([
    { kind: 'changed', iids: [] },
    { kind: 'work', iids: [1], at: 0 },
    { kind: 'work', iids: [], at: 5_000 },
    { kind: 'tasks', activities: [], at: 9_000 },
  ])
})

test('without pending work, no hint arrives', async () => {
  const { clock, join } = scene()
  const seven = join(7)

  await clock.advance('1s')

  expect(seven.asks).toHaveLength(1)
  expect(seven.received).toEqual([])
})

test('listeners that share a thread notify each other, and not themselves', async () => {
  const { clock, join } = scene()
  const [seven, eight] = [join(7), join(8)]
  await clock.advance('1s')
  const asked = (): number[] => [seven.asks.length, eight.asks.length]
  const before = asked()

  seven.hints.announce({ kind: 'mail', iids: [1] }, ORIGIN)
  await clock.advance('1s')

  expect(asked()).toEqual([before[0], before[1]! + 1])
})

test('a hint for all reaches all others, and a hint for one only that one', async () => {
  const { clock, join } = scene()
  const [seven, eight, client] = [join(7), join(8), join(0)]
  await clock.advance('1s')
  for (const { received } of [seven, eight, client]) received.length = 0

  client.hints.announce({ kind: 'waiting', iids: [1] }, ORIGIN)
  const [waiting] = seven.received as [Extract<Hint, { kind: 'waiting' }>]
  seven.hints.announce({ kind: 'changed', to: waiting.to, iids: [1] }, ORIGIN)
  seven.hints.announce({ kind: 'recalled', iids: [2] }, ORIGIN)

  expect(eight.received).toEqual([waiting, { kind: 'recalled', iids: [2] }])
  expect(client.received).toEqual([
    { kind: 'changed', iids: [1] },
    { kind: 'recalled', iids: [2] },
  ])
  expect(seven.received).toEqual([waiting])
})

test('a runtime that joins is announced to all others; a client that joins is not', () => {
  const { join } = scene()
  const [seven, client] = [join(7), join(0)]

  const eight = join(8)
  join(0)

  expect(seven.received).toEqual([{ kind: 'joined' }])
  expect(client.received).toEqual([{ kind: 'joined' }])
  expect(eight.received).toEqual([])
})

test('there is a pause between two reads, however much others commit', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7)
  seven.takesMs = 2
  await clock.advance('1s')
  seven.asks.length = 0

  for (let ms = 0; ms < 1_000; ms += 5) {
    hub.changed()
    await clock.advance(5)
  }

  // Two milliseconds for the answer, and nineteen times as long as asking may cost at most.
  expect(seven.asks).toHaveLength(Math.ceil(1_000 / (2 + 19 * 0.25)))
})

test('the last change is not missed because another one came just before', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7)
  seven.takesMs = 10
  await clock.advance('1s')
  seven.asks.length = 0
  hub.changed()
  await clock.advance(5)

  seven.pending = { mail: [1] }
  hub.changed()
  await clock.advance('1s')

  expect(seven.asks).toHaveLength(2)
  expect(seven.received.at(-1)).toEqual({ kind: 'work', iids: [1], at: 0 })
})

test('a read that fails is repeated at the next change', async () => {
  const { clock, hub, log, join } = scene()
  const seven = join(7)
  await clock.advance('1s')
  seven.fails = true
  hub.changed()
  await clock.advance('1s')
  seven.fails = false
  seven.pending = { mail: [1] }

  hub.changed()
  await clock.advance('1s')

  expect(seven.received.at(-1)).toEqual({ kind: 'work', iids: [1], at: 0 })
  expect(log.at('debug')).toEqual(['polling the store failed'])
})

test('the file is watched for commits while there is a listener, other than those of its own runtimes', async () => {
  const { watched, join } = scene()

  const seven = join(7)
  const client = join(0)
  await seven.listening.close()
  await client.listening.close()

  expect(watched).toEqual([[7], [7], [], 'stopped'])
})

test('a listener that was closed receives nothing and reads nothing', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7)
  await clock.advance('1s')
  const asks = seven.asks.length

  await seven.listening.close()
  hub.changed()
  await clock.advance('1s')

  expect(seven.asks).toHaveLength(asks)
  expect(seven.received).toEqual([])
  expect(seven.listening.isListening).toBe(false)
  expect(clock.pending).toBe(0)
})
