import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import type { Settlement, StepAnswer } from '../../src/store/outbox-store.ts'
import { Database, type Transaction } from '../../src/sqlite/file/database.ts'
import { register } from '../../src/sqlite/operations/runtimes.ts'
import { enqueue } from '../../src/sqlite/outbox/enqueue.ts'
import { OUTBOX_OPERATIONS } from '../../src/sqlite/outbox/operations.ts'
import { settingsFor } from './sqlite.ts'

// Deliveries of one partition against a list of messages in memory: whatever fails, dies or waits apart,
// every message ends once, in the order of its key, and is read with its own number.

const WAIT_MS = 1_000

type Outcome = 'done' | 'dead' | 'apart' | 'fail'

/** Something that happens to a partition. */
export type OutboxCommand =
  | { readonly kind: 'enqueue'; readonly keys: readonly (string | null)[] }
  | { readonly kind: 'deliver'; readonly read: number; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'die' | 'release' | 'remove' | 'wait' }

const OUTCOME = fc.constantFrom<Outcome>('done', 'done', 'done', 'dead', 'apart', 'fail')

/** Any of them. */
export const OUTBOX_COMMAND: fc.Arbitrary<OutboxCommand> = fc.oneof(
  fc.record({
    kind: fc.constant('enqueue' as const),
    keys: fc.array(fc.constantFrom('a', 'b', null), { minLength: 1, maxLength: 5 }),
  }),
  fc.record({
    kind: fc.constant('deliver' as const),
    read: fc.integer({ min: 1, max: 4 }),
    outcomes: fc.array(OUTCOME, { minLength: 8, maxLength: 8 }),
  }),
  fc.record({ kind: fc.constantFrom('die' as const, 'release', 'remove', 'wait') }),
)

/** A message, as a person would note it. */
interface Noted {
  readonly id: number
  readonly seq: number
  readonly key: string | null
  state: 'new' | 'done' | 'dead' | 'apart'
  failures: number
  dueAt: number
  isHanded: boolean
}

type Read = Extract<StepAnswer, { state: 'ok' }>

/** A partition, and what is noted about it. Throws as soon as the two differ. */
export class OutboxTrial {
  readonly #database = new Database(settingsFor(':memory:'))
  readonly #notes: Noted[] = []
  readonly #ended: Noted[] = []
  #aheadMs = 0
  #runtime = 0
  #read: Read | undefined

  constructor() {
    this.#run((tx) => OUTBOX_OPERATIONS.outboxOpen.run(tx, 'outbox'))
    const topics = [{ name: 'orders', partitions: 1 }]
    this.#run((tx) => OUTBOX_OPERATIONS.outboxTopics.run(tx, 'outbox', topics))
    this.#register()
  }

  play(command: OutboxCommand): void {
    switch (command.kind) {
      case 'enqueue':
        return this.#enqueue(command.keys)
      case 'deliver':
        return this.#deliver(command.read, command.outcomes)
      case 'die':
        return this.#die()
      case 'release':
        return this.#release()
      case 'remove':
        return void this.#run((tx) => OUTBOX_OPERATIONS.outboxRemoveDone.run(tx, 'outbox', 3))
      case 'wait':
        this.#aheadMs += WAIT_MS + 1
    }
  }

