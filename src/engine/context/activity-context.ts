import type { Logger } from '../../base/log.ts'

/** What the code of an activity or a step is given. */
export interface ActivityContext {
  readonly info: {
    readonly instanceId: string
    readonly workflow: string
    readonly activity: string
  }
  /** Aborts when the attempt is out of time, or when this runtime has to give the instance up. */
  readonly signal: AbortSignal
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The same for every attempt of this call, in whatever process: hand it to services that know such keys. */
  readonly idempotencyKey: string
  readonly log: Logger
}
