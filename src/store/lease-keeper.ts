// How a store renews the lease of a runtime while the runtime's event loop is blocked: see `src/watchdog`.

/** By default, an event loop that is blocked for this long counts as hung. */
export const GIVE_UP_MS = 60_000

/** How the lease of one runtime is kept. Can be sent to a thread. */
export interface LeaseOrder {
  /** The memory of a `SharedLoopHeartbeat`. */
  readonly memory: SharedArrayBuffer
  readonly leaseMs: number
  /** An event loop that is blocked for this long counts as hung: its lease is no longer renewed. */
  readonly giveUpMs: number
  readonly onHang: OnHang
}

/**
 * What happens when an event loop hangs. `ignore`: the lease expires by itself. `release`: the lease
 * ends at once, so that other runtimes take over, and a log line names the culprit. `kill`: the
 * culprit is suspended and the process is killed.
 */
export type OnHang = 'ignore' | 'release' | 'kill'

/** What a runtime asks of its store. */
export interface LeaseRequest extends LeaseOrder {
  /** Called with the reason when the lease cannot be renewed; `isLasting` if that will not change. */
  readonly onTrouble: (why: string, isLasting?: boolean) => void
}

/** Renews the lease of one runtime. */
export interface LeaseKeeper {
  /** Stops it. Resolves once its thread and connection are gone. */
  stop(): Promise<void>
}
