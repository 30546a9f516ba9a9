import type { Rate } from './rates.ts'
import type { ServedTags } from './tasks.ts'

/** A runtime, as clients see it. */
export interface RuntimePlace {
  readonly runtime: number
  /** As it registered: host, process id, version of the package. */
  readonly info: string
}

/** What a runtime registered. */
export interface RuntimeServes extends ServedTags {
  /**
   * Activities that it was given; those that its workflows call besides are added as they are
   * called.
   */
  readonly activities: readonly string[]
}

/** A runtime that is alive, and what it can run. */
export interface LiveRuntime extends RuntimePlace {
  /** Whether it has the code of the instance's workflow. */
  readonly registers: boolean
  /** `null` if it does not say. */
  readonly serves: RuntimeServes | null
  /** Activities without a tag that it can run, as of its last tick. */
  readonly activities: readonly string[]
}

/** A task of an instance, and its outcome so far. */
export interface TaskPlace {
  readonly command: number
  /** Attempts that were started. */
  readonly attempts: number
  readonly owner: RuntimePlace | null
  readonly ownedSince: number | null
  /** When it can be taken; `null` for now. */
  readonly visibleAt: number | null
  /** What the last attempt failed with, encoded; `null` for nothing. */
  readonly error: string | null
}

/** The limit of a workflow, as one that waits for it sees it. */
export interface AwaitedLimit {
  /** `null` if the limit has no keys, or the key is not known yet. */
  readonly key: string | null
  readonly concurrency: number | null
  readonly rate: Rate | null
  /** How many places of its line suspended instances hold; 0 without a `concurrency`. */
  readonly suspended: number
}

/** Which runtimes work on an instance, and which could. */
export interface Whereabouts {
  readonly owner: RuntimePlace | null
  /** Of its current execution. */
  readonly tasks: readonly TaskPlace[]
  readonly runtimes: readonly LiveRuntime[]
  /** The limit of its workflow that does not admit it yet, if there is one. */
  readonly limit: AwaitedLimit | null
}
