import { describe } from '../base/describe.ts'
import { number, oneOf, option, type Resolved, resolveOptions } from '../base/options.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import {
  DEAD_LETTER_STATES,
  type DeadLetterRequest,
  type DeadLetterRow,
  type DeadLetterState,
  type OutboxStore,
  type TopicRow,
} from '../store/outbox-store.ts'
import { type Message, messageOf } from './message.ts'
import { shortReason } from './outcome.ts'

/** A message that is not delivered any more. */
export interface DeadLetter {
  readonly id: string
  readonly message: Message<unknown>
  /**
   * `pending`: waits for a decision · `reprocessing`: a replay has it · `resolved`, `discarded`: done with,
   * and removed some time later.
   */
  readonly status: DeadLetterState
  readonly reason: string
  readonly failedAt: Date
  /** When it was resolved or discarded. */
  readonly completedAt?: Date
  /** Until when the replay has it that took it. */
  readonly deadline?: Date
}

/** Which dead letters. */
export interface DeadLetterFilter {
  topic?: string
  /** The index of a partition of the topic. */
  partition?: number
  /** Only for `list` and `count`; the other verbs know which they change. @default 'pending' */
  status?: DeadLetterState | 'any'
  /** The most of them. @default 100 for `list` and `replay`, all for the other verbs */
  limit?: number
  /** `next` of the page before. Only for `list`; `count` ignores it. */
  after?: string
}

/** What can be done about messages that are not delivered any more. */
export interface DeadLetters {
  /** Lists dead letters, newest first. */
  list(
    filter?: DeadLetterFilter,
  ): Promise<{ readonly items: readonly DeadLetter[]; readonly next?: string }>
  /** Counts dead letters; ignores `limit` and `after`. */
  count(filter?: DeadLetterFilter): Promise<number>
  /**
   * Takes pending dead letters, oldest first: they are yours until the deadline (30 seconds by default).
   * Handle them, then `resolve` or `reject` them. After the deadline they are pending again.
   */
  replay(
    filter?: DeadLetterFilter,
    options?: { deadline?: Duration },
  ): Promise<readonly DeadLetter[]>
  /** Puts dead letters back into their topic, behind all other messages. Returns how many. */
  requeue(ids: readonly string[]): Promise<number>
  /** Ends a replay with success. Returns how many it ended. */
  resolve(ids: readonly string[]): Promise<number>
  /** Ends a replay without success: they are pending again. Returns how many it ended. */
  reject(ids: readonly string[], reason: string): Promise<number>
  /** Gives up pending dead letters. Returns how many. */
  discard(filter?: DeadLetterFilter): Promise<number>
  /** Removes dead letters that are resolved or discarded. Returns how many. */
  cleanup(filter?: DeadLetterFilter): Promise<number>
}

/** What dead letters are found by. */
export interface DeadLettersSetup {
  readonly store: OutboxStore
  /** Opens the store. */
  readonly open: () => Promise<void>
  /** The topic of this name, and of this partition; `undefined` for an unknown one. */
  readonly topicNamed: (name: string) => Promise<TopicRow | undefined>
  readonly topicOf: (partition: number) => Promise<TopicRow | undefined>
  readonly decode: (text: string) => unknown
  /** Messages were put back into these partitions. */
  readonly added: (partitions: readonly number[]) => void
}

const PAGE = 100
const REPLAY_MS = 30_000

const FILTER = {
  topic: option(text, undefined),
  partition: option(number({ min: 0, integer: true }, 0).check, undefined),
  status: oneOf([...DEAD_LETTER_STATES, 'any'], 'pending'),
  limit: option(number({ min: 1, integer: true }, 1).check, undefined),
  after: option(cursor, undefined),
}

type ResolvedFilter = Resolved<typeof FILTER>

