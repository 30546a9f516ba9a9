// The public entry `holdfast/workers`: supervised loops and what they wait on.
export type { Backoff } from '../base/time/backoff.ts'
export type { Clock, Timer } from '../base/time/clock.ts'
export { systemClock } from '../base/time/clock.ts'
export type { Duration } from '../base/time/duration.ts'
export type { Log, Logger } from '../base/log.ts'
export type { Metrics } from '../base/metrics.ts'
export { notify, type Notify } from '../base/sync/notify.ts'
export { semaphore, type Semaphore } from '../base/sync/semaphore.ts'
export { type Directive, idle, mapPayload, proceed, sleep, stripPayload } from './directive.ts'
export type { Limit } from './limit.ts'
export type { Listener } from './listener.ts'
export type { Pacing } from './pacing.ts'
export { supervise, type Supervisor, type SupervisorOptions } from './supervisor.ts'
export {
  type Health,
  type PassContext,
  type StopOptions,
  type StopReport,
  worker,
  type Worker,
} from './worker.ts'
export type { WorkerOptions } from './worker-options.ts'
