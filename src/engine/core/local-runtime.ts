import type { Abortable } from '../../base/sync/on-abort.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Registry } from '../define/registry.ts'
import type { Endings } from './endings.ts'
import type { IidPool } from './iid-pool.ts'
import type { NewInstance, StartOutcome } from './start-item.ts'
import type { Values } from './values.ts'

/** What a client works with. */
export interface ClientSetup {
  readonly store: WorkflowStore
  readonly values: Values
  readonly clock: Clock
  readonly log: Logger
  /** How long a server that is starting is waited for; not at all without it. */
  readonly connectTimeoutMs?: number
  /** The runtime of this process, when there is one: it starts and ends instances without a detour. */
  readonly runtime: LocalRuntime | undefined
  /** What that runtime has the code of. */
  readonly registry?: Pick<Registry, 'workflow' | 'latest'> | undefined
}

/** What a client uses of the runtime of its own process. */
export interface LocalRuntime {
  /**
   * Starts an instance; resolves when it is recorded, or when its id turns out to be taken. The signal
   * takes back a start that another transaction blocks.
   */
  start(start: NewInstance, signal?: Abortable): Promise<StartOutcome>
  /** Whether the instance is in this process now. */
  owns(iid: Iid): boolean
  /** The attempt that this process makes at an activity of the instance, if any. */
  attemptAt?(iid: Iid, command: number): LocalAttempt | undefined
  readonly endings: Endings
  /** Numbers for new instances. */
  readonly iids: IidPool
  /** Who waits in this process for which answer. */
  readonly replied?: { subscribe(to: string, listener: () => void): () => void }
  /** The store's clock, as far as it is known. */
  storeNow(): number
  /** Something may have become claimable. */
  claimNow(): void
  /** There is mail for these. */
  hint(targets: readonly Hint[]): void
  /** These were changed from outside: a copy in this process is of no use any more. */
  recall(iids: readonly Iid[]): void
  /** Tells other processes. */
  tell(news: News): void
  /** Who waits in this process for changes of instances that are not here. */
  readonly changes: ChangeFeed
}

/** An attempt of this process. */
export interface LocalAttempt {
  readonly attempt: number
  /** Whether its code was called; otherwise it waits for a free slot. */
  readonly begun: boolean
}

/** Changes of instances that other processes have. */
export interface ChangeFeed {
  /** Whether they are told of, so that looking often would be in vain. */
  readonly isLive: boolean
  /** Waits for changes of an instance, each of them. Call the result to stop. */
  subscribe(iid: Iid, listener: () => void): () => void
  /** This process has changed it: those who wait here are told. */
  changed(iid: Iid): void
}

/** An instance that there is mail for, and who owns it, if anybody. */
export interface Hint {
  readonly iid: Iid
  readonly owner: number | null
}
