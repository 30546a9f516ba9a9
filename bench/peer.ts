/** How a measurement is done: the same for all. */
export interface Plan {
  readonly inFlight: number
  /** How long the load lasts. */
  readonly ms: number
  /** Load before that, not counted. */
  readonly warmUpMs: number
  /** Runs of one at a time. */
  readonly samples: number
}

/** The figures of one shape under full load. */
export interface Measured {
  readonly workflowsPerSecond: number
  readonly stepsPerSecond: number
  /** CPU time of the process that runs the workflows, as a share of one core. */
  readonly cpu: number
  /** Share of the time in which its event loop was busy; unknown for others. */
  readonly loop: number | undefined
  /** What the server did, per step. */
  readonly perStep: PerStep | undefined
}

/** What PostgreSQL did for one step. */
export interface PerStep {
  /** Undefined without `pg_stat_statements`. */
  readonly statements: number | undefined
  readonly writeTransactions: number
  readonly walBytes: number
  readonly fsyncs: number
}
