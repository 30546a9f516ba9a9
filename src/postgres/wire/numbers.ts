import type { InboxRow } from '../../store/inbox.ts'
import type { EndStatus, InstanceRow, OnParentClose } from '../../store/instances.ts'
import type { TaskEnd } from '../../store/tasks.ts'

// How the server writes what the port has words for.

/** Of instances. Those set aside or scheduled are running. */
export const STATUS_NUMBERS = {
  absent: 0,
  running: 1,
  completed: 2,
  failed: 3,
  cancelled: 4,
  terminated: 5,
} as const satisfies Record<EndStatus | 'absent' | 'running', number>

/** Of rows in the inbox. */
export const KIND_NUMBERS = {
  completed: 1,
  failed: 2,
  message: 3,
  cancel: 4,
  terminate: 5,
} as const satisfies Record<InboxRow['kind'], number>

/** Of what becomes of a child. */
export const ON_CLOSE_NUMBERS = {
  cancel: 1,
  terminate: 2,
  abandon: 3,
  independent: 4,
} as const satisfies Record<OnParentClose, number>

/** Of how an attempt of a task ended: results as in the inbox. */
export const TASK_END_NUMBERS = {
  completed: KIND_NUMBERS.completed,
  failed: KIND_NUMBERS.failed,
  retry: 3,
  release: 4,
} as const satisfies Record<TaskEnd['kind'], number>

/** The words by their numbers. */
export const STATUSES: ReadonlyMap<number, InstanceRow['status']> = inverse(STATUS_NUMBERS)
export const KINDS: ReadonlyMap<number, InboxRow['kind']> = inverse(KIND_NUMBERS)
export const ON_CLOSES: ReadonlyMap<number, OnParentClose> = inverse(ON_CLOSE_NUMBERS)

function inverse<Word extends string>(numbers: Record<Word, number>): Map<number, Word> {
  return new Map(Object.entries<number>(numbers).map(([word, number]) => [number, word as Word]))
}
