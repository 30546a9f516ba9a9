// Writes starts and turns.
//
//   An id that another transaction has locked makes a batch fail after a few milliseconds, without any
//   effect. Then its turns are sent without its starts, and the starts one by one, for a short time:
//   those that are still locked, and those that there was no time for, are skipped, so that they delay
//   nothing else.

import type {
  CommitAnswer,
  CommitBatch,
  StartBatchOptions,
  StartItem,
  Verdict,
} from '../../store/commits.ts'
import { StoreError } from '../../store/store-error.ts'
import { toCommitAnswer, toVerdicts } from '../wire/answers.ts'
import type { Call } from '../wire/call.ts'
import { commitValues } from '../wire/commit-values.ts'
import type { Lane } from '../connect/connections.ts'
import { effectsValue } from '../wire/effect-values.ts'
import { startsValue } from '../wire/start-values.ts'
import { tasksValue } from '../wire/task-values.ts'
import { textArray } from '../wire/lists.ts'

/** See `WorkflowStore.commit`. */
export async function commitBatch(call: Call, batch: CommitBatch): Promise<CommitAnswer> {
  const { runtime, server, starts, turns } = batch
  try {
    return await commitAtOnce(call, batch)
  } catch (error) {
    if (!isLocked(error) || starts.length === 0) throw error
  }
  // Starts first, as within one batch: a turn that closes all children closes these as well.
  const parents = new Set(turns.map(({ iid }) => iid))
  const verdicts = new Map<StartItem, Verdict>()
  for (let some = starts; some.length > 0;) {
    const started = await startOneByOne(call, some, { runtime, server }, 'commit')
    if (started.state !== 'ok') return started
    some.forEach((item, i) => verdicts.set(item, started.starts[i]!))
    if (turns.length === 0) return started
    some = some.filter(
      (item) => verdicts.get(item) === 'untried' && item.parent && parents.has(item.parent.iid),
    )
  }
  const committed = await commitAtOnce(call, { ...batch, starts: [] })
  if (committed.state !== 'ok') return committed
  return { ...committed, starts: starts.map((item) => verdicts.get(item)!) }
}

async function commitAtOnce(call: Call, batch: CommitBatch): Promise<CommitAnswer> {
  const [row] = await call('commit_batch', commitValues(batch), 'commit')
  return toCommitAnswer(row!)
}

/** See `WorkflowStore.start`. */
export async function startInstances(
  call: Call,
  items: readonly StartItem[],
  { runtime, wereLocked = false }: StartBatchOptions = {},
): Promise<readonly Verdict[]> {
  const owned = items.find((item) => item.owned)
  if (owned !== undefined) {
    const words = `a client cannot own instances, but the start of "${owned.id}" asks for that`
    throw new StoreError('rejected', 'start', words)
  }
  if (!wereLocked && runtime === undefined) {
    try {
      const [row] = await call('start_nowait', [startsValue(items), ...furtherValues(items)])
      return toVerdicts(row!['starts'])
    } catch (error) {
      if (!isLocked(error)) throw error
    }
  }
  const answer = await startOneByOne(call, items, { runtime, server: undefined }, 'other')
  // A dead runtime owns no parent.
  return answer.state === 'ok' ? answer.starts : items.map(() => 'refused')
}

async function startOneByOne(
  call: Call,
  items: readonly StartItem[],
  by: { readonly runtime: number | undefined; readonly server: string | undefined },
  lane: Lane,
): Promise<CommitAnswer> {
  const further = items.map((item) => furtherValues([item]))
  const [row] = await call(
    'start_skip_locked',
    [
      by.runtime ?? null,
      by.server ?? null,
      textArray(items.map((item) => startsValue([item]))),
      textArray(further.map(([effects]) => effects)),
      textArray(further.map(([, tasks]) => tasks)),
    ],
    lane,
  )
  return toCommitAnswer(row!)
}

function furtherValues(starts: readonly StartItem[]): [effects: string, tasks: string] {
  const batch = { starts, turns: [] }
  return [effectsValue(batch), tasksValue(batch)]
}

/** Whether a call failed, without any effect, because another transaction has locked a row. */
export function isLocked(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'locked'
}
