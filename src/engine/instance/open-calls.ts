import type { Iid } from '../../store/instances.ts'
import type { OpenTask } from '../../store/tasks.ts'
import type { OpenAttempt } from '../replay/replay.ts'

const NONE: readonly never[] = []

/** Something that runs in this process for a command, or waits for a slot. */
export interface Attempt {
  /** Whether it runs an activity or step, or a command that concerns another instance. */
  readonly kind: 'activity' | 'remote'
  /** Of an activity or step: whether its code was called, rather than waiting for a slot. */
  readonly begun?: boolean
  /** Aborts its signal: the result is no longer wanted. */
  abort(reason: string): void
}

/**
 * The state of the open commands of an instance: which run here, which are tasks in the store, how often
 * they failed, which children were started. Its maps are created on first use.
 */
export class OpenCalls {
  #running: Map<number, Attempt> | undefined
  #tasks: Map<number, OpenTask> | undefined
  #forOthers: Set<number> | undefined
  #failed: Map<number, OpenAttempt> | undefined
  #children: Map<number, Iid> | undefined
  #stepDetails: Map<number, string> | undefined

  /** Whether nothing of it runs here. */
  get isIdle(): boolean {
    return this.#running === undefined || this.#running.size === 0
  }

  /** Commands that run here. */
  get running(): readonly number[] {
    return this.#running === undefined ? NONE : [...this.#running.keys()]
  }

  /** What runs here for a command. */
  attempt(command: number): Attempt | undefined {
    return this.#running?.get(command)
  }

  /** An attempt runs here, or waits for a slot. */
  begin(command: number, attempt: Attempt): void {
    ;(this.#running ??= new Map()).set(command, attempt)
  }

  /** What ran here for a command has ended, or its result is no longer needed. */
  end(command: number): void {
    this.#running?.delete(command)
  }

  /** Stops what runs here for a command. Returns whether anything did. */
  abort(command: number, reason: string): boolean {
    const attempt = this.#running?.get(command)
    if (attempt === undefined) return false
    this.#running!.delete(command)
    attempt.abort(reason)
    return true
  }

  /** Stops everything that runs here. */
  abortAll(reason: string): void {
    if (this.#running === undefined) return
    const attempts = [...this.#running.values()]
    this.#running.clear()
    for (const attempt of attempts) attempt.abort(reason)
  }

  /** Whether an activity waits in the store for a runtime, or runs as a task. */
  isTask(command: number): boolean {
    return this.#tasks?.has(command) === true
  }

  /** The task of a command. */
  task(command: number): OpenTask | undefined {
    return this.#tasks?.get(command)
  }

  /** Commands that are tasks. */
  get tasks(): readonly number[] {
    return this.#tasks === undefined ? NONE : [...this.#tasks.keys()]
  }

  /** A command is a task from now on. */
  becameTask(task: OpenTask): void {
    ;(this.#tasks ??= new Map()).set(task.command, task)
  }

  /** Replaces the known tasks by those that were loaded. */
  replaceTasks(tasks: readonly OpenTask[]): void {
    this.#tasks =
      tasks.length === 0 ? undefined : new Map(tasks.map((task) => [task.command, task]))
  }

  /** The task of a command is over. Returns whether there was one. */
  taskOver(command: number): boolean {
    return this.#tasks?.delete(command) === true
  }

  /** An activity does not run here and is left to other runtimes: the next commit makes it a task. */
  leaveToOthers(command: number): void {
    this.#running?.delete(command)
    ;(this.#forOthers ??= new Set()).add(command)
  }

  /** Takes the commands that were left to others. */
  takeLeftToOthers(): readonly number[] {
    const commands = this.#forOthers
    this.#forOthers = undefined
    return commands === undefined ? NONE : [...commands]
  }

  /** How often a command failed so far. */
  failures(command: number): number {
    return this.#failed?.get(command)?.attempts ?? 0
  }

  /** When the next attempt is due; `undefined` if none has failed. */
  retryAt(command: number): number | undefined {
    return this.#failed?.get(command)?.retryAt
  }

  /** An attempt failed, and another one follows. */
  willRetry(command: number, attempt: OpenAttempt): void {
    ;(this.#failed ??= new Map()).set(command, attempt)
  }

  /** A command has its result, or the code no longer waits for it. Drops its failures. */
  settled(command: number): void {
    this.#failed?.delete(command)
  }

  /** Replay found which attempts had failed. */
  restoreFailures(failed: ReadonlyMap<number, OpenAttempt>): void {
    this.#failed = failed.size === 0 ? undefined : new Map(failed)
  }

  /** The child that a command started; `undefined` while that is not committed. */
  child(command: number): Iid | undefined {
    return this.#children?.get(command)
  }

  /** All children whose start is committed. */
  get children(): readonly Iid[] {
    return this.#children === undefined ? NONE : [...this.#children.values()]
  }

  /** The start of a child is committed. */
  childStarted(command: number, child: Iid): void {
    this.#running?.delete(command)
    ;(this.#children ??= new Map()).set(command, child)
  }

  /** What an attempt at a step last reported with a heartbeat, encoded. */
  stepDetails(command: number): string | undefined {
    return this.#stepDetails?.get(command)
  }

  /** An attempt at a step reported its progress. */
  stepReported(command: number, details: string): void {
    ;(this.#stepDetails ??= new Map()).set(command, details)
  }
}
