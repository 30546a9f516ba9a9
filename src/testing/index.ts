// The public entry `holdfast/testing`: what tests of durable code need.
export {
  crashEverywhere,
  type CrashOptions,
  type CrashReport,
  type CrashScenario,
} from './kit/crash-everywhere.ts'
export { type ActivityRun, runActivity, type RunActivityOptions } from './kit/run-activity.ts'
export { simulate, type SimulateOptions, type SimulationReport } from './kit/simulate.ts'
export type { FaultKind } from './kit/fault-plan.ts'
export { openTest, type TestOptions } from './kit/open-test.ts'
export {
  type Call,
  type CallOf,
  stub,
  type Stub,
  type StubCode,
  type StubOptions,
  stubStep,
  type StubTools,
} from './kit/stubs.ts'
export type { LogLine } from './kit/test-log.ts'
export type { TestRuntime } from './kit/test-runtime.ts'
export { virtualClock, type VirtualClock } from './virtual-clock.ts'
export type { OutboxStore } from '../store/outbox-store.ts'
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
export type {
  OpenUserTransaction,
  OutboxConnection,
  OutboxTable,
  OutboxUnderTest,
} from './outbox-contract/outbox-under-test.ts'
export { describeOutboxStore, type OutboxStoreTraits } from './outbox-store-contract.ts'
export { describeWorkflowStore } from './workflow-store-contract.ts'
export {
  checkAgainst,
  type CheckAgainstOptions,
  type CheckProgress,
} from './upgrades/check-against.ts'
export { checkReplay, type CheckReplayOptions } from './upgrades/check-replay.ts'
export type { UpgradeFinding } from './upgrades/findings.ts'
export type { HistorySource } from './upgrades/histories.ts'
export type { UpgradeReport } from './upgrades/write-report.ts'
