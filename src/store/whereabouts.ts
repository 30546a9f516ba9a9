import type { ServedTags } from './tasks.ts'

/** A runtime, as people know it. */
export interface RuntimePlace {
  readonly runtime: number
  /** As it registered: host, process id, version of the package. */
  readonly info: string
}

/** What a runtime said of itself when it registered. */
export interface RuntimeServes extends ServedTags {
  /** Activities that it was given; those that its workflows call besides become known by and by. */
  readonly activities: readonly string[]
}

/** A runtime that is alive, and what it can run. */
export interface LiveRuntime extends RuntimePlace {
  /** Whether it has the code of the instance's workflow. */
  readonly registers: boolean
  /** `null` when it does not tell. */
  readonly serves: RuntimeServes | null
  /** Activities without a tag that it can run, as its last tick said. */
  readonly activities: readonly string[]
}

/** A task of an instance, and what became of it so far. */
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

/** Which runtimes work on an instance, and which could. */
export interface Whereabouts {
  readonly owner: RuntimePlace | null
  /** Of its current execution. */
  readonly tasks: readonly TaskPlace[]
  readonly runtimes: readonly LiveRuntime[]
}
