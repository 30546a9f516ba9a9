import type { Verdict } from '../../store/commits.ts'
import type { InboxRow, PostVerdict } from '../../store/inbox.ts'
import type { EndStatus, InstanceRow, OnParentClose } from '../../store/instances.ts'
import type { FiringVerdict, Overlap } from '../../store/schedules.ts'
import type { TaskEnd, TaskVerdict } from '../../store/tasks.ts'

// The values in the database for the words of the port. Procedures write `:STATUS.running`, which
// `npm run generate` replaces with the value, as it does with the constants of `store/constants.ts`.
// Values are stored, and older builds read them: a new word gets a new value.

/** Of instances. Those that are suspended or scheduled are running. */
export const STATUS = {
  unstarted: 0,
  running: 1,
  completed: 2,
  failed: 3,
  cancelled: 4,
  terminated: 5,
} as const satisfies Record<EndStatus | 'unstarted' | 'running', number>

/** Of rows in the inbox. */
export const KIND = {
  completed: 1,
  failed: 2,
  message: 3,
  cancel: 4,
  terminate: 5,
} as const satisfies Record<InboxRow['kind'], number>

/** Of what becomes of a child. */
export const ON_CLOSE = {
  cancel: 1,
  terminate: 2,
  abandon: 3,
  independent: 4,
} as const satisfies Record<OnParentClose, number>

/** Added to what becomes of a child, it is the kind of the row that says so to the child. */
export const KIND_OF_CLOSE = KIND.cancel - ON_CLOSE.cancel

/** Of how an attempt of a task ended: results as in the inbox. */
export const TASK_END = {
  completed: KIND.completed,
  failed: KIND.failed,
  retry: 3,
  release: 4,
} as const satisfies Record<TaskEnd['kind'], number>

/** Of instances under the limit of their workflow. */
export const ADMISSION = { unjudged: 0, waiting: 1, admitted: 2 } as const

/** Of runtimes. */
export const RUNTIME = { alive: 1, dead: 2, closed: 3 } as const

/** Of turns and starts, one letter for each. */
export const VERDICT = {
  done: 'd',
  refused: 'r',
  exists: 'e',
  unstarted: 'a',
  locked: 'l',
  untried: 'n',
} as const satisfies Record<Verdict, string>

/** Of posts, one letter for each. */
export const POST_VERDICT = {
  sent: 's',
  duplicate: 'd',
  full: 'f',
  ended: 'e',
  unknown: 'u',
  locked: 'l',
  untried: 'n',
} as const satisfies Record<PostVerdict, string>

/** Of results of tasks, one letter for each. */
export const TASK_VERDICT = { done: 'd', gone: 'g' } as const satisfies Record<
  TaskVerdict['verdict'],
  string
>

/** Of transactions with user code, one letter. `ended`: the code has ended the transaction itself. */
export const TRANSACTION_VERDICT = { done: 'd', refused: 'r', ended: 'e' } as const

/** From this share of the queue of notifications on, a transaction of a user sends no hints. */
export const MAX_QUEUE_USAGE = 0.5

/** Of what a schedule does while an instance that it started has not ended. */
export const OVERLAP = { allow: 0, skip: 1, queue: 2 } as const satisfies Record<Overlap, number>

/** Of what became of a due time, one letter for each. */
export const FIRING = {
  started: 'd',
  exists: 'e',
  skipped: 's',
  waiting: 'w',
  missed: 'm',
  refused: 'r',
  unstarted: 'a',
  renumber: 'n',
  locked: 'l',
} as const satisfies Record<FiringVerdict, string>

/** The words by what the server writes. */
export const STATUSES: ReadonlyMap<number, InstanceRow['status']> = inverse(STATUS)
export const KINDS: ReadonlyMap<number, InboxRow['kind']> = inverse(KIND)
export const ON_CLOSES: ReadonlyMap<number, OnParentClose> = inverse(ON_CLOSE)
export const VERDICTS: ReadonlyMap<string, Verdict> = inverse(VERDICT)
export const POST_VERDICTS: ReadonlyMap<string, PostVerdict> = inverse(POST_VERDICT)
export const TASK_VERDICTS: ReadonlyMap<string, TaskVerdict['verdict']> = inverse(TASK_VERDICT)
export const FIRINGS: ReadonlyMap<string, FiringVerdict> = inverse(FIRING)

function inverse<Word extends string, Written extends number | string>(
  written: Record<Word, Written>,
): Map<Written, Word> {
  return new Map(Object.entries<Written>(written).map(([word, value]) => [value, word as Word]))
}
