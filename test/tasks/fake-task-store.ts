// A store of tasks that hands out what it is given and records its calls: for tests of its callers.
// Its answers can be changed call by call.

import type {
  Beat,
  ClaimedTask,
  TaskAnswer,
  TaskAttempt,
  TaskRequest,
  TaskResult,
  TaskStore,
  TaskVerdict,
} from '../../src/store/tasks.ts'

/** A task as it is handed out. */
export function heldTask(command: number, given: Partial<ClaimedTask> = {}): ClaimedTask {
  return {
    iid: 1,
    execution: 1,
    command,
    token: 1,
    id: 'i',
    workflow: 'test',
    activity: 'work',
    input: 'null',
    tag: '',
    session: '',
    options: JSON.stringify({
      retry: {
        maxAttempts: 3,
        backoff: 'exponential',
        delayMs: 1_000,
        maxDelayMs: 60_000,
        jitter: false,
        unless: [],
      },
      idempotencyKey: `1-1-${command}-0`,
    }),
    attempt: 1,
    deaths: 0,
    beat: null,
    ...given,
  }
}

/** A store of tasks for tests. */
export class FakeTaskStore implements TaskStore {
  readonly kind = 'test'
  /** What the next claims bring. */
  waiting: ClaimedTask[] = []
  state: TaskAnswer['state'] = 'ok'
  nextDue: number | null = null
  /** Tasks that a runtime owns without having got the answer. */
  lost: TaskAttempt[] = []
  readonly requests: TaskRequest[] = []
  readonly finished: { readonly runtime: number; readonly results: readonly TaskResult[] }[] = []
  readonly beats: { readonly runtime: number; readonly beats: readonly Beat[] }[] = []
  readonly suspended: { readonly ids: readonly string[]; readonly report: string }[] = []
  /** Called for each call, before it is answered; what it throws is thrown. */
  before: (method: keyof TaskStore | 'suspend') => void | Promise<void> = () => {}
  verdictOn: (result: TaskResult) => TaskVerdict = () => ({ verdict: 'done', owner: 7 })
  isWanted: (beat: Beat) => boolean = () => true

  async claimTasks(request: TaskRequest): Promise<TaskAnswer> {
    this.requests.push(request)
    await this.before('claimTasks')
    const { state, nextDue } = this
    const tasks = state === 'dead' ? [] : this.waiting.splice(0, request.limit)
    return { state, clock: 0, tasks, nextDue }
  }

  async finishTasks(
    runtime: number,
    results: readonly TaskResult[],
  ): Promise<readonly TaskVerdict[]> {
    this.finished.push({ runtime, results })
    await this.before('finishTasks')
    return results.map((result) => this.verdictOn(result))
  }

  async ownedTasks(): Promise<readonly TaskAttempt[]> {
    await this.before('ownedTasks')
    return this.lost
  }

  async beat(runtime: number, beats: readonly Beat[]): Promise<readonly boolean[]> {
    this.beats.push({ runtime, beats })
    await this.before('beat')
    return beats.map((beat) => this.isWanted(beat))
  }

  async suspend(ids: readonly string[], report: string): Promise<readonly boolean[]> {
    await this.before('suspend')
    this.suspended.push({ ids, report })
    return ids.map(() => true)
  }

  /** Each result that was recorded: its command, how it ended, and under which number. */
  get ends(): readonly (readonly [command: number, kind: string, runtime: number])[] {
    return this.finished.flatMap(({ runtime, results }) =>
      results.map(({ command, end }) => [command, end.kind, runtime] as const),
    )
  }
}
