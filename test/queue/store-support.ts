import { Database } from '../../src/sqlite/file/database.ts'
import { SqliteQueueStore } from '../../src/sqlite/queue-store.ts'
import type {
  Change,
  ChangeKind,
  ChangeVerdict,
  PushGroup,
  QueueBatch,
  QueueCounts,
  QueueRecord,
} from '../../src/store/queue-store.ts'
import { inlineThread, queueFileSettings } from './support.ts'

/** A database with queues in memory. */
export function queueDatabase(): Database {
  return new Database(queueFileSettings(':memory:'))
}

/** A group of messages, with defaults for everything. */
export function groupOf(
  data: readonly (string | Uint8Array)[],
  given: Partial<PushGroup> = {},
): PushGroup {
  return {
    payloads: data.map((one) => ({ data: one, format: typeof one === 'string' ? 0 : -1 })),
    priority: 0,
    delayMs: 0,
    ttlMs: null,
    key: null,
    dedupeKey: null,
    dedupeMs: 0,
    ...given,
  }
}

/** One user of a queue, without a thread, whose time the test moves. */
export async function openUser(
  given: {
    readonly database?: Database
    readonly name?: string
    readonly maxAttempts?: number
    readonly offsetMs?: number
  } = {},
) {
  const { database = queueDatabase(), name = 'default', maxAttempts = Infinity } = given
  const store = new SqliteQueueStore(inlineThread(database), name)
  store.advanceClock(given.offsetMs ?? 0)
  await store.open(maxAttempts)
  const { session } = database.sql('select max(session) as session from sessions').get() as {
    session: number
  }
  const apply = (batch: Partial<QueueBatch>) =>
    store.apply({
      changes: [],
      pushes: [],
      inOrder: false,
      takes: [],
      leaseMs: 30_000,
      maxAttempts,
      capacity: Infinity,
      durable: false,
      ...batch,
    })
  return {
    database,
    store,
    session,
    apply,
    async push(data: string | Uint8Array, options: Partial<PushGroup> = {}): Promise<number> {
      const [verdict] = (await apply({ pushes: [groupOf([data], options)] })).pushes
      return verdict!.state === 'stored' ? verdict!.firstId : Number.NaN
    },
    async take(
      max = 1_000,
      leaseMs = 30_000,
      isPrefetched = false,
    ): Promise<readonly QueueRecord[]> {
      return (await apply({ takes: [{ max, isPrefetched }], leaseMs })).taken
    },
    async change(
      kind: ChangeKind,
      { id, receipt }: Pick<QueueRecord, 'id' | 'receipt'>,
      rest: Partial<Change> = {},
    ): Promise<ChangeVerdict> {
      const change = { kind, id, receipt, ms: 0, reason: '', ...rest }
      return (await apply({ changes: [change] })).changes[0]!
    },
    async counts(): Promise<QueueCounts> {
      return (await store.look()).counts
    },
    /** Makes it a user in another process. */
    movesTo(process: string): void {
      database.sql('update sessions set process = ? where session = ?').run(process, session)
    },
  }
}

/** A number that no process has, here. */
export function endedProcess(database: Database): string {
  const { process: own } = database.sql('select process from sessions limit 1').get() as {
    process: string
  }
  return own.replace(` ${process.pid}`, ' 4194305')
}

/** What the records hold, in short. */
export function dataOf(records: readonly QueueRecord[]): (string | Uint8Array)[] {
  return records.map(({ data }) => data)
}
