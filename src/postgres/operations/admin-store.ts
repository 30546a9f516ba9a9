import type {
  AdminStore,
  Depths,
  Fleet,
  RemovalVerdict,
  RuntimeRow,
  TaskRow,
} from '../../store/admin-store.ts'
import { int, intOrNull, ints, type Row, text } from '../connect/rows.ts'
import { RUNTIME } from '../wire/numbers.ts'
import type { Call } from '../wire/call.ts'
import { listOf } from '../wire/lists.ts'

const REMOVALS: Readonly<Record<string, RemovalVerdict>> = {
  d: 'removed',
  r: 'running',
  w: 'wanted',
  u: 'unknown',
}

/** Administration of a PostgreSQL schema. */
export function postgresAdminStore(call: Call): AdminStore {
  return {
    async search(query, { after, limit, scan }) {
      const labels = Object.fromEntries(query.labels)
      const [row] = await call('search', [
        JSON.stringify({ ...query, labels }),
        after?.createdAt ?? null,
        after?.iid ?? null,
        limit,
        scan,
      ])
      const nextAt = intOrNull(row!, 'next_at')
      return {
        iids: ints(row!, 'iids'),
        matched: int(row!, 'matched'),
        next: nextAt === null ? null : { createdAt: nextAt, iid: int(row!, 'next_iid') },
      }
    },

    async tree(iid, { fromRoot, limit }) {
      const [row] = await call('tree', [iid, String(fromRoot), limit])
      return ints(row!, 'iids')
    },

    async executions(iid) {
      const rows = await call('executions', [iid])
      return rows.map((row) => ({
        execution: int(row, 'execution'),
        startedAt: int(row, 'started_at'),
        lastTurnAt: int(row, 'last_turn_at'),
        turns: int(row, 'turns'),
        events: int(row, 'events'),
        bytes: int(row, 'bytes'),
      }))
    },

    async usage(iid) {
      const [row] = await call('usage', [iid])
      return {
        stateKeys: int(row!, 'state_keys'),
        stateBytes: int(row!, 'state_bytes'),
        messages: int(row!, 'messages'),
        messageBytes: int(row!, 'message_bytes'),
        tasks: int(row!, 'tasks'),
      }
    },

    async removeTrees(iids, { together }) {
      const [row] = await call('remove_trees', [listOf(iids), String(together)])
      const counts = ints(row!, 'counts')
      return Array.from(text(row!, 'verdicts'), (letter, i) => ({
        verdict: REMOVALS[letter]!,
        count: counts[i]!,
      }))
    },

    async prune({ iids, keep, endedUntil }) {
      const [row] = await call('prune', [listOf(iids), keep, endedUntil])
      return int(row!, 'pruned')
    },

    async depths() {
      const [row] = await call('depths', [])
      return {
        clock: int(row!, 'clock'),
        workflows: jsonOr<Depths['workflows']>(row!, 'workflows', []),
        tasks: jsonOr<Depths['tasks']>(row!, 'tasks', []),
        oldestDueAt: intOrNull(row!, 'oldest_due_at'),
        messages: { waiting: int(row!, 'waiting'), parked: int(row!, 'parked') },
      }
    },

    async fleet() {
      const rows = await call('fleet', [])
      return {
        clock: rows.length === 0 ? 0 : int(rows[0]!, 'clock'),
        runtimes: rows.map(toRuntime),
      }
    },

    async findTasks({ activity, tag, session, instance, state }, { after, limit, scan }) {
      const { iid = null, execution = null, command = null } = after ?? {}
      const rows = await call('find_tasks', [
        activity,
        tag,
        session,
        instance,
        state,
        iid,
        execution,
        command,
        limit,
        scan,
      ])
      const [first] = rows
      const nextIid = first === undefined ? null : intOrNull(first, 'next_iid')
      return {
        tasks: rows.filter((row) => row['iid'] !== null).map(toTask),
        next:
          nextIid === null
            ? null
            : {
                iid: nextIid,
                execution: int(first!, 'next_execution'),
                command: int(first!, 'next_command'),
              },
      }
    },
  }
}

function jsonOr<T>(row: Row, column: string, without: T): T {
  const value = row[column]
  return value === null || value === undefined ? without : (JSON.parse(value) as T)
}

function toRuntime(row: Row): Fleet['runtimes'][number] {
  return {
    runtime: int(row, 'runtime'),
    info: text(row, 'info'),
    state: int(row, 'state') === RUNTIME.alive ? 'alive' : 'dead',
    leaseUntil: int(row, 'lease_until'),
    registeredAt: int(row, 'registered_at'),
    instances: int(row, 'instances'),
    tasks: int(row, 'tasks'),
    workflows: jsonOr<RuntimeRow['workflows']>(row, 'workflows', []),
    serves: jsonOr<RuntimeRow['serves']>(row, 'serves', null),
    activities: jsonOr<readonly string[]>(row, 'activities', []),
  }
}

function toTask(row: Row): TaskRow {
  return {
    iid: int(row, 'iid'),
    execution: int(row, 'execution'),
    command: int(row, 'command'),
    id: text(row, 'id'),
    workflow: text(row, 'workflow'),
    activity: text(row, 'activity'),
    tag: text(row, 'tag'),
    session: text(row, 'session'),
    sessionOf: intOrNull(row, 'session_of'),
    attempts: int(row, 'attempts'),
    deaths: int(row, 'deaths'),
    owner: intOrNull(row, 'owner'),
    ownedSince: intOrNull(row, 'owned_since'),
    visibleAt: intOrNull(row, 'visible_at'),
    error: row['error'] ?? null,
  }
}
