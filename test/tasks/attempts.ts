// Attempts without a store, on virtual time: for tests of what runs them.

import type { Clock } from '../../src/base/time/clock.ts'
import { resolveRetry } from '../../src/engine/define/retry.ts'
import type { ActivityContext } from '../../src/engine/define/activity-context.ts'
import {
  ActivityCall,
  type ActivityCallSpec,
  type CallHost,
} from '../../src/engine/runtime/activities/activity-call.ts'
import type { AttemptHost } from '../../src/engine/runtime/activities/run-attempt.ts'
import type { Performer } from '../../src/engine/runtime/activities/slots.ts'
import { SharedLoopHeartbeat } from '../../src/store/lease.ts'
import type { TaskKey } from '../../src/store/tasks.ts'
import { values } from '../support/executions.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'

/** What attempts need, on a clock; `given` is what is not as usual. */
export function attemptHost(
  clock: Clock,
  given: Partial<AttemptHost> = {},
): AttemptHost & { readonly log: MemoryLog } {
  return {
    clock,
    values,
    heartbeat: new SharedLoopHeartbeat(),
    random: () => 0,
    now: () => clock.now(),
    storeKind: 'test',
    client: () => {
      throw new Error('there is none')
    },
    beat: () => {},
    transact: () => Promise.reject(new Error('there are none')),
    ...given,
    log: memoryLog(),
  }
}

const RETRY = resolveRetry('test', { jitter: false })

/** A call of code written in place, unless told otherwise. */
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

/** An attempt of nobody in particular. */
export class TestCall extends ActivityCall {
  wanted = true
  readonly instanceId = 'i'
  readonly workflow = 'test'
  readonly idempotencyKey = 'key'
  readonly lastHeartbeat = undefined
  readonly token = 1
  readonly key: TaskKey

  constructor(host: CallHost, given: Partial<ActivityCallSpec> = {}, attempt = 1, command = 1) {
    super(host, called(given), attempt)
    this.key = { iid: 1, execution: 1, command }
  }
}

/** An attempt of some code. */
export function callOf(
  host: CallHost,
  step: (ctx: ActivityContext) => unknown,
  given: Partial<ActivityCallSpec> = {},
  attempt = 1,
): TestCall {
  return new TestCall(host, { ...given, step }, attempt)
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
