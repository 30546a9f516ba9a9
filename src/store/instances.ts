/** The number of an instance: never reused, even when its id is. */
export type Iid = number

/** A workflow by name and version, as the store numbers it. */
export interface WorkflowName {
  readonly name: string
  readonly version: string
}

/**
 * The version of a workflow whose start named none, until it is first claimed: then the store writes
 * the latest version that a live runtime registers. Runtimes register it beside the versions they have.
 */
export const NO_VERSION = ''

/** How an instance ended. */
export type EndStatus = 'completed' | 'failed' | 'cancelled' | 'terminated'

/** The end of an instance: its result or its error, encoded. */
export interface Ending {
  readonly status: EndStatus
  readonly output: string
}

/**
 * What happens to a child when its parent ends: `independent` is not a child, only started by one.
 */
export type OnParentClose = 'cancel' | 'terminate' | 'abandon' | 'independent'

/** The workflow instance that started another one. */
export interface ParentLink {
  readonly iid: Iid
  /** The parent's id, as callers use it. */
  readonly id: string
  readonly execution: number
  readonly command: number
  readonly onClose: OnParentClose
}

/** An instance as clients see it. */
export interface InstanceRow {
  readonly iid: Iid
  readonly id: string
  readonly workflow: WorkflowName
  readonly execution: number
  /** `unstarted`: messages wait for it, but it was never started. `scheduled`: its time has not come. */
  readonly status: 'unstarted' | 'scheduled' | 'running' | 'suspended' | EndStatus
  /** When it wakes without a message; `null` when owned, ended, or waiting for messages only. */
  readonly wakeAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt: number | null
  /** Result or error, once ended. */
  readonly output: string | null
  /** Why it is suspended. */
  readonly report: string | null
  readonly parent: ParentLink | null
  readonly labels: string
  readonly progress: string | null
  /** How many commits have set it. */
  readonly progressVersion: number
  /** How many messages wait. */
  readonly mail: number
}
