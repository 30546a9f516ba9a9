import { describe, expect, test } from 'vitest'
import { memoryLog } from '../../test/support/workers.ts'
import type { OutboxStore, Step, StepAnswer } from '../store/outbox-store.ts'
import { StoreError } from '../store/store-error.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { supervise } from '../workers/supervisor.ts'
import type { Handler } from './handlers.ts'
import { resolveHandler } from './handle-options.ts'
import { TopicRunner } from './topic-runner.ts'

type Answered = Extract<StepAnswer, { state: 'ok' }>

const EMPTY: Answered = {
  state: 'ok',
  epoch: 1,
  cursor: 0,
  done: [],
  failures: new Map(),
  later: new Map(),
  abandoned: 0,
  messages: [],
  due: [],
  waitingKeys: [],
  isBlocked: false,
  dueAt: null,
  isReleased: true,
}

/** A topic with two partitions, in a store that answers as told. */
function opened(
  answer: (step: Step) => Answered,
  handler: Handler = { kind: 'single', run: async () => {} },
  transact: OutboxStore['transact'] = async () => 'lost',
) {
  const clock = virtualClock()
  const log = memoryLog()
  let dead = 0
  const runner = new TopicRunner(
    {
      clock,
      log,
      meter: undefined,
      tracer: undefined,
      decode: JSON.parse,
      store: { transact },
      step: async (step) => answer(step),
      runtime: () => 1,
      storeNow: () => clock.now(),
      graceMs: () => Infinity,
      count: (settled) => void (dead += settled.dead.length),
      lost: () => new AbortController().signal,
      onDead: async () => {},
      look: async () => ({ isBlocked: false, dueInMs: Infinity }),
    },
    { topic: 1, name: 'orders', first: 0, partitions: 2 },
    resolveHandler('test', handler, undefined, 'default'),
  )
  const supervisor = supervise([...runner.workers], { clock, log })
  const lines = (text: string) => log.lines.filter(({ message }) => message.includes(text))
  return { clock, runner, supervisor, lines, dead: () => dead }
}

test('a transaction that stays open is one warning for a topic, each time', async () => {
  let isBlocked = true
  const { clock, runner, supervisor, lines } = opened(() => ({ ...EMPTY, isBlocked }))
  const warnings = () => lines('still open')
  const block = (): void => {
    for (const partition of [0, 1]) runner.dirty.mark(partition)
  }

  block()
  await clock.advance('9s')
  const early = warnings().length
  await clock.advance('30s')
  const once = warnings()
  isBlocked = false
  await clock.advance('10s')
  isBlocked = true
  block()
  await clock.advance('30s')
  const twice = warnings().length
  await clock.until(supervisor.stop())

  expect(early).toBe(0)
  expect(once).toMatchObject([{ data: { topic: 'orders', partitions: 2 } }])
  expect(twice).toBe(2)
})

const MESSAGE = {
  position: 7,
  id: 7,
  seq: 1,
  key: null,
  payload: '1',
  headers: null,
  enqueuedAt: 0,
  expiresAt: null,
  failures: 0,
}

const cut = (): never => {
  throw new StoreError('connection_lost', 'steps', 'cut')
}

const reject = async (_: unknown, ctx: { reject(reason: string): void }): Promise<void> =>
  ctx.reject('no')

describe('a batch whose answer is lost', () => {
  test.each([
    ['leased, and stored', 'single', true, 1],
    ['leased, and not stored', 'single', false, 0],
    ['transactional, and stored', 'transactional', true, 1],
    ['transactional, and not stored', 'transactional', false, 0],
  ] as const)('is reported once it is seen to be stored: %s', async (_, kind, isStored, count) => {
    let isCut = false
    const answer = ({ settle }: Step): Answered => {
      if (settle !== null) {
        isCut = true
        return cut()
      }
      if (!isCut) return { ...EMPTY, messages: [MESSAGE], isReleased: false }
      return { ...EMPTY, epoch: 2, cursor: isStored ? MESSAGE.position : 0 }
    }
    const { clock, runner, supervisor, lines, dead } = opened(
      answer,
      { kind, run: reject },
      async ({ work }) => {
        await work({ attempt: (code) => code({ query: cut }) })
        isCut = true
        return cut()
      },
    )

    runner.dirty.mark(0)
    await clock.advance('1s')
    await clock.until(supervisor.stop())

    expect(isCut).toBe(true)
    expect(lines('message became a dead letter')).toHaveLength(count)
    expect(dead()).toBe(count)
  })
})
