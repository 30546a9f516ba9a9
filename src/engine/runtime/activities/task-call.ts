import type { TraceOrigin } from '../../core/engine-tracer.ts'
import type { ClaimedTask, TaskKey } from '../../../store/tasks.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import { ActivityCall, type CallServices } from './activity-call.ts'
import { completeTaskOptions, type TaskOptions } from '../../instance/activity-work.ts'
import { QUARANTINE_DEATHS } from '../../../store/constants.ts'
import type { OwnedTasks } from './owned-tasks.ts'

/** Whether others may wait for its end: for its session, its limit, or because it is quarantined. */
export function blocksOthers({ session, deaths }: ClaimedTask, { limited }: TaskOptions): boolean {
  return session !== '' || deaths >= QUARANTINE_DEATHS || limited
}

/** An attempt at a task. */
export class TaskCall extends ActivityCall {
  readonly #task: ClaimedTask
  readonly #options: TaskOptions
  readonly #owned: OwnedTasks

  constructor(
    services: CallServices,
    owned: OwnedTasks,
    task: ClaimedTask,
    options: TaskOptions,
    definition: ActivityDefinition,
  ) {
    const { activity: name, input, tag, session } = task
    const own = completeTaskOptions(options, definition)
    const { retry, timeoutMs, heartbeatTimeoutMs, deadline = Infinity } = own
    const limits = { retry, timeoutMs, heartbeatTimeoutMs, deadline }
    super(
      services,
      { name, input, definition, step: undefined, tag, session, ...limits },
      task.attempt,
    )
    this.#task = task
    this.#options = options
    this.#owned = owned
  }

  get wanted(): boolean {
    return this.#owned.has(this)
  }

  get instanceId(): string {
    return this.#task.id
  }

  get origin(): TraceOrigin | undefined {
    const { trace } = this.#options
    return trace === undefined ? undefined : { seed: '', trace }
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
    return beat === null ? undefined : this.services.core.values.value(beat)
  }
}
