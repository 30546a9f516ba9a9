// Attempts without a store, on virtual time: for tests of what runs them.

import type { Clock } from '../../src/base/time/clock.ts'
import { resolveRetry } from '../../src/engine/define/retry.ts'
import type { ActivityContext } from '../../src/engine/define/activity-context.ts'
import {
  ActivityCall,
  type ActivityCallSpec,
  type CallServices,
} from '../../src/engine/runtime/activities/activity-call.ts'
import { AttemptRunner } from '../../src/engine/runtime/activities/attempt-runner.ts'
import type { Heartbeats } from '../../src/engine/runtime/activities/heartbeats.ts'
import type { Performer } from '../../src/engine/runtime/activities/slots.ts'
import type { RuntimeCore } from '../../src/engine/runtime/core/runtime-core.ts'
import type { Registration } from '../../src/engine/runtime/discover/registration.ts'
import { SharedLoopHeartbeat } from '../../src/watchdog/shared-loop-heartbeat.ts'
import type { TaskKey } from '../../src/store/tasks.ts'
import { partOf, testCore } from '../support/runtime-core.ts'

/** By default, heartbeats that are not read. */
export function testBeats(given: Partial<Heartbeats> = {}): Heartbeats {
  return partOf<Heartbeats>({
    beat() {},
    over: () => undefined,
    becomesTask: () => undefined,
    becoming: () => [],
    ...given,
  })
}

/** Runs attempts without a store. */
export function testAttempts(
  core: RuntimeCore,
  beats = testBeats(),
  registration = partOf<Registration>({ number: 5 }),
): AttemptRunner {
  return new AttemptRunner(core, registration, new SharedLoopHeartbeat(), beats)
}

/** What calls share, where only the clock matters. */
export function testServices(clock: Clock): CallServices {
  return testAttempts(testCore(clock))
}

const RETRY = resolveRetry('test', { jitter: false })

/** By default, a call of code written in place. */
export function called(given: Partial<ActivityCallSpec> = {}): ActivityCallSpec {
  return {
    name: 'work',
    input: undefined,
    definition: undefined,
    step: () => undefined,
    retry: RETRY,
    timeoutMs: undefined,
    heartbeatTimeoutMs: undefined,
    tag: '',
    session: '',
    deadline: Infinity,
    ...given,
  }
}

/** An attempt of no particular runtime. */
export class TestCall extends ActivityCall {
  wanted = true
  readonly instanceId = 'i'
  readonly workflow = 'test'
  readonly idempotencyKey = 'key'
  readonly lastHeartbeat = undefined
  readonly token = 1
  readonly origin = undefined
  readonly key: TaskKey

  constructor(
    services: CallServices,
    given: Partial<ActivityCallSpec> = {},
    attempt = 1,
    command = 1,
  ) {
    super(services, called(given), attempt)
    this.key = { iid: 1, execution: 1, command }
  }
}

/** An attempt of some code. */
export function callOf(
  services: CallServices,
  step: (ctx: ActivityContext) => unknown,
  given: Partial<ActivityCallSpec> = {},
  attempt = 1,
): TestCall {
  return new TestCall(services, { ...given, step }, attempt)
}

/** Performs calls until they are ended by hand. */
export class ManualPerformer implements Performer {
  readonly begun: ActivityCall[] = []
  readonly #ends = new Map<ActivityCall, () => void>()

  perform(call: ActivityCall): Promise<void> {
    this.begun.push(call)
    return new Promise((resolve) => this.#ends.set(call, resolve))
  }

  end(call: ActivityCall): void {
    this.#ends.get(call)!()
  }
}
