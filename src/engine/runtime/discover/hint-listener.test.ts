import { describe, expect, test } from 'vitest'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Hint, HintReceiver, Announcement, HintOrigin } from '../../../store/hints.ts'
import { memoryLog } from '../../../../test/support/workers.ts'
import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { Alarms } from '../../core/alarms.ts'
import { StoreClock } from '../../core/store-clock.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import type { Claimer } from './claimer.ts'
import { HintExchange } from './hint-exchange.ts'
import { HintListener } from './hint-listener.ts'
import type { MailReader } from './mail-reader.ts'
import type { Ownership } from './ownership.ts'
import type { PoolServices, OwnedTaskSet } from './ports.ts'
import type { Registration } from './registration.ts'
import type { Ticker } from './ticker.ts'
import type { WorkFinder } from './work-finder.ts'

/** A runtime that notes what it is asked to do, and hints that record announcements. */
function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const asked: string[] = []
  const announced: [Announcement, HintOrigin][] = []
  const state = { free: 10, owned: new Set([1]), workflows: [3], fails: false, hasWork: false }
  let listener!: HintReceiver
  const note =
    (what: string) =>
    (given: unknown): void =>
      void asked.push(`${what} ${JSON.stringify(given)}`)
  const check = (what: string) => async (given: unknown) =>
    asked.push(`${what} ${JSON.stringify(given)}`)
  const store = {
    hints: {
      announce: (announcement: Announcement, origin: HintOrigin) =>
        void announced.push([announcement, origin]),
      listen(given: HintReceiver) {
        listener = given
        return {
          isListening: true,
          health: () => ({ state: 'listening', interruptions: 0 }),
          refresh() {},
          async close() {},
        }
      },
    },
  }
  const core = testCore(clock, { log, store })
  const registration = partOf<Registration>({
    number: 7,
    get workflows() {
      return state.workflows
    },
  })
  const capacity = {
    get free() {
      return state.free
    },
  } as Capacity
  const owns = (iid: number): boolean => state.owned.has(iid)
  const instances = { get: (iid: number) => (owns(iid) ? {} : undefined) } as LiveInstances
  const hints = new HintExchange(core, registration, capacity, instances)
  const finder = partOf<WorkFinder>({
    hints,
    capacity,
    owns,
    mail: partOf<MailReader>({ look: note('look') }),
    claimer: partOf<Claimer>({ claimAt: note('claimAt'), wake: () => void asked.push('claim') }),
  })
  const ticker = partOf<Ticker>({
    async ask() {
      asked.push('ask')
      await new Promise<void>((done) => clock.after(10, done))
      if (state.fails) throw new Error('no connection')
      return { work: state.hasWork, tasks: false, soon: false }
    },
    wake: () => void asked.push('tick'),
  })
  const owned = partOf<OwnedTaskSet>({
    keys: () => [{ iid: 1, execution: 1, command: 2, attempt: 1 }],
    abortUnwanted: check('abortUnwanted'),
  })
  const activities = partOf<PoolServices>({
    tasks: { owned },
    claimer: {
      interest: { activities: ['ship'], served: { untagged: true, tags: [] } },
      wakeAt: note('tasksAt'),
    },
  })
  const listening = new HintListener(
    core,
    registration,
    finder,
    ticker,
    partOf<Ownership>({ dropChanged: check('dropChanged') }),
    activities,
    { lookAt: (at) => void asked.push(`schedules at ${at}`) },
  )
  listening.open()
  asked.length = 0
  const receive = (hint: Hint): void => listener.receive(hint)
  return { clock, log, asked, announced, state, hints, receive, listener }
}

