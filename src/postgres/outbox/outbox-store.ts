import { createHash } from 'node:crypto'

import type { HintReceiver, HintSubscription } from '../../store/hints.ts'
import type {
  DeadLetterRequest,
  OutboxListener,
  OutboxStore,
  PartitionWork,
} from '../../store/outbox-store.ts'
import type { Connections } from '../connect/connections.ts'
import { int, intOrNull, ints, type Row } from '../connect/rows.ts'
import { serverThrough } from '../notifier/postgres-hints.ts'
import type { SharedNotifier } from '../notifier/shared-notifier.ts'
import { migrate } from '../schema/migrate.ts'
import { outboxFiles } from '../schema/outbox-files.ts'
import type { Transactor } from '../transactions/transactor.ts'
import type { Call } from '../wire/call.ts'
import { joinTexts, listOf } from '../wire/lists.ts'
import { toDeadLetter, toStepAnswers, toTopic } from './outbox-answers.ts'
import { outboxTransact } from './outbox-transact.ts'
import { outboxWithin } from './outbox-within.ts'
import { stepsValue, storable } from './step-values.ts'

/** What an outbox uses of its workflow store. */
export interface OutboxHost {
  readonly schema: string
  readonly connections: Connections
  readonly call: Call
  readonly transactor: Transactor
  readonly notifier: SharedNotifier | undefined
}

/** Messages of an outbox in PostgreSQL. The rules are in `procedures/`; here, each method is one call. */
export function postgresOutboxStore(host: OutboxHost, prefix: string): OutboxStore {
  const { schema, connections, notifier } = host
  const call: Call = (procedure, ...rest) => host.call(`${prefix}_${procedure}`, ...rest)

  return {
    kind: 'postgres',

    open: () =>
      connections.session('open', (session) => migrate(session, schema, outboxFiles(prefix))),

    async topics(topics) {
      const names = joinTexts(
        'topics',
        topics.map(({ name }) => name),
      )
      const counts = listOf(topics.map(({ partitions }) => partitions))
      return (await call('register_topics', [names, counts])).map(toTopic)
    },

    async allTopics() {
      return (await call('all_topics', [])).map(toTopic)
    },

    within: (tx, { notify }) => outboxWithin(schema, prefix, tx, notify && notifier !== undefined),

    async steps(runtime, steps) {
      const rows = await call('steps', [runtime, stepsValue(steps)])
      const read = toStepAnswers(rows, steps.length)
      return {
        clock: Math.max(0, ...read.map(({ clock }) => clock ?? 0)),
        answers: read.map(({ answer }) => answer),
      }
    },

    transact: (work) => outboxTransact(host, prefix, work),

    async look(partitions) {
      const rows = await call('look', [partitions && listOf(partitions)])
      return { clock: int(rows.at(-1)!, 'clock'), work: rows.slice(0, -1).map(toWork) }
    },

    async moveDelayed() {
      const [row] = await call('move_delayed', [])
      return {
        clock: int(row!, 'clock'),
        partitions: ints(row!, 'partitions'),
        nextAt: intOrNull(row!, 'next_at'),
      }
    },

    async tick(runtime, leaseMs) {
      const [row, ...work] = await call('tick', [runtime, leaseMs])
      return {
        state: row!['is_alive'] === 't' ? 'ok' : 'dead',
        clock: int(row!, 'clock'),
        work: work.map(toWork),
        delayedAt: intOrNull(row!, 'delayed_at'),
        leaseEndsAt: intOrNull(row!, 'lease_ends_at'),
      }
    },

    async removeDone(limit) {
      const [row] = await call('remove_done', [limit])
      return int(row!, 'removed')
    },

    async tidy({ keysMs, lettersMs }) {
      let more: boolean
      do {
        const [row] = await call('tidy', [keysMs, lettersMs])
        more = row!['more'] === 't'
      } while (more)
    },

    async stats(topics) {
      const rows = await call('stats', [listOf(topics)])
      return {
        clock: int(rows.at(-1)!, 'clock'),
        partitions: rows.slice(0, -1).map((row) => ({
          partition: int(row, 'partition'),
          depth: int(row, 'depth'),
          ready: int(row, 'ready'),
          delayed: int(row, 'delayed'),
          oldestAt: intOrNull(row, 'oldest_at'),
        })),
      }
    },

    async deadLetters(request) {
      const { state, limit, after } = request
      const rows = await call('find_letters', [
        ...ranges(request),
        state,
        limit,
        after?.failedAt ?? null,
        after?.letter ?? null,
      ])
      return rows.map(toDeadLetter)
    },

    async countDeadLetters(request) {
      return countOf(await call('count_letters', [...ranges(request), request.state]))
    },

    async replayDeadLetters(request, deadlineMs) {
      const rows = await call('replay_letters', [...ranges(request), request.limit, deadlineMs])
      return rows.map(toDeadLetter).toSorted((a, b) => a.letter - b.letter)
    },

    async requeueDeadLetters(letters) {
      const [row] = await call('requeue_letters', [listOf(letters)])
      return ints(row!, 'requeued')
    },

    async resolveDeadLetters(letters) {
      return countOf(await call('change_letters', [listOf(letters), null]))
    },

    async rejectDeadLetters(letters, reason) {
      return countOf(await call('change_letters', [listOf(letters), storable(reason)]))
    },

    async discardDeadLetters(request) {
      return countOf(await call('discard_letters', [...ranges(request), request.limit]))
    },

    async cleanupDeadLetters(request) {
      return countOf(await call('cleanup_letters', [...ranges(request), request.limit]))
    },

    ...(notifier && {
      async stayAwake(topics: readonly number[], forMs: number) {
        const [row] = await call('stay_awake', [listOf(topics), forMs])
        return int(row!, 'until')
      },
      async wakeOthers(partitions: readonly number[]) {
        await call('wake_others', [listOf(partitions)])
      },
    }),

    listen: (listener) =>
      notifier ? listenTo(notifier, host.call, prefix, listener) : NO_NOTIFICATIONS,

    async close() {},
  }
}

function ranges({ partitions }: DeadLetterRequest): (number | null)[] {
  return [partitions?.from ?? null, partitions?.to ?? null]
}

function toWork(row: Row): PartitionWork {
  return {
    partition: int(row, 'partition'),
    dueAt: intOrNull(row, 'due_at'),
    isBlocked: row['is_blocked'] === 't',
  }
}

/** The number that a function with one unnamed result returned. */
function countOf([row]: readonly Row[]): number {
  return Number(Object.values(row!)[0])
}

/** Hints are turned off: the outbox polls now and then. */
const NO_NOTIFICATIONS: HintSubscription = {
  isListening: false,
  health: () => ({ state: 'off', interruptions: 0 }),
  refresh() {},
  async close() {},
}

function listenTo(
  notifier: SharedNotifier,
  call: Call,
  prefix: string,
  { clock, log, onMessages, look }: OutboxListener,
): HintSubscription {
  const receiver: HintReceiver = {
    clock,
    log,
    recipients: [recipientOf(prefix)],
    interest: () => ({ runtime: 0, workflows: [], tasks: null, ownedTasks: [] }),
    receive(hint) {
      if (hint.kind === 'messages') onMessages(hint.partitions, hint.at)
    },
    poll: look,
  }
  return notifier.listen(receiver, serverThrough(call))
}

/** As in `outbox_notify.sql`. */
function recipientOf(prefix: string): string {
  return `o${createHash('md5').update(`${prefix}_partitions`).digest('hex').slice(0, 16)}`
}
