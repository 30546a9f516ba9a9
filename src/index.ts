// The public entry `holdfast`.
export type { Codec } from './base/codec.ts'
export type { Duration } from './base/duration.ts'
export {
  CancelledError,
  failure,
  type Failure,
  type FailureClass,
  TimeoutError,
} from './base/errors.ts'
export type { Log, Logger } from './base/log.ts'
