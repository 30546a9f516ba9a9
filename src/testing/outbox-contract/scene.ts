import type {
  DeadLetterRequest,
  DeadLetterRow,
  Enqueued,
  NewMessage,
  OutboxStore,
  Settlement,
  Step,
  StepAnswer,
  StoredMessage,
  TopicRow,
} from '../../store/outbox-store.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { TestRunner } from '../contract/store-under-test.ts'
import type { OutboxConnection, OutboxUnderTest } from './outbox-under-test.ts'

// What the tests of the suite are written with: runtimes that take steps, and short ways to make messages
// and settlements.

/** What each topic of the suite is given. */
export interface OutboxContract extends TestRunner {
  /** A fresh outbox for one test. */
  readonly open: () => Promise<OutboxScene>
}

/** How long a lease lasts here. */
export const LEASE_MS = 30_000

/** The answer to a step that was taken, and of which partition. */
export type Answered = Extract<StepAnswer, { state: 'ok' }> & { readonly partition: number }

/** An outbox under test, with the runtimes that use it. */
export class OutboxScene implements AsyncDisposable {
  readonly under: OutboxUnderTest
  readonly outbox: OutboxStore

  constructor(under: OutboxUnderTest) {
    this.under = under
    this.outbox = under.outbox
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.under[Symbol.asyncDispose]()
  }

  /** Registers a topic. */
  async topic(name = 'orders', partitions = 1): Promise<TopicRow> {
    const [row] = await this.outbox.topics([{ name, partitions }])
    return row!
  }

  /** A new runtime; by default on the first connection. */
  async runtime({ store, outbox }: OutboxConnection = this.under): Promise<Courier> {
    const { runtime } = await store.register({ leaseMs: LEASE_MS, workflows: [], info: 'contract' })
    return new Courier(store, outbox, runtime)
  }

  /** A runtime on a connection of its own. */
  async otherRuntime(): Promise<Courier> {
    return this.runtime(await this.under.another())
  }

  /** Enqueues in a transaction of its own, and commits. */
  enqueue(...added: readonly NewMessage[]): Promise<readonly Enqueued[]> {
    return this.enqueueTo(this.outbox, ...added)
  }

  /** The same to a certain outbox. */
  async enqueueTo(
    outbox: OutboxStore,
    ...added: readonly NewMessage[]
  ): Promise<readonly Enqueued[]> {
    const { tx, commit } = await this.under.openTransaction()
    const enqueued = await outbox.within(tx, { notify: true }).enqueue(added)
    await commit()
    return enqueued
  }

  /** Has a runtime die, and another one notice. */
  async bury({ runtime }: Courier): Promise<void> {
    await this.under.kill(runtime)
    const witness = await this.runtime()
    await witness.tick()
  }

  /** The store's time. */
  async now(): Promise<number> {
    return (await this.outbox.look([])).clock
  }

  /** The partitions that there is something to do for, with when. */
  async work(partitions: readonly number[] | null = null): Promise<[number, number | null][]> {
    const { work } = await this.outbox.look(partitions)
    return work
      .map(({ partition, dueAt }): [number, number | null] => [partition, dueAt])
      .toSorted(byFirst)
  }

  /** The partitions that there is something to do for now. */
  async ready(): Promise<number[]> {
    const now = await this.now()
    return (await this.work())
      .filter(([, at]) => at !== null && at <= now)
      .map(([partition]) => partition)
  }

  /** Has so many messages of a topic become dead letters, and answers them, newest first. */
  async deadLetters(topic: TopicRow, count: number): Promise<readonly DeadLetterRow[]> {
    await this.enqueue(...messages(topic, count))
    const courier = await this.runtime()
    const read = await courier.claim(topic.first, count)
    const dead = read.messages.map((one) => deadly(one))
    await courier.settle(read, { dead }, { read: 0, release: 'always' })
    return this.outbox.deadLetters(ALL)
  }
}

/** A runtime that delivers messages. */
export class Courier {
  readonly store: WorkflowStore
  readonly outbox: OutboxStore
  readonly runtime: number

  constructor(store: WorkflowStore, outbox: OutboxStore, runtime: number) {
    this.store = store
    this.outbox = outbox
    this.runtime = runtime
  }

