import { type Clock, sleep } from '../../base/time/clock.ts'

// Only memory is checked this often, and only while a caller waits.
const LOOK_MS = 5

/** Whether there is anything to do. */
export interface IdleHost {
  readonly clock: Clock
  /** Whether nothing runs or is under way in this process. */
  isQuiet(): boolean
  /** Whether the store has nothing for this runtime now. Takes on what there is. */
  hasNothingDue(): Promise<boolean>
}

/** Resolves when nothing is due: everything waits for time, for messages, or for other runtimes. */
export async function untilIdle(host: IdleHost, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    signal?.throwIfAborted()
    if (host.isQuiet() && (await host.hasNothingDue()) && host.isQuiet()) return
    await sleep(host.clock, LOOK_MS, signal)
  }
}
