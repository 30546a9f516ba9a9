import type { Iid } from '../../../store/instances.ts'
import type { NewTask, TaskKey } from '../../../store/tasks.ts'
import type { CommandRunner } from './command-runner.ts'
import type { LiveInstance, TurnOutput } from '../../instance/live-instance.ts'

/** Who hears of what a turn meant for others. */
export interface OthersHost {
  /** There is, or may be, mail for these instances. */
  look(iids: readonly Iid[]): void
  /** There are new tasks in the store. */
  tasksMade(tasks: readonly NewTask[]): void
  /** These tasks are not wanted any more. */
  tasksDropped(keys: readonly TaskKey[]): void
  /** Requests were answered. */
  replied(to: readonly string[]): void
  /** Something of an instance has changed that is waited for, perhaps in other processes. */
  changed(iid: Iid): void
  /** An instance has ended, which is its last change. */
  ended(iid: Iid): void
}

/** What a recorded turn meant for others: attempts that are not wanted, children, those who asked. */
export function notifyOthers(
  host: OthersHost,
  commands: CommandRunner,
  instance: LiveInstance,
  { dropped, effects }: TurnOutput,
): void {
  const children: Iid[] = []
  for (const command of dropped) {
    instance.running.get(command)?.abort('its result is not wanted any more')
    instance.running.delete(command)
    instance.attempts.delete(command)
    commands.cancelAlarm(instance, command)
    const child = instance.children.get(command)
    if (child !== undefined) children.push(child)
  }
  if (effects === null) return
  if (effects.closes === 'all') children.push(...instance.children.values())
  if (children.length > 0) host.look(children)
  if (effects.tasks.length > 0) host.tasksMade(effects.tasks)
  if (effects.dropsTasks.length > 0) {
    const { iid, execution } = instance
    host.tasksDropped(effects.dropsTasks.map((command) => ({ iid, execution, command })))
  }
  if (effects.replies.length > 0) host.replied(effects.replies.map(({ to }) => to))
  if (effects.replies.length > 0 || effects.progress !== null) host.changed(instance.iid)
}
