import { describe, expect, test } from 'vitest'

import { deferred } from '../../../../test/support/engine.ts'
import { STARTED, testInstance, workflow } from '../../../../test/support/executions.ts'
import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { StartOutcome } from '../../core/start-item.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { IssuedCommand } from '../../replay/execution.ts'
import type { Eviction } from './eviction.ts'
import type { InstanceScheduler } from './instance-scheduler.ts'
import { type RemoteCommand, RemoteCommands } from './remote-commands.ts'
import type { Starts } from './starts.ts'

const other = workflow('other', async () => {})

/** `ctx.start(other)`, as command 1. */
const START: IssuedCommand = {
  event: {
    type: 'start',
    command: 1,
    workflow: 'other',
    version: '1',
    id: 'o',
    input: 'null',
    options: '{}',
  },
  work: {
    definition: other,
    onClose: 'independent',
    onConflict: 'error',
    delayMs: 0,
    labels: '{}',
    message: undefined,
  },
  stack: undefined,
}

/** An instance whose start of another one is under way, until `refuse` is called. */
async function openStart() {
  const superseded: LiveInstance[] = []
  const answer = deferred<StartOutcome>()
  const asked = deferred()
  const core = testCore(virtualClock(), {
    store: { find: async () => [undefined], look: async () => [undefined] },
  })
  const eviction = partOf<Eviction>({ supersede: (instance) => void superseded.push(instance) })
  const remote = new RemoteCommands(core, {
    iids: partOf({}),
    starts: partOf<Starts>({ start: () => (asked.resolve(), answer.promise) }),
    scheduler: partOf<InstanceScheduler>({ eviction }),
    registration: { rollBacks: 0 },
    hints: { hint: () => {} },
  })
  const instance = testInstance('i', [{ at: 1, events: [STARTED] }])
  remote.start(instance, START)
  const { over } = instance.calls.attempt(1) as RemoteCommand
  await asked.promise
  const refuse = (): Promise<void> => {
    answer.resolve({ iid: 7, verdict: 'refused' })
    return over
  }
  return { instance, superseded, refuse }
}

describe('a start that the store refuses', () => {
  test('shows that another runtime owns the instance', async () => {
    const { instance, superseded, refuse } = await openStart()

    await refuse()

    expect(superseded).toEqual([instance])
    expect(instance.calls.isIdle).toBe(true)
  })

  test('shows nothing if its command was dropped: the instance may be released', async () => {
    const { instance, superseded, refuse } = await openStart()

    instance.calls.abort(1, 'its result is no longer needed')
    instance.released()
    await refuse()

    expect(superseded).toEqual([])
    expect(instance.phase.is).toBe('released')
  })
})
