import type { ClaimedTask, TaskKey, TaskVerdict } from '../../store/tasks.ts'
import { text, int, intOrNull, ints, intsOrNull, type Row } from '../connect/rows.ts'
import { TASK_VERDICTS } from './numbers.ts'

// Converts rows of procedures for tasks into the types of the port.

/** The keys that `claim_tasks` answers with. */
export function toTaskKeys(row: Row): TaskKey[] {
  const executions = ints(row, 'executions')
  const commands = ints(row, 'commands')
  return ints(row, 'iids').map((iid, i) => ({
    iid,
    execution: executions[i]!,
    command: commands[i]!,
  }))
}

/** A row of `held_tasks`. */
export function toHeldTask(row: Row): ClaimedTask {
  return {
    iid: int(row, 'iid'),
    execution: int(row, 'execution'),
    command: int(row, 'command'),
    token: intOrNull(row, 'token'),
    id: text(row, 'id'),
    workflow: text(row, 'workflow'),
    activity: text(row, 'activity'),
    input: text(row, 'input'),
    tag: text(row, 'tag'),
    session: text(row, 'session'),
    options: text(row, 'options'),
    attempt: int(row, 'attempt'),
    deaths: int(row, 'deaths'),
    beat: row['beat'] ?? null,
  }
}

/** What `finish_tasks` answers. */
export function toTaskVerdicts(row: Row): TaskVerdict[] {
  const owners = intsOrNull(row, 'owners')
  return Array.from(row['verdicts'] ?? '', (letter, i) => ({
    verdict: TASK_VERDICTS.get(letter)!,
    owner: owners[i]!,
  }))
}
