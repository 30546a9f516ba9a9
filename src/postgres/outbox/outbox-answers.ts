import type {
  DeadLetterRow,
  DeadLetterState,
  Enqueued,
  StepAnswer,
  StoredMessage,
  TopicRow,
} from '../../store/outbox-store.ts'
import { MAX_DURATION_MS } from '../../base/time/duration.ts'
import { int, intOrNull, type Row, text } from '../connect/rows.ts'

/** The answer of `outbox_steps` to one step. */
interface StepHeader {
  readonly state: StepAnswer['state']
  readonly epoch: number
  readonly cursor: number
  readonly done: readonly number[]
  readonly failed: readonly number[]
  readonly failures: readonly number[]
  readonly later: readonly number[]
  readonly laterAt: readonly number[]
  readonly abandoned: number
  readonly dueAt: number | null
  readonly isReleased: boolean
  readonly isBlocked: boolean
  readonly clock: number
}

/** What `outbox_steps` returned for one step. */
export interface ReadStep {
  readonly answer: StepAnswer
  readonly clock: number
}

/** The rows of `outbox_steps`, by step. */
export function toStepAnswers(rows: readonly Row[], count: number): readonly ReadStep[] {
  const messages: StoredMessage[][] = Array.from({ length: count }, () => [])
  const due: StoredMessage[][] = Array.from({ length: count }, () => [])
  const waitingKeys: Set<string>[] = Array.from({ length: count }, () => new Set())
  const headers: StepHeader[] = []
  for (const row of rows) {
    const step = int(row, 'step')
    if (row['message_position'] === null) {
      headers[step] = JSON.parse(text(row, 'payload')) as StepHeader
    } else {
      const list = row['is_due'] === 't' ? due : messages
      list[step]!.push(toMessage(row))
      if (row['is_waiting'] === 't') waitingKeys[step]!.add(text(row, 'key'))
    }
  }
  return headers.map((header, step) => {
    const { state, clock } = header
    if (state !== 'ok') return { answer: { state }, clock }
    const { epoch, cursor, done, failed, failures, abandoned, isReleased } = header
    const { later, laterAt, dueAt, isBlocked } = header
    return {
      clock,
      answer: {
        state,
        epoch,
        cursor,
        done,
        failures: new Map(failed.map((position, i) => [position, failures[i]!])),
        later: new Map(later.map((position, i) => [position, laterAt[i]!])),
        abandoned,
        messages: messages[step]!,
        due: due[step]!,
        waitingKeys: [...waitingKeys[step]!],
        isBlocked,
        dueAt,
        isReleased,
      },
    }
  })
}

function toMessage(row: Row): StoredMessage {
  return {
    position: int(row, 'message_position'),
    id: int(row, 'id'),
    seq: int(row, 'seq'),
    key: row['key'] ?? null,
    payload: text(row, 'payload'),
    headers: row['headers'] ?? null,
    enqueuedAt: int(row, 'enqueued_at'),
    expiresAt: intOrNull(row, 'expires_at'),
    failures: int(row, 'failures'),
  }
}

/** The answer of `outbox_enqueue`: ids, and a 1 for each duplicate. */
export function toEnqueued(answer: string): readonly Enqueued[] {
  const [ids = '', flags = ''] = answer.split(';')
  return ids.split(',').map((id, i) => ({ id: Number(id), isDuplicate: flags[i] === '1' }))
}

/** A row of topics. */
export function toTopic(row: Row): TopicRow {
  return {
    topic: int(row, 'topic'),
    name: text(row, 'name'),
    first: int(row, 'first'),
    partitions: int(row, 'partitions'),
  }
}

/** A row of dead letters. */
export function toDeadLetter(row: Row): DeadLetterRow {
  const deadline = intOrNull(row, 'deadline')
  return {
    letter: int(row, 'letter'),
    partition: int(row, 'partition'),
    id: int(row, 'id'),
    seq: int(row, 'seq'),
    key: row['key'] ?? null,
    payload: text(row, 'payload'),
    headers: row['headers'] ?? null,
    enqueuedAt: int(row, 'enqueued_at'),
    failures: int(row, 'failures'),
    reason: text(row, 'reason'),
    failedAt: int(row, 'failed_at'),
    state: text(row, 'state') as DeadLetterState,
    completedAt: intOrNull(row, 'completed_at'),
    // At most the latest possible date, as on SQLite.
    deadline: deadline === null ? null : Math.min(deadline, MAX_DURATION_MS),
  }
}
