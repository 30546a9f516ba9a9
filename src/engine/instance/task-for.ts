import type { NewTask } from '../../store/tasks.ts'
import { type ActivityWork, newTask } from './activity-work.ts'
import type { LiveInstance } from './live-instance.ts'

/** An activity of an instance as a task, for any runtime that can run it. */
export function taskFor(
  instance: LiveInstance,
  command: number,
  work: ActivityWork,
  token?: number,
): NewTask {
  const event = instance.run.open.get(command)?.event
  const route = event?.type === 'activity' ? event : work.options
  const failures = instance.calls.failures(command)
  const { trace } = instance.started
  return newTask(work, route, command, idempotencyKey(instance, command), failures, trace, token)
}

/** The idempotency key of a call: the same for all its attempts, in any process. */
export function idempotencyKey(
  { iid, execution, startedAt }: LiveInstance,
  command: number,
): string {
  // The time is part of it because another database may give out the same numbers.
  return `${iid}-${execution}-${command}-${startedAt.toString(36)}`
}
