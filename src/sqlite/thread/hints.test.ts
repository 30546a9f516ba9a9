import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Hint, HintStore, Listening } from '../../store/hints.ts'
import { memoryLog } from '../../../test/support/workers.ts'
import { HintHub } from './hints.ts'
import type { PendingWork } from '../operations/pending-work.ts'

const NOTHING: PendingWork = { clock: 0, mail: [], dueAt: null, tasksAt: null, dropped: [] }
const TELLER = { runtime: 0, hasRoom: false }

function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const watched: (readonly number[] | 'stopped')[] = []
  const hub = new HintHub({
    watchChanges: (own) => void watched.push(own),
    unwatchChanges: () => void watched.push('stopped'),
  })
  const join = (runtime: number, news: Partial<PendingWork> = {}) => {
    const member = { asks: [] as number[], heard: [] as Hint[], news, takesMs: 0, fails: false }
    const hints: HintStore = hub.hintsOf(async () => {
      member.asks.push(clock.now())
      if (member.takesMs > 0) await new Promise<void>((done) => clock.after(member.takesMs, done))
      if (member.fails) throw new Error('closed')
      return { ...NOTHING, ...member.news }
    })
    const listening: Listening = hints.listen({
      clock,
      log,
      interest: () => ({ runtime, workflows: [], tasks: null, ownedTasks: [] }),
      hear: (hint) => void member.heard.push(hint),
      look: async () => false,
    })
    return Object.assign(member, { hints, listening })
  }
  return { clock, log, hub, watched, join }
}

test('a commit of somebody else makes everybody ask what there is to do', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7, { mail: [1], dueAt: 5_000, tasksAt: 9_000, dropped: [] })
  await clock.advance('1s')
  seven.heard.length = 0

  hub.changed()
  await clock.advance(0)

  expect(seven.heard).toEqual([
    { kind: 'changed', iids: [] },
    { kind: 'work', iids: [1], at: 0 },
    { kind: 'work', iids: [], at: 5_000 },
    { kind: 'tasks', activities: [], at: 9_000 },
  ])
})

test('where there is nothing to do, nothing is heard of it', async () => {
  const { clock, join } = scene()
  const seven = join(7)

  await clock.advance('1s')

  expect(seven.asks).toHaveLength(1)
  expect(seven.heard).toEqual([])
})

test('those who share a thread tell each other, and not themselves', async () => {
  const { clock, join } = scene()
  const [seven, eight] = [join(7), join(8)]
  await clock.advance('1s')
  const asked = (): number[] => [seven.asks.length, eight.asks.length]
  const before = asked()

  seven.hints.tell({ kind: 'mail', iids: [1] }, TELLER)
  await clock.advance('1s')

  expect(asked()).toEqual([before[0], before[1]! + 1])
})

test('what is said to all reaches all others, and what is said to one only that one', async () => {
  const { clock, join } = scene()
  const [seven, eight, client] = [join(7), join(8), join(0)]
  await clock.advance('1s')
  for (const { heard } of [seven, eight, client]) heard.length = 0

  client.hints.tell({ kind: 'waiting', iids: [1] }, TELLER)
  const [waiting] = seven.heard as [Extract<Hint, { kind: 'waiting' }>]
  seven.hints.tell({ kind: 'changed', to: waiting.to, iids: [1] }, TELLER)
  seven.hints.tell({ kind: 'recalled', iids: [2] }, TELLER)

  expect(eight.heard).toEqual([waiting, { kind: 'recalled', iids: [2] }])
  expect(client.heard).toEqual([
    { kind: 'changed', iids: [1] },
    { kind: 'recalled', iids: [2] },
  ])
  expect(seven.heard).toEqual([waiting])
})

test('a runtime that joins is announced to all others; a client that joins, to nobody', () => {
  const { join } = scene()
  const [seven, client] = [join(7), join(0)]

  const eight = join(8)
  join(0)

  expect(seven.heard).toEqual([{ kind: 'joined' }])
  expect(client.heard).toEqual([{ kind: 'joined' }])
  expect(eight.heard).toEqual([])
})

test('however much others commit, there is a pause between two questions', async () => {
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

  seven.news = { mail: [1] }
  hub.changed()
  await clock.advance('1s')

  expect(seven.asks).toHaveLength(2)
  expect(seven.heard.at(-1)).toEqual({ kind: 'work', iids: [1], at: 0 })
})

test('a store that cannot be asked is asked again at the next change', async () => {
  const { clock, hub, log, join } = scene()
  const seven = join(7)
  await clock.advance('1s')
  seven.fails = true
  hub.changed()
  await clock.advance('1s')
  seven.fails = false
  seven.news = { mail: [1] }

  hub.changed()
  await clock.advance('1s')

  expect(seven.heard.at(-1)).toEqual({ kind: 'work', iids: [1], at: 0 })
  expect(log.at('debug')).toEqual(['the store could not be asked'])
})

test('commits are looked for while somebody listens, other than those of its own runtimes', async () => {
  const { watched, join } = scene()

  const seven = join(7)
  const client = join(0)
  await seven.listening.close()
  await client.listening.close()

  expect(watched).toEqual([[7], [7], [], 'stopped'])
})

test('who has left hears nothing and asks nothing', async () => {
  const { clock, hub, join } = scene()
  const seven = join(7)
  await clock.advance('1s')
  const asks = seven.asks.length

  await seven.listening.close()
  hub.changed()
  await clock.advance('1s')

  expect(seven.asks).toHaveLength(asks)
  expect(seven.heard).toEqual([])
  expect(seven.listening.hears).toBe(false)
  expect(clock.pending).toBe(0)
})
