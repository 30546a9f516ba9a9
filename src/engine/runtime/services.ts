// The wiring of a runtime: its services, and what each of them works with. They are built in the order
// in which they need each other. Where two need each other, the later one is handed to the earlier one
// by `reportTo` or `connect`. `InstanceScheduler`, `WorkFinder` and `ActivityPool` build services of
// their own, in their constructors.

import type { Logger } from '../../base/log.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { OnHang } from '../../store/lease-keeper.ts'
import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { IidPool } from '../core/iid-pool.ts'
import type { LimitGuard } from '../core/limits.ts'
import type { Values } from '../core/values.ts'
import { registrationOf, WorkflowNumbers } from '../core/workflow-numbers.ts'
import type { Registry } from '../define/registry.ts'
import { serves } from '../define/served-tags.ts'
import { ActivityPool } from './activities/activity-pool.ts'
import type { IssuedCommand } from '../replay/execution.ts'
import type { TaskPolicy } from './activities/task-claimer.ts'
import { type Observers, type RuntimeCore, runtimeCore } from './core/runtime-core.ts'
import { HintListener } from './discover/hint-listener.ts'
import { LoopHeartbeat } from '../../watchdog/loop-heartbeat.ts'
import { Ownership } from './discover/ownership.ts'
import { Registration } from './discover/registration.ts'
import { ScheduleFirer } from './discover/schedule-firer.ts'
import { Ticker } from './discover/ticker.ts'
import { WorkFinder } from './discover/work-finder.ts'
import { REST_MS } from '../instance/next-after-turn.ts'
import { Capacity } from './schedule/capacity.ts'
import { Committer } from './schedule/committer.ts'
import { InstanceScheduler } from './schedule/instance-scheduler.ts'
import { LiveInstances } from './schedule/live-instances.ts'
import { RemoteCommands } from './schedule/remote-commands.ts'
import { Starts } from './schedule/starts.ts'

/** What a runtime is built from. */
export interface RuntimeSetup extends Partial<Observers> {
  readonly store: WorkflowStore
  readonly registry: Registry
  readonly values: Values
  readonly clock: Clock
  readonly log: Logger
  /** How long to wait for a server that is starting. Without it, there is no wait. */
  readonly connectTimeoutMs?: number
  readonly random: () => number
  /** Creates the seeds of executions. @default random ones */
  readonly newUuid?: () => string
  readonly leaseMs: number
  /** How long the event loop may be blocked before the lease of its runtime is given up. */
  readonly giveUpMs: number
  /** What happens to the process then. */
  readonly onHang: OnHang
  /** How long instances are kept whose workflow does not say so; forever without it. */
  readonly retentionMs?: number | undefined
  /** How many instances are worked on at once. */
  readonly maxInstances: number
  /** How many activities run at once. */
  readonly maxActivities: number
  /** Which activities it runs. */
  readonly tasks: TaskPolicy
  readonly guard: LimitGuard
  /** Whether calls that cannot be replayed suspend the instance whose code makes them. */
  readonly guarded: boolean
  /** Whether a forgotten `await` fails the workflow, rather than being warned of. */
  readonly failsForgotten: boolean
  /**
   * How long an instance that waits for a message, a child or a task stays owned.
   *
   * @default 5000
   */
  readonly restMs?: number
  /** Whether each committed turn is replayed from its history, to find code that is not deterministic. */
  readonly replaysTurns?: boolean
  /** Learns what a turn of an instance issued, before it is committed. */
  readonly onTurn?: (iid: Iid, issued: readonly IssuedCommand[]) => void
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
  readonly schedules: ScheduleFirer
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
    workflows: registrationOf(registry, setup.retentionMs),
    info: setup.info,
    serves: { ...setup.tasks.served, activities: registry.activityNames },
  })
  // When the lease is renewed, the store notices that its clock was set back, and corrects it.
  time.onStepBack = () => registration.lease.request()
  const committer = new Committer(core, registration)
  const instances = new LiveInstances()
  const capacity = new Capacity(core, committer, instances, setup.maxInstances)
  const finder = new WorkFinder(core, registration, capacity, instances)
  committer.reportTo(finder)
  const scheduler = new InstanceScheduler(
    core,
    { registration, committer, numbers, instances, capacity, finder },
    {
      context: {
        values,
        log,
        guard: setup.guard,
        registry,
        serves: (tag) => serves(setup.tasks.served, tag),
      },
      heartbeat: heartbeat.shared,
      failsForgotten: setup.failsForgotten,
      restMs: setup.restMs ?? REST_MS,
      replaysTurns: setup.replaysTurns ?? false,
      onTurn: setup.onTurn,
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
  const schedules = new ScheduleFirer(core, registration, finder, iids)
  const ticker = new Ticker(
    core,
    registration,
    finder,
    ownership,
    scheduler.commands,
    activities,
    schedules,
  )
  const listener = new HintListener(
    core,
    registration,
    finder,
    ticker,
    ownership,
    activities,
    schedules,
  )
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
    schedules,
  }
}