  tick(): ReturnType<OutboxStore['tick']> {
    return this.outbox.tick(this.runtime, LEASE_MS)
  }

  /** Takes one step; by default it claims, reads ten messages, and keeps the partition if there are any. */
  async step(partition: number, given: Partial<Step> = {}): Promise<StepAnswer> {
    const { answers } = await this.outbox.steps(this.runtime, [step(partition, given)])
    return answers[0]!
  }

  /** Claims a partition, which must be free, and reads. */
  async claim(partition: number, read = 10, release: Step['release'] = 'never'): Promise<Answered> {
    return answered(partition, await this.step(partition, { read, release }))
  }

  /** By default settles all that was read as done, and reads again. */
  async settle(
    read: Answered,
    given: Partial<Settlement> = {},
    more: Partial<Step> = {},
  ): Promise<Answered> {
    return answered(read.partition, await this.trySettle(read, given, more))
  }

  /** The same, whatever the answer is. */
  trySettle(
    read: Answered,
    given: Partial<Settlement> = {},
    more: Partial<Step> = {},
  ): Promise<StepAnswer> {
    const { partition, epoch } = read
    return this.step(partition, { epoch, settle: settlement(read, given), ...more })
  }

  /** Gives a partition back as it is. */
  async release(read: Answered): Promise<void> {
    const { partition, epoch } = read
    answered(partition, await this.step(partition, { epoch, read: 0, release: 'always' }))
  }
}

/** By default a step that claims, reads ten messages, and keeps the partition. */
export function step(partition: number, given: Partial<Step> = {}): Step {
  return { partition, epoch: null, settle: null, read: 10, release: 'never', ...given }
}

/** The answer to a step that was taken; throws when it was not. */
export function answered(partition: number, answer: StepAnswer): Answered {
  if (answer.state !== 'ok') throw new Error(`the step was answered with "${answer.state}"`)
  return { ...answer, partition }
}

/** By default passes all that was read. */
export function settlement(read: Answered, given: Partial<Settlement> = {}): Settlement {
  return {
    cursor: read.cursor,
    to: read.messages.at(-1)?.position ?? read.cursor,
    passed: read.messages.length,
    done: [],
    failures: new Map(),
    later: new Map(),
    dueAt: null,
    dead: [],
    deferred: [],
    waiting: [],
    ...given,
  }
}

/** By default a settlement that passes nothing. */
export function nothing(read: Answered, given: Partial<Settlement> = {}): Settlement {
  return settlement(read, { to: read.cursor, passed: 0, ...given })
}

/** By default a message to the first partition of a topic. */
export function message(topic: TopicRow, given: Partial<NewMessage> = {}): NewMessage {
  return {
    partition: topic.first,
    topic: topic.topic,
    key: null,
    payload: '"hello"',
    headers: null,
    delayMs: 0,
    ttlMs: null,
    dedupeKey: null,
    ...given,
  }
}

/** Messages `"1"`, `"2"`, … to the first partition of a topic. */
export function messages(
  topic: TopicRow,
  count: number,
  given: Partial<NewMessage> = {},
): NewMessage[] {
  return Array.from({ length: count }, (_, i) =>
    message(topic, { payload: `"${i + 1}"`, ...given }),
  )
}

/** A message that becomes a dead letter. */
export function deadly(
  { position, seq }: StoredMessage,
  { reason = 'no', failures = 1 } = {},
): { position: number; seq: number; reason: string; failures: number } {
  return { position, seq, reason, failures }
}

/** A message that waits apart. */
export function apart(
  { position, seq }: StoredMessage,
  dueAt: number,
  failures = 1,
): { position: number; seq: number; failures: number; dueAt: number } {
  return { position, seq, failures, dueAt }
}

/** All dead letters. */
export const ALL: DeadLetterRequest = { partitions: null, state: null, limit: null, after: null }

/** What messages say. */
export function payloads(read: readonly { readonly payload: string }[]): string[] {
  return read.map(({ payload }) => payload)
}

function byFirst(
  [a]: readonly [number, ...unknown[]],
  [b]: readonly [number, ...unknown[]],
): number {
  return a - b
}
