// The wiring of a runtime: its services, and what each of them works with. They are built in the order
// in which they need each other. Where two need each other, the later one is handed to the earlier one
// by `reportTo` or `connect`. `InstanceScheduler`, `WorkFinder` and `ActivityPool` build services of
// their own, in their constructors.

import type { Logger } from '../../base/log.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { OnHang } from '../../store/lease.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { WorkflowLimits } from '../context/frame.ts'
import { IidPool } from '../core/iid-pool.ts'
import type { Values } from '../core/values.ts'
import { registrationOf, WorkflowNumbers } from '../core/workflow-numbers.ts'
import type { Registry } from '../define/registry.ts'
import { serves } from '../define/served-tags.ts'
import { ActivityPool } from './activities/activity-pool.ts'
import type { TaskPolicy } from './activities/task-claimer.ts'
import { type RuntimeCore, runtimeCore } from './core/runtime-core.ts'
import { HintListener } from './discover/hint-listener.ts'
import { LoopHeartbeat } from './discover/loop-heartbeat.ts'
import { Ownership } from './discover/ownership.ts'
import { Registration } from './discover/registration.ts'
import { Ticker } from './discover/ticker.ts'
import { WorkFinder } from './discover/work-finder.ts'
import { Capacity } from './schedule/capacity.ts'
import { Committer } from './schedule/committer.ts'
import { InstanceScheduler } from './schedule/instance-scheduler.ts'
import { LiveInstances } from './schedule/live-instances.ts'
import { RemoteCommands } from './schedule/remote-commands.ts'
import { Starts } from './schedule/starts.ts'

/** What a runtime is made of. */
export interface RuntimeSetup {
  readonly store: WorkflowStore
  readonly registry: Registry
  readonly values: Values
  readonly clock: Clock
  readonly log: Logger
  /** How long to wait for a server that is starting. Without it, there is no wait. */
  readonly connectTimeoutMs?: number
  readonly random: () => number
  readonly leaseMs: number
  /** How long the event loop may be blocked before its runtime is given up. */
  readonly giveUpMs: number
  /** What happens to the process then. */
  readonly onHang: OnHang
  /** How many instances are worked on at once. */
  readonly maxInstances: number
  /** How many activities run at once. */
  readonly maxActivities: number
  /** Which activities it runs. */
  readonly tasks: TaskPolicy
  readonly limits: WorkflowLimits
  /** Whether calls that cannot be repeated fail inside a workflow. */
  readonly guarded: boolean
  /** Whether a forgotten `await` fails the workflow, rather than being warned of. */
  readonly failsForgotten: boolean
  /** For people: host, process id, version of the package. */
  readonly info: string
}

/** The services of a runtime, as far as the runtime itself calls them. */
export interface RuntimeServices {
  readonly core: RuntimeCore
  /** Shows a watching thread that the event loop is alive. */
  readonly heartbeat: LoopHeartbeat
  readonly iids: IidPool
  readonly registration: Registration
  readonly committer: Committer
  readonly finder: WorkFinder
  readonly scheduler: InstanceScheduler
  readonly starts: Starts
  readonly remote: RemoteCommands
  readonly activities: ActivityPool
  readonly ticker: Ticker
  readonly listener: HintListener
}

/** Builds the services of a runtime. None of them does anything before its loop is started. */
export function buildServices(setup: RuntimeSetup, closing: AbortSignal): RuntimeServices {
  const core = runtimeCore(setup, closing)
  const { store, clock, time, log, values, registry } = core
  const heartbeat = new LoopHeartbeat(setup)
  const iids = new IidPool(store)
  const numbers = new WorkflowNumbers({ store, clock, isClosing: () => core.closing.aborted })
  const registration = new Registration(core, heartbeat, numbers, {
    leaseMs: setup.leaseMs,
    workflows: registrationOf(registry),
    info: setup.info,
    serves: { ...setup.tasks.served, activities: registry.activityNames },
  })
  // To renew the lease makes the store notice that its clock was set back, and correct it.
  time.onStepBack = () => registration.lease.request()
  const committer = new Committer(core, registration)
  const instances = new LiveInstances()
  const capacity = new Capacity(core, committer, instances, setup.maxInstances)
  const finder = new WorkFinder(core, registration, capacity, instances)
  const scheduler = new InstanceScheduler(
    core,
    { registration, committer, numbers, instances, capacity, finder },
    {
      context: {
        values,
        log,
        limits: setup.limits,
        registry,
        serves: (tag) => serves(setup.tasks.served, tag),
      },
      heartbeat: heartbeat.shared,
      failsForgotten: setup.failsForgotten,
    },
  )
  const starts = new Starts(core, {
    registration,
    iids,
    numbers,
    committer,
    scheduler,
    capacity,
    finder,
    isKilled: setup.onHang === 'kill',
  })
  const remote = new RemoteCommands(core, {
    iids,
    starts,
    scheduler,
    registration,
    hints: finder,
  })
  const activities = new ActivityPool(
    core,
    registration,
    finder,
    heartbeat.shared,
    setup.tasks,
    setup.maxActivities,
  )
  activities.reportTo(scheduler)
  scheduler.connect(activities, remote)
  const ownership = new Ownership(core, {
    registration,
    scheduler,
    committer,
    starts,
    iids,
    activities,
    claimer: finder.claimer,
  })
  const ticker = new Ticker(core, registration, finder, ownership, scheduler.commands, activities)
  const listener = new HintListener(core, registration, finder, ticker, ownership, activities)
  finder.reportTo(ownership, scheduler)
  registration.reportTo(ownership, listener)
  return {
    core,
    heartbeat,
    iids,
    registration,
    committer,
    finder,
    scheduler,
    starts,
    remote,
    activities,
    ticker,
    listener,
  }
}
