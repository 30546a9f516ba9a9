import type { CommitBatch, EndStatus, StartItem, TurnItem } from '../store/workflow-store.ts'
import { joinTexts, listOf } from './wire.ts'

// The parameters of `commit_batch` and `start_batch`, in their order: lists side by side, one entry
// per item.

type Value = string | number | null

/** How the server writes the ways to end. */
export const STATUS_NUMBERS = {
  completed: 2,
  failed: 3,
  cancelled: 4,
  terminated: 5,
} as const satisfies Record<EndStatus, number>

const RUNNING = 1

/** What `commit_batch` takes. */
export function commitValues({ runtime, server, starts, turns }: CommitBatch): Value[] {
  return [runtime, server, ...turnValues(turns), ...commitStartValues(starts)]
}

/** What `start_batch` takes. */
export function startValues(items: readonly StartItem[]): Value[] {
  // Without what a client does not know: an owner, and the time.
  return commitStartValues(items).filter((_, place) => place !== 3 && place !== 7)
}

function turnValues(items: readonly TurnItem[]): Value[] {
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
      case 'hold':
        held.iids.push(iid)
        held.reports.push(next.report)
        break
      case 'end':
        ended.iids.push(iid)
        ended.statuses.push(STATUS_NUMBERS[next.end.status])
        ended.outputs.push(next.end.output)
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
  ]
}

function commitStartValues(items: readonly StartItem[]): Value[] {
  return [
    listOf(items.map(({ iid }) => iid)),
    joinTexts(
      'start',
      items.map(({ id }) => id),
    ),
    listOf(items.map(({ workflow }) => workflow)),
    listOf(items.map(({ owned }) => owned)),
    listOf(items.map(({ wakeAt }) => wakeAt)),
    listOf(items.map(({ turn }) => turn.execution)),
    listOf(items.map(({ turn }) => turn.turn)),
    listOf(items.map(({ turn }) => turn.at)),
    listOf(items.map(({ turn }) => turn.first)),
    listOf(items.map(({ turn }) => turn.count)),
    joinTexts(
      'start',
      items.map(({ turn }) => turn.events),
    ),
    listOf(items.map(({ end }) => (end === null ? RUNNING : STATUS_NUMBERS[end.status]))),
    joinTexts(
      'start',
      items.map(({ end }) => end?.output ?? ''),
    ),
  ]
}
