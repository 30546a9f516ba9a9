import type { TaskAttempt, TaskKey } from '../../../store/tasks.ts'

/** A task as one string, for maps and sets. */
export function taskName({ iid, execution, command }: TaskKey): string {
  return `${iid} ${execution} ${command}`
}

/** An attempt at a task as one string. */
export function attemptName(key: TaskAttempt): string {
  return `${taskName(key)} ${key.attempt}`
}
