import { type Clock, sleep } from '../../base/time/clock.ts'

// Only while a caller waits, and only memory is checked so often.
const LOOK_MS = 5

/** What is asked whether there is anything to do. */
export interface IdleHost {
  readonly clock: Clock
  /** Whether nothing runs or is under way in this process. */
  isQuiet(): boolean
  /** Whether the store has nothing for this runtime now. Takes up what there is. */
  hasNothingDue(): Promise<boolean>
}

/** Resolves when nothing is due: all that is left waits for time, for messages, or for others. */
export async function untilIdle(host: IdleHost, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    signal?.throwIfAborted()
    if (host.isQuiet() && (await host.hasNothingDue()) && host.isQuiet()) return
    await sleep(host.clock, LOOK_MS, signal)
  }
}
