// The public entry `holdfast/testing`: what tests of durable code need.
export { virtualClock, type VirtualClock } from './virtual-clock.ts'
export type { WorkflowStore } from '../store/workflow-store.ts'
export type {
  Expectation,
  RowCounts,
  StoreUnderTest,
  TestRunner,
} from './contract/store-under-test.ts'
export type { CutOn } from './faults/cut-trigger.ts'
export type { Fault, Injected } from './faults/fault.ts'
export {
  type FaultyPostgres,
  faultyPostgres,
  type FaultyPostgresOptions,
} from './faults/faulty-postgres.ts'
export { type PostgresProxy, postgresProxy, type ProxyCounts } from './faults/postgres-proxy.ts'
export { type Skew, skewClock, type SkewedClock } from './faults/skew-clock.ts'
export {
  type SweepOptions,
  sweepTestSchemas,
  type TestSchema,
  testSchema,
  type TestSchemaOptions,
} from './postgres-schema.ts'
export { describeWorkflowStore } from './workflow-store-contract.ts'