  /** Delivers all that is left, and looks at the whole. */
  finish(): void {
    for (let i = 0; this.#notes.some(({ state }) => state === 'new' || state === 'apart'); i++) {
      if (i > 1_000) throw new Error('it does not end')
      this.#aheadMs += WAIT_MS + 1
      this.#deliver(10, Array<Outcome>(40).fill('done'))
    }
    deepEqual(
      this.#ended.map(({ seq }) => seq).toSorted((a, b) => a - b),
      this.#notes.map(({ seq }) => seq),
    )
    for (const key of ['a', 'b']) {
      const seqs = this.#ended.filter((one) => one.key === key).map(({ seq }) => seq)
      deepEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
      )
    }
    this.#database.close()
  }

  #enqueue(keys: readonly (string | null)[]): void {
    const messages = keys.map((key) => ({ ...MESSAGE, key }))
    const added = this.#run((tx) => enqueue(tx, 'outbox', messages))
    for (const [i, { id }] of added.entries()) {
      const seq = this.#notes.length + 1
      const key = keys[i]!
      this.#notes.push({ id, seq, key, state: 'new', failures: 0, dueAt: 0, isHanded: false })
    }
  }

  #deliver(count: number, outcomes: readonly Outcome[]): void {
    const read = this.#step({ epoch: this.#read?.epoch ?? null, settle: null, read: count })
    this.#check(read, count)
    const settle = this.#settle(read, [...outcomes])
    const { epoch } = read
    this.#read = this.#step({ epoch, settle, read: count })
    this.#check(this.#read, count)
  }

  /** Notes what becomes of what was read, and says it as a settlement. */
  #settle(read: Read, outcomes: Outcome[]): Settlement {
    const settlement = {
      cursor: read.cursor,
      to: read.cursor,
      passed: 0,
      done: [...read.done],
      failures: new Map(read.failures),
      later: new Map(),
      dueAt: null,
      dead: [] as Settlement['dead'][number][],
      deferred: [] as Settlement['deferred'][number][],
      waiting: [] as Settlement['waiting'][number][],
    }
    const dueAt = this.#now() + WAIT_MS
    for (const { position, seq } of read.due) {
      const note = this.#note(seq)
      const outcome = outcomes.pop() ?? 'done'
      if (outcome === 'dead') {
        settlement.dead.push({ position, seq, reason: 'no', failures: note.failures + 1 })
        this.#end(note, 'dead')
      } else if (outcome === 'done') {
        settlement.waiting.push({ position, retry: null })
        this.#end(note, 'done')
      } else {
        note.failures++
        note.dueAt = dueAt
        settlement.waiting.push({ position, retry: { failures: note.failures, dueAt } })
      }
    }
    const keys = new Set(this.#apart().map(({ key }) => key))
    let isStuck = false
    for (const { position, seq } of read.messages) {
      const note = this.#note(seq)
      let outcome = outcomes.pop() ?? 'done'
      const waits = note.key !== null && keys.has(note.key)
      // Behind one that failed, or waits, nothing of the same key is done.
      if (waits) outcome = isStuck ? 'fail' : 'apart'
      else if (isStuck && outcome !== 'done') outcome = 'fail'
      if (outcome === 'fail' && !isStuck) isStuck = true
      if (outcome === 'fail') {
        if (note.key !== null) keys.add(note.key)
        if (!waits) settlement.failures.set(position, ++note.failures)
      } else if (outcome === 'apart') {
        note.state = 'apart'
        if (!waits) note.failures++
        note.dueAt = dueAt
        if (note.key !== null) keys.add(note.key)
        settlement.deferred.push({ position, seq, failures: note.failures, dueAt })
      } else {
        if (outcome === 'dead') {
          settlement.dead.push({ position, seq, reason: 'no', failures: note.failures + 1 })
        }
        this.#end(note, outcome)
        if (isStuck) settlement.done.push(position)
      }
    }
    const passed = this.#passable(read)
    settlement.to = passed.to
    settlement.passed = passed.count
    settlement.done = settlement.done.filter((position) => position > passed.to)
    for (const position of settlement.failures.keys()) {
      if (position <= passed.to) settlement.failures.delete(position)
    }
    return settlement
  }

  /** How far the cursor can go: up to the first message that is still new, of those that were seen. */
  #passable({ cursor, messages, done }: Read): { readonly to: number; readonly count: number } {
    const known = new Set([...done, ...messages.map(({ position }) => position)])
    let [to, count] = [cursor, 0]
    for (const { id, state } of this.#notes) {
      if (id <= cursor) continue
      if (!known.has(id) || state === 'new') break
      to = id
      count++
    }
    return { to, count }
  }

  /** What was read is what the notes say. */
  #check(read: Read, count: number): void {
    const expected = this.#notes.filter(({ state }) => state === 'new').slice(0, count)
    deepEqual(
      read.messages.map(({ seq, id, failures }) => ({ seq, id, failures })),
      expected.map(({ seq, id, failures }) => ({ seq, id, failures })),
    )
    const firsts = this.#apart().filter(
      ({ key, seq }) =>
        key === null || !this.#apart().some((one) => one.key === key && one.seq < seq),
    )
    const due = firsts.filter(({ dueAt }) => dueAt <= this.#now())
    equal(read.due.length, Math.min(due.length, count))
    for (const { seq, failures } of read.due) {
      ok(due.some((one) => one.seq === seq && one.failures === failures))
    }
    const keys = new Set(read.messages.map(({ key }) => key))
    deepEqual(
      [...read.waitingKeys].toSorted(),
      [...new Set(firsts.flatMap(({ key }) => key ?? []))]
        .filter((key) => keys.has(key))
        .toSorted(),
    )
    for (const note of this.#notes) note.isHanded = false
    for (const { seq } of [...read.messages, ...read.due]) this.#note(seq).isHanded = true
  }

  #die(): void {
    if (this.#read !== undefined) {
      for (const note of this.#notes) {
        if (note.isHanded) note.failures++
        note.isHanded = false
      }
    }
    this.#database.sql('update runtimes set lease_until = 0').run()
    this.#register()
    const { state } = this.#run((tx) =>
      OUTBOX_OPERATIONS.outboxTick.run(tx, 'outbox', this.#runtime, 1e12),
    )
    equal(state, 'ok')
    this.#read = undefined
  }

  #release(): void {
    if (this.#read === undefined) return
    const { epoch } = this.#read
    this.#step({ epoch, settle: null, read: 0 }, 'always')
    for (const note of this.#notes) note.isHanded = false
    this.#read = undefined
  }

  #step(
    given: { epoch: number | null; settle: Settlement | null; read: number },
    release: 'never' | 'always' = 'never',
  ): Read {
    const steps = [{ partition: 0, release, ...given }]
    const { answers } = this.#run((tx) =>
      OUTBOX_OPERATIONS.outboxSteps.run(tx, 'outbox', this.#runtime, steps),
    )
    const [answer] = answers
    if (answer?.state !== 'ok') throw new Error(`answered with ${answer?.state}`)
    return answer
  }

  #register(): void {
    const request = { leaseMs: 1e12, workflows: [], info: '' }
    this.#runtime = this.#run((tx) => register(tx, request)).runtime
  }

  #end(note: Noted, state: 'done' | 'dead'): void {
    note.state = state
    this.#ended.push(note)
    // The next one of its key is due at once.
    const next = this.#apart().find(({ key }) => key !== null && key === note.key)
    if (next !== undefined) next.dueAt = 0
  }

  #apart(): Noted[] {
    return this.#notes.filter(({ state }) => state === 'apart')
  }

  #note(seq: number): Noted {
    return this.#notes[seq - 1]!
  }

  // A minute of the machine's own clock does not matter here: waits are longer than a trial.
  #now(): number {
    return START + this.#aheadMs
  }

  #run<T>(work: (tx: Transaction) => T): T {
    return this.#database.write('test', 0, (tx) =>
      work({ now: this.#now(), server: tx.server, sql: (text) => tx.sql(text) }),
    )
  }
}

const START = 1_700_000_000_000

const MESSAGE = {
  partition: 0,
  topic: 1,
  payload: '1',
  headers: null,
  delayMs: 0,
  ttlMs: null,
  dedupeKey: null,
}
