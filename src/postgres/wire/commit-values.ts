import type { CommitBatch, TurnItem, TurnRow } from '../../store/commits.ts'
import { effectsValue } from './effect-values.ts'
import { STATUS } from './numbers.ts'
import { startsValue } from './start-values.ts'
import { tasksValue } from './task-values.ts'
import { joinTexts, listOf, packLists } from './lists.ts'

// The parameters of `commit_batch`, in its order: lists side by side, one entry per item.

/** What `commit_batch` takes. */
export function commitValues(batch: CommitBatch): (string | number)[] {
  const { runtime, server, starts, turns } = batch
  return [
    runtime,
    server,
    ...turnValues(turns),
    startsValue(starts),
    effectsValue(batch),
    tasksValue(batch),
  ]
}

function turnValues(items: readonly TurnItem[]): string[] {
  const iids: number[] = []
  const epochs: number[] = []
  const executions: (number | null)[] = []
  const turns: (number | null)[] = []
  const ats: (number | null)[] = []
  const firsts: (number | null)[] = []
  const counts: (number | null)[] = []
  const events: string[] = []
  const taken = { iids: [] as number[], ids: [] as number[] }
  const released = { iids: [] as number[], wakeAts: [] as (number | null)[] }
  const held = { iids: [] as number[], reports: [] as string[] }
  const ended = { iids: [] as number[], statuses: [] as number[], outputs: [] as string[] }
  const continued = {
    iids: [] as number[],
    kept: [] as boolean[],
    workflows: [] as number[],
    started: [] as TurnRow[],
  }

  for (const { iid, epoch, turn, next, taken: ids } of items) {
    iids.push(iid)
    epochs.push(epoch)
    executions.push(turn?.execution ?? null)
    turns.push(turn?.turn ?? null)
    ats.push(turn?.at ?? null)
    firsts.push(turn?.first ?? null)
    counts.push(turn?.count ?? null)
    events.push(turn?.events ?? '')
    for (const id of ids) {
      taken.iids.push(iid)
      taken.ids.push(id)
    }
    switch (next.kind) {
      case 'keep':
        break
      case 'release':
        released.iids.push(iid)
        released.wakeAts.push(next.wakeAt)
        break
      case 'suspend':
        held.iids.push(iid)
        held.reports.push(next.report)
        break
      case 'end':
        ended.iids.push(iid)
        ended.statuses.push(STATUS[next.end.status])
        ended.outputs.push(next.end.output)
        break
      case 'continue':
        continued.iids.push(iid)
        continued.kept.push(next.keep)
        continued.workflows.push(next.workflow)
        continued.started.push(next.started)
    }
  }
  return [
    listOf(iids),
    listOf(epochs),
    listOf(executions),
    listOf(turns),
    listOf(ats),
    listOf(firsts),
    listOf(counts),
    joinTexts('commit', events),
    listOf(taken.iids),
    listOf(taken.ids),
    listOf(released.iids),
    listOf(released.wakeAts),
    listOf(held.iids),
    joinTexts('commit', held.reports),
    listOf(ended.iids),
    listOf(ended.statuses),
    joinTexts('commit', ended.outputs),
    continued.iids.length === 0
      ? ''
      : packLists('commit', [
          listOf(continued.iids),
          listOf(continued.kept),
          listOf(continued.workflows),
          ...rowValues('commit', continued.started),
        ]),
  ]
}

/** Lists of turns without gaps. */
export function rowValues(operation: string, rows: readonly TurnRow[]): string[] {
  return [
    listOf(rows.map(({ execution }) => execution)),
    listOf(rows.map(({ turn }) => turn)),
    listOf(rows.map(({ at }) => at)),
    listOf(rows.map(({ first }) => first)),
    listOf(rows.map(({ count }) => count)),
    joinTexts(
      operation,
      rows.map(({ events }) => events),
    ),
  ]
}
