import type { Logger } from '../../../base/log.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { Alarms } from '../../core/alarms.ts'
import type { EngineMeter } from '../../core/engine-meter.ts'
import type { EngineTracer } from '../../core/engine-tracer.ts'
import { StoreClock } from '../../core/store-clock.ts'
import type { Values } from '../../core/values.ts'
import type { Registry } from '../../define/registry.ts'

/**
 * What every service of a runtime needs: the store, the two clocks, the log, and the user's code.
 *
 * Built once, before the services, and never changed. What only some services need is a constructor
 * argument of those, not a member of this.
 */
export interface RuntimeCore {
  readonly store: WorkflowStore
  /** The clock of the process: measures how long things take. */
  readonly clock: Clock
  /** The clock of the store, estimated between answers: timers and deadlines are due by it. */
  readonly time: StoreClock
  /** Timers by the store's clock. */
  readonly alarms: Alarms
  readonly log: Logger
  /** Encodes and decodes values and errors. */
  readonly values: Values
  /** The workflows and activities whose code is in this process. */
  readonly registry: Registry
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number
  /** Creates the seeds of executions. @default random ones */
  readonly newUuid?: (() => string) | undefined
  /** Aborted when the runtime begins to close: nothing new starts from then on. */
  readonly closing: AbortSignal
  /** Measures what happens; `undefined` without a metrics sink. */
  readonly meter: EngineMeter | undefined
  /** Reports spans; `undefined` without tracing. */
  readonly tracer: EngineTracer | undefined
}

/** What sees what happens in a runtime. */
export type Observers = Pick<RuntimeCore, 'meter' | 'tracer'>

/** Builds the core of a runtime: its store time and its alarms begin here. */
export function runtimeCore(
  setup: Omit<RuntimeCore, 'time' | 'alarms' | 'closing' | 'meter' | 'tracer'> & Partial<Observers>,
  closing: AbortSignal,
): RuntimeCore {
  const { store, clock, log, values, registry, random, newUuid, meter, tracer } = setup
  const time = new StoreClock(clock)
  const alarms = new Alarms(clock, time)
  time.onStepForward = () => alarms.rearm()
  const shared = { store, clock, time, alarms, log, values, registry, random, newUuid }
  return { ...shared, closing, meter, tracer }
}