describe('an incoming hint', () => {
  test.each<[Hint, string[]]>([
    [{ kind: 'work', iids: [1, 2], at: 0 }, ['look [1,2]']],
    [{ kind: 'work', iids: [2], at: 5_000 }, ['claimAt 5000']],
    [{ kind: 'work', iids: [], at: 5_000 }, ['claimAt 5000']],
    [{ kind: 'work', iids: [], at: 0 }, ['ask']],
    [{ kind: 'tasks', activities: ['mail', 'ship'], at: 0 }, ['tasksAt 0']],
    [{ kind: 'tasks', activities: ['mail'], at: 0 }, []],
    [{ kind: 'tasks', activities: [], at: 9 }, ['tasksAt 9']],
    [{ kind: 'recalled', iids: [1] }, ['dropChanged [1]']],
    [{ kind: 'recalled', iids: [2] }, []],
    [
      { kind: 'dropped', tasks: [{ iid: 1, execution: 1, command: 2 }] },
      ['abortUnwanted [{"iid":1,"execution":1,"command":2}]'],
    ],
    [{ kind: 'dropped', tasks: [{ iid: 1, execution: 1, command: 3 }] }, []],
    [{ kind: 'schedules', at: 9 }, ['schedules at 9']],
    [{ kind: 'joined' }, []],
  ])('%j', (hint, expected) => {
    const { asked, receive } = scene()

    receive(hint)

    expect(asked).toEqual(expected)
  })

  test('any number of hints about everything cause one query at a time', async () => {
    const { clock, asked, receive } = scene()

    for (let i = 0; i < 100; i++) receive({ kind: 'work', iids: [], at: 0 })
    await clock.advance('1s')

    expect(asked).toEqual(['ask', 'ask'])
  })

  test('when the store does not answer, the ticker retries', async () => {
    const { clock, log, state, asked, receive } = scene()
    state.fails = true
    receive({ kind: 'work', iids: [], at: 0 })
    await clock.advance('1s')

    receive({ kind: 'work', iids: [], at: 0 })

    expect(asked).toEqual(['ask', 'tick', 'ask'])
    expect(log.at('debug')).toEqual(['could not ask the store for work; retrying'])
  })

  test('without workflows, only work of instances that are owned here is followed', () => {
    const { state, asked, receive } = scene()
    state.workflows = []

    for (let iid = 2; iid <= 1_000; iid++) receive({ kind: 'work', iids: [iid], at: 0 })
    receive({ kind: 'work', iids: [1, 2], at: 0 })

    expect(asked).toEqual(['look [1,2]'])
  })

  test('a look returns whether there was anything to do', async () => {
    const { clock, state, listener } = scene()

    expect(await clock.until(listener.poll())).toBe(false)
    state.hasWork = true
    expect(await clock.until(listener.poll())).toBe(true)
  })
})

test('an alarm for a moment that has passed rings at once', async () => {
  const clock = virtualClock()
  const time = new StoreClock(clock)
  time.saw(10_000)
  const rung: number[] = []

  new Alarms(clock, time).set({ ring: () => void rung.push(time.now()) }, 9_000)
  await clock.advance(0)

  expect(rung).toEqual([10_000])
})

describe('without a free slot', () => {
  test('all runtimes are asked to take the work, at intervals', async () => {
    const { clock, announced, state, receive } = scene()
    state.free = 0

    for (let i = 0; i < 100; i++) {
      receive({ kind: 'work', iids: [2], at: 0 })
      await clock.advance(10)
    }

    expect(announced).toEqual([
      [{ kind: 'overflow' }, { runtime: 7, hasRoom: false }],
      [{ kind: 'overflow' }, { runtime: 7, hasRoom: false }],
    ])
  })

  test('hints about instances owned here, or for all runtimes, are not passed on', () => {
    const { announced, asked, state, receive } = scene()
    state.free = 0

    receive({ kind: 'work', iids: [1], at: 0 })
    receive({ kind: 'work', iids: [], at: 0 })
    receive({ kind: 'work', iids: [], at: 5 })

    expect(asked).toEqual(['look [1]', 'ask', 'claim'])
    expect(announced).toEqual([])
  })
})

describe('an outgoing hint', () => {
  const ORIGIN = { runtime: 7, hasRoom: true }

  test('names instances with mail that are not owned here', () => {
    const { announced, hints } = scene()

    hints.tellMail([1, 2])
    hints.tellMail([1])

    expect(announced).toEqual([[{ kind: 'mail', iids: [2] }, ORIGIN]])
  })

  test('names tasks, and whether a tag or a session decides where they run', () => {
    const { announced, hints } = scene()
    const task = {
      command: 1,
      activity: 'ship',
      token: 1,
      input: '',
      tag: '',
      session: '',
      options: '',
      attempts: 0,
      startBy: null,
      limit: null,
    }

    hints.announceTasks([task, { ...task, tag: 'gpu' }, { ...task, session: 's' }])

    expect(announced).toEqual([
      [
        {
          kind: 'tasks',
          activities: [
            { activity: 'ship', count: 1, pinned: false },
            { activity: 'ship', count: 1, pinned: true },
            { activity: 'ship', count: 1, pinned: true },
          ],
        },
        ORIGIN,
      ],
    ])
  })

  test('notifies waiting processes of changes, and callers in this process at once', () => {
    const { announced, hints, receive } = scene()
    const here: number[] = []
    hints.changes.subscribe(1, () => void here.push(1))
    receive({ kind: 'waiting', iids: [1], to: 'them' })

    hints.changed(1)
    hints.changed(2)

    expect(announced).toEqual([[{ kind: 'changed', to: 'them', iids: [1] }, ORIGIN]])
    expect(here).toEqual([1])
  })
})
