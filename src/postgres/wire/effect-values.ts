import type { CommitBatch, Effects } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import { joinTexts, listOf, packLists } from './lists.ts'

/** The effects of one item, and the execution whose turn has them, if there is a turn. */
interface Affected {
  readonly iid: Iid
  readonly execution: number | null
  readonly effects: Effects
}

/** The effects of a batch as `apply_effects` takes them; empty when there are none. */
export function effectsValue({ starts, turns }: Pick<CommitBatch, 'starts' | 'turns'>): string {
  const affected: Affected[] = []
  for (const { iid, turn, effects } of starts) {
    if (effects !== null) affected.push({ iid, execution: turn.execution, effects })
  }
  for (const { iid, turn, effects } of turns) {
    if (effects !== null) affected.push({ iid, execution: turn?.execution ?? null, effects })
  }
  return affected.length === 0 ? '' : packLists('commit', listsOf(affected))
}

function listsOf(affected: readonly Affected[]): string[] {
  const parked = { iids: [] as number[], ids: [] as number[] }
  const closing = {
    iids: [] as number[],
    executions: [] as (number | null)[],
    commands: [] as (number | null)[],
  }
  const cleared: number[] = []
  const state = {
    iids: [] as number[],
    kept: [] as boolean[],
    keys: [] as string[],
    values: [] as string[],
  }
  const progress = { iids: [] as number[], values: [] as string[] }
  const replies = { iids: [] as number[], tos: [] as string[], payloads: [] as string[] }

  for (const { iid, execution, effects } of affected) {
    for (const id of effects.parked) {
      parked.iids.push(iid)
      parked.ids.push(id)
    }
    for (const command of effects.closes === 'all' ? [null] : effects.closes) {
      closing.iids.push(iid)
      closing.executions.push(execution)
      closing.commands.push(command)
    }
    if (effects.clearsState) cleared.push(iid)
    for (const { key, value } of effects.state) {
      state.iids.push(iid)
      state.kept.push(value !== null)
      state.keys.push(key)
      state.values.push(value ?? '')
    }
    if (effects.progress !== null) {
      progress.iids.push(iid)
      progress.values.push(effects.progress)
    }
    for (const { to, payload } of effects.replies) {
      replies.iids.push(iid)
      replies.tos.push(to)
      replies.payloads.push(payload)
    }
  }
  return [
    listOf(parked.iids),
    listOf(parked.ids),
    listOf(closing.iids),
    listOf(closing.executions),
    listOf(closing.commands),
    listOf(cleared),
    listOf(state.iids),
    listOf(state.kept),
    joinTexts('commit', state.keys),
    joinTexts('commit', state.values),
    listOf(progress.iids),
    joinTexts('commit', progress.values),
    listOf(replies.iids),
    joinTexts('commit', replies.tos),
    joinTexts('commit', replies.payloads),
  ]
}
