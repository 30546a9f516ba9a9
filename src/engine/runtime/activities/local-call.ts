import type { TraceOrigin } from '../../core/engine-tracer.ts'
import type { TaskKey } from '../../../store/tasks.ts'
import type { Transact } from '../../../store/transactions.ts'
import { type ActivityWork, deadlineOf, newTaskToken } from '../../instance/activity-work.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { idempotencyKey } from '../../instance/task-for.ts'
import { ActivityCall, type ActivityCallSpec, type CallServices } from './activity-call.ts'

/** An attempt in the runtime that owns the instance. */
export class LocalCall extends ActivityCall {
  readonly instance: LiveInstance
  readonly command: number
  readonly work: ActivityWork
  /** Whether it has become a task that this runtime owns; `gone` when it no longer owns it. */
  task: 'none' | 'owned' | 'gone' = 'none'
  #token: number | undefined

  constructor(
    services: CallServices,
    instance: LiveInstance,
    command: number,
    work: ActivityWork,
    attempt: number,
  ) {
    super(services, calledBy(work), attempt)
    this.instance = instance
    this.command = command
    this.work = work
  }

  get wanted(): boolean {
    if (this.task !== 'none') return this.task === 'owned'
    return this.instance.calls.attempt(this.command) === this
  }

  get instanceId(): string {
    return this.instance.id
  }

  get origin(): TraceOrigin {
    return this.instance.started
  }

  get workflow(): string {
    return this.instance.definition.name
  }

  get key(): TaskKey {
    return { iid: this.instance.iid, execution: this.instance.execution, command: this.command }
  }

  /** The token of the task that it is, or may become. */
  get token(): number {
    return (this.#token ??= newTaskToken())
  }

  override get fence(): Transact['by'] {
    if (this.task !== 'none') return super.fence
    return { epoch: this.instance.epoch, turn: this.instance.turn }
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.instance, this.command)
  }

  /** Only of a step: details of any other earlier attempt are stored with the task it became. */
  get lastHeartbeat(): unknown {
    const details = this.instance.calls.stepDetails(this.command)
    return details === undefined ? undefined : this.services.core.values.value(details)
  }
}

function calledBy(work: ActivityWork): ActivityCallSpec {
  const { name, input, definition, step, options } = work
  const { retry, timeoutMs, heartbeatTimeoutMs, tag, session } = options
  const deadline = deadlineOf(work)
  return {
    name,
    input,
    definition,
    step,
    retry,
    timeoutMs,
    heartbeatTimeoutMs,
    tag,
    session,
    deadline,
  }
}
