import type { Logger } from '../base/log.ts'
import type { Metrics } from '../base/metrics.ts'
import type { Tracing } from '../base/tracing.ts'
import type { Clock } from '../base/time/clock.ts'
import type { WorkflowStore } from './workflow-store.ts'

/** The key under which a client hands its store to the other features of this package. */
export const CLIENT_ACCESS: unique symbol = Symbol.for('holdfast.clientAccess')

/** What a client shares with features that use the same database. */
export interface ClientAccess {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  /** Where measurements go, if anywhere. */
  readonly metrics?: Metrics | undefined
  /** Where spans go, if anywhere. */
  readonly tracing?: Tracing | undefined
  /** Connects to the store, once. */
  readonly open: () => Promise<void>
  /** Encodes a value with the codec of the client. Throws a `TypeError` that begins with `label`. */
  readonly encode: (value: unknown, label: string) => string
  /** Decodes what `encode` returned. */
  readonly decode: (text: string) => unknown
  /** Calls `close` before the client closes its connections. Call the result to stop that. */
  readonly beforeClose: (close: () => Promise<void>) => () => void
}

/** A client that gives access. */
export interface ClientWithAccess {
  readonly [CLIENT_ACCESS]: ClientAccess
}
