import { StoreError } from '../store/store-error.ts'
import type { WorkflowName, WorkflowStore } from '../store/workflow-store.ts'
import {
  toClaim,
  toClaimAnswer,
  toCommitAnswer,
  toInstances,
  toLoaded,
  toTickAnswer,
  toVerdicts,
} from './answers.ts'
import { callerOf } from './call.ts'
import { commitValues, startValues } from './commit-values.ts'
import { lentConnections, ownConnections } from './connections.ts'
import { migrate } from './migrate.ts'
import type { PostgresSettings } from './options.ts'
import { checkSettings } from './settings.ts'
import { joinTexts, listOf, text, whole, wholes } from './wire.ts'

/**
 * Workflow instances in PostgreSQL. The rules are in `procedures/`; here, each method is one call.
 *
 * A lost connection is not ridden out here: the call fails with `connection_lost`, and the next one
 * connects anew.
 */
export function postgresWorkflowStore({ source, schema }: PostgresSettings): WorkflowStore {
  const connections = 'pool' in source ? lentConnections(source.pool) : ownConnections(source.url)
  const call = callerOf(connections, schema)
  let opened: Promise<void> | undefined

  return {
    kind: 'postgres',

    async open() {
      opened ??= connections
        .session('open', async (session) => {
          await checkSettings(session)
          await migrate(session, schema)
        })
        .catch((error: unknown) => {
          opened = undefined
          throw error
        })
      return opened
    },

    async close() {
      opened = undefined
      await connections.close()
    },

    async register({ leaseMs, workflows, info }) {
      const [row] = await call('register', [leaseMs, info, ...nameValues('register', workflows)])
      return {
        runtime: whole(row!, 'runtime'),
        server: text(row!, 'server'),
        clock: whole(row!, 'clock'),
        workflows: wholes(row!, 'workflows'),
      }
    },

    async unregister(runtime) {
      await call('unregister', [runtime])
    },

    async reserve(count) {
      const [row] = await call('reserve', [count])
      return whole(row!, 'first')
    },

    async workflowNumbers(workflows) {
      const [row] = await call('workflow_numbers', nameValues('workflowNumbers', workflows))
      return wholes(row!, 'numbers')
    },

    async start(items) {
      const owned = items.find((item) => item.owned)
      if (owned !== undefined) {
        const words = `a client owns nothing, but the item for "${owned.id}" says owned`
        throw new StoreError('rejected', 'start', words)
      }
      const [row] = await call('start_batch', startValues(items))
      return toVerdicts(row!['starts'])
    },

    async commit(batch) {
      const [row] = await call('commit_batch', commitValues(batch), 'commit')
      return toCommitAnswer(row!)
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

    async send(deliveries) {
      await call('send', [
        listOf(deliveries.map(({ iid }) => iid)),
        listOf(deliveries.map(({ execution }) => execution)),
        listOf(deliveries.map(({ command }) => command)),
        joinTexts(
          'send',
          deliveries.map(({ payload }) => payload),
        ),
      ])
    },

    async tick({ runtime, leaseMs, workflows }) {
      const [row] = await call('tick', [runtime, leaseMs, listOf(workflows)])
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
      const same = Array.from(text(row!, 'same'), (letter) => letter === 't')
      return { server: text(row!, 'server'), same }
    },

    async resume(ids) {
      const [row] = await call('resume', [joinTexts('resume', ids), ids.length])
      return whole(row!, 'resumed')
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
  }
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