/** Dead letters of an outbox. */
export function deadLetters(setup: DeadLettersSetup): DeadLetters {
  const { store } = setup

  /** `undefined` for a topic that does not exist: it has none. */
  const request = async (
    owner: string,
    given: DeadLetterFilter | undefined,
    limit: number | null,
    { changes = false } = {},
  ): Promise<DeadLetterRequest | undefined> => {
    const filter = resolveOptions(owner, given, FILTER)
    // Pages are of lists: what is changed is not where it was any more.
    for (const name of changes ? (['status', 'after'] as const) : []) {
      if (given?.[name] === undefined) continue
      throw new TypeError(`${owner}: ${name} cannot be chosen here, got ${describe(given[name])}`)
    }
    await setup.open()
    const partitions = await partitionsOf(owner, filter)
    if (partitions === 'none') return undefined
    return {
      partitions,
      // Verbs that change letters know themselves of which state.
      state: changes || filter.status === 'any' ? null : filter.status,
      limit: filter.limit ?? limit,
      after: filter.after ?? null,
    }
  }

  const partitionsOf = async (
    owner: string,
    { topic, partition }: ResolvedFilter,
  ): Promise<DeadLetterRequest['partitions'] | 'none'> => {
    if (topic === undefined) {
      if (partition === undefined) return null
      throw new TypeError(`${owner}: partition needs a topic`)
    }
    const row = await setup.topicNamed(topic)
    if (row === undefined || (partition !== undefined && partition >= row.partitions)) return 'none'
    const from = row.first + (partition ?? 0)
    return { from, to: partition === undefined ? row.first + row.partitions - 1 : from }
  }

  const toLetters = (rows: readonly DeadLetterRow[]): Promise<DeadLetter[]> =>
    Promise.all(rows.map((row) => toLetter(setup, row)))

  return {
    async list(filter) {
      const wanted = await request('deadLetters.list', filter, PAGE)
      if (wanted === undefined) return { items: [] }
      const rows = await store.deadLetters(wanted)
      const last = rows.length === wanted.limit ? rows.at(-1) : undefined
      const items = await toLetters(rows)
      return last === undefined ? { items } : { items, next: `${last.failedAt}-${last.letter}` }
    },
    async count(filter) {
      const wanted = await request('deadLetters.count', filter, null)
      return wanted === undefined ? 0 : store.countDeadLetters(wanted)
    },
    async replay(filter, options) {
      const owner = 'deadLetters.replay'
      const { deadline } = resolveOptions(owner, options, { deadline: duration(REPLAY_MS) })
      const wanted = await request(owner, filter, PAGE, { changes: true })
      if (wanted === undefined) return []
      return toLetters(await store.replayDeadLetters(wanted, deadline))
    },
    async requeue(ids) {
      const letters = numbers('deadLetters.requeue', ids)
      await setup.open()
      const partitions = await store.requeueDeadLetters(letters)
      setup.added(partitions)
      return partitions.length
    },
    async resolve(ids) {
      const letters = numbers('deadLetters.resolve', ids)
      await setup.open()
      return store.resolveDeadLetters(letters)
    },
    async reject(ids, reason) {
      const letters = numbers('deadLetters.reject', ids)
      if (typeof reason !== 'string' || reason === '') {
        throw new TypeError(
          `deadLetters.reject: reason must be a non-empty string, got ${describe(reason)}`,
        )
      }
      await setup.open()
      return store.rejectDeadLetters(letters, shortReason(reason))
    },
    async discard(filter) {
      const wanted = await request('deadLetters.discard', filter, null, { changes: true })
      return wanted === undefined ? 0 : store.discardDeadLetters(wanted)
    },
    async cleanup(filter) {
      const wanted = await request('deadLetters.cleanup', filter, null, { changes: true })
      return wanted === undefined ? 0 : store.cleanupDeadLetters(wanted)
    },
  }
}

async function toLetter(
  { topicOf, decode }: DeadLettersSetup,
  row: DeadLetterRow,
): Promise<DeadLetter> {
  const topic = await topicOf(row.partition)
  const index = row.partition - (topic?.first ?? 0)
  const { completedAt, deadline } = row
  return {
    id: String(row.letter),
    // Its attempt is the last one that failed, not one that is still to come.
    message: { ...messageOf(row, topic?.name ?? '', index, safely(decode)), attempt: row.failures },
    status: row.state,
    reason: row.reason,
    failedAt: new Date(row.failedAt),
    ...(completedAt !== null && { completedAt: new Date(completedAt) }),
    ...(deadline !== null && { deadline: new Date(deadline) }),
  }
}

/** A payload that cannot be decoded is often why a message is dead: it is shown as it is stored. */
function safely(decode: (stored: string) => unknown): (stored: string) => unknown {
  return (stored) => {
    try {
      return decode(stored)
    } catch {
      return stored
    }
  }
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be the name of a topic, got ${describe(value)}`)
}

function cursor(value: unknown, what: string): { failedAt: number; letter: number } {
  const parts = typeof value === 'string' ? /^(\d{1,15})-(\d{1,15})$/.exec(value) : null
  if (parts !== null) return { failedAt: Number(parts[1]), letter: Number(parts[2]) }
  throw new TypeError(`${what} must be the next of an earlier page, got ${describe(value)}`)
}

function numbers(owner: string, ids: unknown): number[] {
  if (!Array.isArray(ids)) {
    throw new TypeError(`${owner}: ids must be a list, got ${describe(ids)}`)
  }
  return ids.map((id: unknown) => {
    if (typeof id === 'string' && /^\d{1,15}$/.test(id)) return Number(id)
    throw new TypeError(`${owner}: needs ids of dead letters, got ${describe(id)}`)
  })
}
