// The public entry `holdfast/testing`: what tests of durable code need.
export { virtualClock, type VirtualClock } from '../base/virtual-clock.ts'
export type { WorkflowStore } from '../store/workflow-store.ts'
export type {
  Expectation,
  RowCounts,
  StoreUnderTest,
  TestRunner,
} from './contract/store-under-test.ts'
export { describeWorkflowStore } from './workflow-store-contract.ts'
