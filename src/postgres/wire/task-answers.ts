import type { HeldTask, TaskKey, TaskVerdict } from '../../store/tasks.ts'
import { text, whole, wholeOrNull, wholes, wholesOrNull, type Row } from '../connect/rows.ts'
import { TASK_VERDICTS } from './numbers.ts'

// Rows of the procedures for tasks turned into what the port speaks of.

/** The keys that `claim_tasks` answers with. */
export function toTaskKeys(row: Row): TaskKey[] {
  const executions = wholes(row, 'executions')
  const commands = wholes(row, 'commands')
  return wholes(row, 'iids').map((iid, i) => ({
    iid,
    execution: executions[i]!,
    command: commands[i]!,
  }))
}

/** A row of `held_tasks`. */
export function toHeldTask(row: Row): HeldTask {
  return {
    iid: whole(row, 'iid'),
    execution: whole(row, 'execution'),
    command: whole(row, 'command'),
    token: wholeOrNull(row, 'token'),
    id: text(row, 'id'),
    workflow: text(row, 'workflow'),
    activity: text(row, 'activity'),
    input: text(row, 'input'),
    tag: text(row, 'tag'),
    session: text(row, 'session'),
    options: text(row, 'options'),
    attempt: whole(row, 'attempt'),
    deaths: whole(row, 'deaths'),
    beat: row['beat'] ?? null,
  }
}

/** What `finish_tasks` answers. */
export function toTaskVerdicts(row: Row): TaskVerdict[] {
  const owners = wholesOrNull(row, 'owners')
  return Array.from(row['verdicts'] ?? '', (letter, i) => ({
    verdict: TASK_VERDICTS.get(letter)!,
    owner: owners[i]!,
  }))
}
