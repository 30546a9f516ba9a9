import type { HeldTask, TaskKey } from '../../../store/tasks.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import { ActivityCall } from './activity-call.ts'
import { completeTaskOptions, type TaskOptions } from '../../instance/activity-work.ts'
import { QUARANTINE_DEATHS } from '../../../store/constants.ts'
import type { AttemptHost } from './run-attempt.ts'

/** Whether others may wait for its end: for its session or its limit, or because runtimes died with both. */
export function isInTheWay({ session, deaths }: HeldTask, { limited }: TaskOptions): boolean {
  return session !== '' || deaths >= QUARANTINE_DEATHS || limited
}

/** An attempt of a task. */
export class TaskCall extends ActivityCall {
  readonly #task: HeldTask
  readonly #options: TaskOptions
  readonly #isHeld: (call: ActivityCall) => boolean

  constructor(
    host: AttemptHost,
    task: HeldTask,
    options: TaskOptions,
    definition: ActivityDefinition,
    isHeld: (call: ActivityCall) => boolean,
  ) {
    const { activity: name, input, tag, session } = task
    const own = completeTaskOptions(options, definition)
    const { retry, timeoutMs, heartbeatTimeoutMs, deadline = Infinity } = own
    const limits = { retry, timeoutMs, heartbeatTimeoutMs, deadline }
    super(host, { name, input, definition, step: undefined, tag, session, ...limits }, task.attempt)
    this.#task = task
    this.#options = options
    this.#isHeld = isHeld
  }

  get wanted(): boolean {
    return this.#isHeld(this)
  }

  get instanceId(): string {
    return this.#task.id
  }

  get workflow(): string {
    return this.#task.workflow
  }

  get idempotencyKey(): string {
    return this.#options.idempotencyKey
  }

  get key(): TaskKey {
    const { iid, execution, command } = this.#task
    return { iid, execution, command }
  }

  get token(): number | null {
    return this.#task.token
  }

  get lastHeartbeat(): unknown {
    const { beat } = this.#task
    return beat === null ? undefined : this.host.values.value(beat)
  }
}
