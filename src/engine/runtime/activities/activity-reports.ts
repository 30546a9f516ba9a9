import type { Delivery } from '../../../store/inbox.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'

/** Where activities report to: the scheduler of the instances that called them. */
export interface ActivityReports {
  /** An attempt has ended, and its result is still wanted. */
  attemptEnded(instance: LiveInstance, command: number, attempt: number, end: AttemptEnd): void
  /** Activities that wait for a slot here become tasks, for other runtimes. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void
  /** Less of the instance runs here, so it may be idle now. */
  releaseIfIdle(instance: LiveInstance): void
  readonly eviction: {
    /** Puts results into the inbox of an instance that another runtime owns by now. */
    handOver(instance: LiveInstance, results: readonly Delivery[]): Promise<void>
  }
}
