import type { TransformChain } from '../../base/codec/transform.ts'
import type { Abortable } from '../../base/sync/on-abort.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { Tracing } from '../../base/tracing.ts'
import type { Announcement } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Registry } from '../define/registry.ts'
import type { Endings } from './endings.ts'
import type { EngineMeter } from './engine-meter.ts'
import type { EngineTracer } from './engine-tracer.ts'
import type { IidPool } from './iid-pool.ts'
import type { NewInstance, StartOutcome } from './start-item.ts'
import type { Values } from './values.ts'

/** What a client needs. */
export interface ClientSetup {
  readonly store: WorkflowStore
  readonly values: Values
  /** Transforms what is stored; the store does so itself, other features of the client call it. */
  readonly chain?: TransformChain | undefined
  readonly clock: Clock
  readonly log: Logger
  /** How long to wait for a database server that is starting. @default not at all */
  readonly connectTimeoutMs?: number
  /** Creates ids and seeds. @default random ones */
  readonly newUuid?: (() => string) | undefined
  /** The runtime of this process, if it has one: instances that it owns need no round trip. */
  readonly runtime: LocalRuntime | undefined
  /** The definitions that the runtime has registered. */
  readonly registry?: Pick<Registry, 'workflow' | 'latest'> | undefined
  /** Measures what happens, if there is a metrics sink. */
  readonly meter?: EngineMeter | undefined
  /** Reports spans, if they are traced. */
  readonly tracer?: EngineTracer | undefined
  /** Where measurements and spans go, for the other features of the package. */
  readonly metrics?: Metrics | undefined
  readonly tracing?: Tracing | undefined
}

/** What a client uses of the runtime in its own process. */
export interface LocalRuntime {
  readonly starts: {
    /**
     * Starts an instance. Resolves once the start is committed, or its id turns out to be taken. The
     * signal withdraws a start that another transaction blocks.
     */
    start(start: NewInstance, signal?: Abortable): Promise<StartOutcome>
  }
  /** Whether this process has the instance in memory now. */
  owns(iid: Iid): boolean
  /** The attempt at an activity of the instance that runs in this process, if any. */
  attemptAt?(iid: Iid, command: number): LocalAttempt | undefined
  readonly endings: Endings
  /** Numbers for new instances. */
  readonly iids: IidPool
  /** Listeners for replies to requests, by address. */
  readonly replied?: { subscribe(to: string, listener: () => void): () => void }
  /** The estimated time of the store. */
  storeNow(): number
  /** Looks for instances to claim, because there may be one now. */
  claimNow(): void
  /** Looks at schedules, because one was changed. */
  schedulesChanged(): void
  /** Reads the inbox of these instances, because there is mail. */
  hint(targets: readonly MailHint[]): void
  /** Evicts these instances from memory, because a client changed them. */
  recall(iids: readonly Iid[]): void
  /** Notifies other processes. */
  announce(announcement: Announcement): void
  /** Changes of instances that other processes have in memory. */
  readonly changes: ChangeFeed
}

/** An attempt at an activity in this process. */
export interface LocalAttempt {
  readonly attempt: number
  /** Whether its code runs; otherwise it waits for a free slot. */
  readonly begun: boolean
}

/** Changes of instances that other processes have in memory. */
export interface ChangeFeed {
  /** Whether notifications arrive at present, so that frequent polling is unnecessary. */
  readonly isLive: boolean
  /** Adds a listener for every change of an instance. Call the result to remove it. */
  subscribe(iid: Iid, listener: () => void): () => void
  /** Calls the listeners of an instance that this process has changed. */
  changed(iid: Iid): void
}

/** An instance that has mail, and the runtime that owns it, if any. */
export interface MailHint {
  readonly iid: Iid
  readonly owner: number | null
}
