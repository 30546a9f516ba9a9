import type { WorkflowName } from '../store/instances.ts'
import type { RegisteredWorkflow } from '../store/runtimes.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'
import {
  toClaim,
  toClaimAnswer,
  toInstances,
  toLoaded,
  toTickAnswer,
  toFlags,
  toTurn,
  toValues,
  toVerdicts,
  toWhereabouts,
} from './wire/answers.ts'
import { callerOf } from './wire/call.ts'
import { postgresAdminStore } from './operations/admin-store.ts'
import { commitBatch, startInstances } from './operations/commit.ts'
import { rowValues } from './wire/commit-values.ts'
import { answered, connectionsFor } from './connect/connections.ts'
import { Expiry } from './operations/expiry.ts'
import { withRights } from './connect/explain-error.ts'
import { keepLease } from './lease/lease-thread.ts'
import { migrate } from './schema/migrate.ts'
import { postgresHints } from './notifier/postgres-hints.ts'
import type { SharedNotifier } from './notifier/shared-notifier.ts'
import type { PostgresSettings } from './connect/options.ts'
import { postMessages } from './operations/post.ts'
import { KIND } from './wire/numbers.ts'
import { ServerWatch, wasPromoted } from './connect/server-watch.ts'
import { checkSettings } from './connect/server-settings.ts'
import { postgresScheduleStore } from './operations/schedule-store.ts'
import { postgresTaskStore } from './operations/task-store.ts'
import { attemptLists, interestValues } from './wire/task-values.ts'
import { transactorOf } from './transactions/transactor.ts'
import { waitForServer } from './connect/wait-for-server.ts'
import { text, int, ints } from './connect/rows.ts'
import { joinTexts, listOf } from './wire/lists.ts'
import { withinTransaction } from './transactions/within.ts'
import { postgresOutboxStore } from './outbox/outbox-store.ts'

const DRAIN_MS = 1_000
const NO_TASKS = { activities: [], served: { untagged: false, tags: [] } }

/**
 * Workflow instances in PostgreSQL. The rules are in `procedures/`; here, each method is one call.
 *
 * A call on a lost connection fails with `connection_lost`; it is not retried here. The next call opens
 * a new connection.
 */
