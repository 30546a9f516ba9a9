import type { Delivery } from '../../../store/inbox.ts'
import type { TaskKey } from '../../../store/tasks.ts'
import { ActivityCall, type ActivityCallSpec, type CallHost } from './activity-call.ts'
import { type ActivityWork, deadlineOf, newTaskToken } from '../../instance/activity-work.ts'
import { type LiveInstance, lastTurnOf } from '../../instance/live-instance.ts'
import { idempotencyKey } from '../../instance/task-for.ts'
import { logAttempt } from './log-attempt.ts'
import { type AttemptEnd, type AttemptHost, runAttempt } from './run-attempt.ts'
import type { Slots } from './slots.ts'

/** What the runner needs of its runtime. */
export interface LocalActivityHost extends AttemptHost {
  /** Resolves when it is certain that this runtime may start something. */
  mayStart(): Promise<void> | undefined
  completed(instance: LiveInstance, command: number, value: string): void
  failed(instance: LiveInstance, command: number, error: string): void
  /** It will be tried again, after so long. */
  retry(
    instance: LiveInstance,
    command: number,
    attempt: number,
    delayMs: number,
    error: string,
  ): void
  /** The result of a transaction is in the inbox. */
  stored(instance: LiveInstance, command: number): void
  /** Resolves when it is known whether the call has become a task by now. */
  becomesTask(call: ActivityCall): Promise<boolean> | undefined
  /** The attempt is over: what it told is written if another one follows. */
  beatsOver(call: ActivityCall, isFollowed: boolean): Promise<void> | undefined
  /** What has become a task ends as one. */
  endTask(call: ActivityCall, end: AttemptEnd): void
  /** A result for an instance that somebody else has by now. */
  handOver(delivery: Delivery): void
}

/** Runs activities and steps of owned instances. */
export class LocalActivities {
  readonly #host: LocalActivityHost
  readonly #slots: Slots

  constructor(host: LocalActivityHost, slots: Slots) {
    this.#host = host
    this.#slots = slots
  }

  /** Starts an attempt, at once or when a slot is free. */
  start(instance: LiveInstance, command: number, work: ActivityWork, attempt: number): void {
    const call = new LocalCall(this.#host, instance, command, work, attempt)
    instance.calls.begin(command, call)
    this.#slots.run(call, this)
  }

  /** Gives up all attempts that wait for a slot: the runtime is closing. */
  giveUpWaiting(): void {
    for (const call of this.#slots.close()) {
      if (call instanceof LocalCall && call.wanted) call.instance.calls.end(call.command)
    }
  }

  perform(call: ActivityCall): Promise<void> | undefined {
    const local = call as LocalCall
    const wait = this.#host.mayStart()
    return wait === undefined ? this.#attempt(local) : wait.then(() => this.#attempt(local))
  }

  #attempt(call: LocalCall): Promise<void> | undefined {
    if (!call.wanted) return undefined
    const running = runAttempt(call, this.#host)
    return running instanceof Promise
      ? running.then((end) => this.#over(call, end))
      : this.#over(call, running)
  }

  /** Most give no heartbeat, and so do not become a task: then nothing is waited for. */
  #over(call: LocalCall, end: AttemptEnd): Promise<void> | undefined {
    const writing = this.#host.beatsOver(call, end.kind === 'retry')
    if (writing !== undefined || this.#host.becomesTask(call) !== undefined) {
      return this.#overWithBeats(call, end, writing)
    }
    this.#tell(call, end)
    return undefined
  }

  async #overWithBeats(
    call: LocalCall,
    end: AttemptEnd,
    writing: Promise<void> | undefined,
  ): Promise<void> {
    await writing
    const isTask = (await this.#host.becomesTask(call)) === true
    if (isTask) this.#host.endTask(call, end)
    else this.#tell(call, end)
  }

  #tell(call: LocalCall, end: AttemptEnd): void {
    const { instance, command, attempt } = call
    if (!call.wanted) return this.#finishedLate(call, end)
    instance.calls.end(command)
    logAttempt(this.#host, call, end)
    switch (end.kind) {
      case 'completed':
        return this.#host.completed(instance, command, end.payload)
      case 'failed':
        return this.#host.failed(instance, command, end.payload)
      case 'retry':
        return this.#host.retry(instance, command, attempt, end.delayMs, end.error)
      case 'stored':
        return this.#host.stored(instance, command)
    }
  }

  /** Told to stop and completed all the same: whoever has the instance now need not do it again. */
  #finishedLate({ instance, key }: LocalCall, end: AttemptEnd): void {
    if (!instance.leavesResults || end.kind !== 'completed') return
    const known = lastTurnOf(instance)
    this.#host.handOver({ ...key, kind: 'completed', payload: end.payload, known })
  }
}

/** An attempt at the owner of its instance. */
export class LocalCall extends ActivityCall {
  readonly instance: LiveInstance
  readonly command: number
  readonly work: ActivityWork
  /** Whether it is a task by now, held by this runtime; `gone` when somebody took that away. */
  task: 'none' | 'held' | 'gone' = 'none'
  #token: number | undefined

  constructor(
    host: CallHost,
    instance: LiveInstance,
    command: number,
    work: ActivityWork,
    attempt: number,
  ) {
    super(host, calledBy(work), attempt)
    this.instance = instance
    this.command = command
    this.work = work
  }

  get wanted(): boolean {
    if (this.task !== 'none') return this.task === 'held'
    return this.instance.calls.attempt(this.command) === this
  }

  get instanceId(): string {
    return this.instance.id
  }

  get workflow(): string {
    return this.instance.definition.name
  }

  get key(): TaskKey {
    return { iid: this.instance.iid, execution: this.instance.execution, command: this.command }
  }

  /** Of the task that it is, or may become. */
  get token(): number {
    return (this.#token ??= newTaskToken())
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.instance, this.command)
  }

  /** Only of a step: what any other earlier attempt told stands with the task that it became. */
  get lastHeartbeat(): unknown {
    const told = this.instance.calls.stepDetails(this.command)
    return told === undefined ? undefined : this.host.values.value(told)
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
