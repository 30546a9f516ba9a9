import type { NewTask } from '../../store/tasks.ts'
import { type ActivityWork, newTask } from './activity-work.ts'
import type { LiveInstance } from './live-instance.ts'

/** An activity of an instance as a task for whichever runtime can run it. */
export function taskFor(
  instance: LiveInstance,
  command: number,
  work: ActivityWork,
  token?: number,
): NewTask {
  const event = instance.run.open.get(command)?.event
  const route = event?.type === 'activity' ? event : work.options
  const failures = instance.calls.failures(command)
  return newTask(work, route, command, idempotencyKey(instance, command), failures, token)
}

/** The same for every attempt at one call, in whatever process. */
export function idempotencyKey(
  { iid, execution, startedAt }: LiveInstance,
  command: number,
): string {
  // The time is part of it because another database may give out the same numbers.
  return `${iid}-${execution}-${command}-${startedAt.toString(36)}`
}