export function postgresWorkflowStore(
  settings: PostgresSettings,
  notifier?: SharedNotifier,
): WorkflowStore {
  const { schema } = settings
  const watch = new ServerWatch()
  const connections = connectionsFor(settings, watch, { pipelines: true })
  const call = callerOf(connections, schema)
  const expiry = new Expiry(call)
  const transactor = transactorOf(settings, undefined, watch)
  const hints = notifier && postgresHints(notifier, call)
  let opened: Promise<void> | undefined
  let isClosed = false
  const prepare = (): Promise<void> =>
    connections.session('open', async (session) => {
      await checkSettings(session)
      await migrate(session, schema)
    })

  return {
    kind: 'postgres',
    hints,
    schedules: postgresScheduleStore(call),
    admin: postgresAdminStore(call),
    ...postgresTaskStore(call),

    async open(around) {
      opened ??= waitForServer(prepare, {
        withinMs: around?.connectTimeoutMs ?? 0,
        log: around?.log,
        isOver: () => isClosed,
      }).catch(async (error: unknown) => {
        opened = undefined
        throw await withRights(schema, 'open', error, connections)
      })
      return opened
    },

    async close() {
      opened = undefined
      isClosed = true
      // Hints may be lost: those that cannot be sent in time are dropped.
      await answered('close', hints?.drain() ?? Promise.resolve(), DRAIN_MS).catch(() => {})
      await Promise.all([connections.close(), transactor.close()])
    },

    async register({ leaseMs, workflows, info, serves }) {
      const [row] = await call('register', [
        leaseMs,
        info,
        ...nameValues('register', workflows),
        listOf(workflows.map(({ retentionMs = null }) => retentionMs)),
        serves === undefined ? null : JSON.stringify(serves),
        ...limitLists(workflows),
      ])
      expiry.startOver()
      return {
        runtime: int(row!, 'runtime'),
        server: text(row!, 'server'),
        clock: int(row!, 'clock'),
        workflows: ints(row!, 'workflows'),
      }
    },

    async unregister(runtime) {
      await call('unregister', [runtime])
    },

    onPromotion(listener) {
      const before = watch.onPromotion
      watch.onPromotion = () => {
        before?.()
        listener()
      }
    },

    keepLease: (request) => keepLease(settings, request),

    async now() {
      const [row] = await call('now_ms', [])
      return int(row!, 'now_ms')
    },

    async reserve(count) {
      const [row] = await call('reserve', [count])
      return int(row!, 'first')
    },

    async workflowNumbers(workflows) {
      const [row] = await call('workflow_numbers', nameValues('workflowNumbers', workflows))
      return ints(row!, 'numbers')
    },

    start: (items, options) => startInstances(call, items, options),

    async commit(batch) {
      const answer = await commitBatch(call, batch)
      if (answer.state === 'verify' && watch.sawServer(answer.server)) throw wasPromoted('commit')
      return answer
    },

    async claim({ runtime, workflows, limit, hinted }) {
      const [row] = await call('claim', [runtime, listOf(workflows), limit, listOf(hinted)])
      return toClaimAnswer(row!)
    },

    async load(wanted) {
      const loaded = toLoaded(
        await call('load', [
          listOf(wanted.map(({ iid }) => iid)),
          listOf(wanted.map(({ after }) => after)),
        ]),
      )
      return wanted.flatMap(({ iid }) => loaded.get(iid) ?? [])
    },

    transact: (work) => transactor.transact(work),
    within: (tx, { notify = true } = {}) =>
      withinTransaction(schema, tx, notify && hints !== undefined),

    async send(deliveries) {
      await call('send', [
        listOf(deliveries.map(({ iid }) => iid)),
        listOf(deliveries.map(({ kind }) => KIND[kind])),
        listOf(deliveries.map(({ execution }) => execution)),
        listOf(deliveries.map(({ command }) => command)),
        joinTexts(
          'send',
          deliveries.map(({ payload }) => payload),
        ),
        listOf(deliveries.map(({ known }) => known?.turn ?? null)),
        listOf(deliveries.map(({ known }) => known?.at ?? null)),
      ])
    },

    post: (posts, options) => postMessages(call, hints, posts, options),

    async renewLease(runtime, leaseMs) {
      const [row] = await call('renew_lease', [runtime, leaseMs])
      const isAlive = text(row!, 'is_alive') === 't'
      return { state: isAlive ? 'ok' : 'dead', clock: int(row!, 'clock') }
    },

    async tick({ runtime, workflows, tasks, unknown, ownedTasks, idle }) {
      const [row] = await call('tick', [
        runtime,
        // The lease is renewed by `renewLease`.
        null,
        listOf(workflows),
        ...interestValues('tick', tasks ?? NO_TASKS),
        ...attemptLists(ownedTasks),
        String(idle),
        joinTexts('tick', unknown),
        unknown.length,
      ])
      return toTickAnswer(row!)
    },

    async verify(runtime, copies) {
      const [row] = await call('verify', [
        runtime,
        listOf(copies.map(({ iid }) => iid)),
        listOf(copies.map(({ epoch }) => epoch)),
        listOf(copies.map(({ execution }) => execution)),
        listOf(copies.map(({ turn }) => turn)),
      ])
      return { server: text(row!, 'server'), same: toFlags(text(row!, 'same')) }
    },

    async suspend(ids, report) {
      const [row] = await call('suspend', [joinTexts('suspend', ids), ids.length, report])
      return toFlags(text(row!, 'suspended'))
    },

    async resume(ids) {
      const [row] = await call('resume', [joinTexts('resume', ids), ids.length])
      return int(row!, 'resumed')
    },

    async terminate(terminations) {
      const [row] = await call('terminate', [
        joinTexts(
          'terminate',
          terminations.map(({ id }) => id),
        ),
        joinTexts(
          'terminate',
          terminations.map(({ output }) => output),
        ),
        joinTexts(
          'terminate',
          terminations.map(({ events }) => events),
        ),
        terminations.length,
      ])
      return {
        ended: toFlags(text(row!, 'terminated')),
        mail: ints(row!, 'mail'),
        hadTasks: text(row!, 'had_tasks') === 't',
        // The procedure has notified runtimes.
        woken: [],
      }
    },

    async remove(ids) {
      const [row] = await call('remove', [joinTexts('remove', ids), ids.length])
      return int(row!, 'removed')
    },

    removeExpired: () => expiry.remove(),

    async setLimitKeys(keys) {
      await call('set_limit_keys', [
        listOf(keys.map(({ iid }) => iid)),
        joinTexts(
          'setLimitKeys',
          keys.map(({ key }) => key),
        ),
      ])
    },

    async import({ iid, id, workflow, labels, turns, state, limitKey }) {
      const kept = state.flatMap(({ key, value }) => (value === null ? [] : { key, value }))
      const [row] = await call('import_instance', [
        iid,
        id,
        workflow,
        labels,
        ...rowValues('import', turns),
        kept.length,
        joinTexts(
          'import',
          kept.map(({ key }) => key),
        ),
        joinTexts(
          'import',
          kept.map(({ value }) => value),
        ),
        limitKey ?? null,
      ])
      return toVerdicts(row!['verdict'])[0]!
    },

    async aboutTo(runtime, iid, epoch, doing) {
      const [row] = await call('about_to', [runtime, iid, epoch, doing])
      return text(row!, 'owned') === 't'
    },

    async owned(runtime) {
      return (await call('owned', [runtime])).map(toClaim)
    },

    async find(ids) {
      const rows = await call('find', [joinTexts('find', ids), ids.length])
      return toInstances(rows, ids.length)
    },

    async look(iids) {
      return toInstances(await call('instance_rows', [listOf(iids)]), iids.length)
    },

    async whereabouts(iid) {
      const [row] = await call('whereabouts', [iid])
      return toWhereabouts(row!)
    },

    async history(iid, execution, page) {
      const rows =
        page === undefined
          ? await call('turns_of', [iid, execution])
          : await call('turns_page', [iid, execution, page.after, page.limit])
      return rows.map(toTurn)
    },

    async readState(wanted) {
      const rows = await call('read_state', [
        joinTexts(
          'readState',
          wanted.map(({ id }) => id),
        ),
        joinTexts(
          'readState',
          wanted.map(({ key }) => key),
        ),
        wanted.length,
      ])
      return toValues(rows, wanted.length)
    },

    outbox: (prefix) =>
      postgresOutboxStore({ schema, connections, call, transactor, notifier }, prefix),

    async replies(to) {
      return toValues(await call('replies_to', [joinTexts('replies', to), to.length]), to.length)
    },
  }
}

/** The limits of workflows, as `register` takes them. */
function limitLists(workflows: readonly RegisteredWorkflow[]): string[] {
  return [
    listOf(workflows.map(({ limit }) => limit?.concurrency ?? null)),
    listOf(workflows.map(({ limit }) => limit?.rate?.count ?? null)),
    listOf(workflows.map(({ limit }) => limit?.rate?.perMs ?? null)),
    listOf(workflows.map(({ limit }) => limit?.keyed ?? null)),
  ]
}

function nameValues(operation: string, workflows: readonly WorkflowName[]): (string | number)[] {
  return [
    joinTexts(
      operation,
      workflows.map(({ name }) => name),
    ),
    joinTexts(
      operation,
      workflows.map(({ version }) => version),
    ),
    workflows.length,
  ]
}
