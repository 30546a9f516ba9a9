import { expect, test } from 'vitest'

import { STARTED, testInstance, values } from '../../../../test/support/executions.ts'
import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Loaded } from '../../../store/claims.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { Execution } from '../../replay/execution.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import type { Claimer } from './claimer.ts'
import type { HintExchange } from './hint-exchange.ts'
import { MailReader } from './mail-reader.ts'

/** Reads the mail of instance 1 while `current` replaces `asked`; returns which of them gets it. */
async function recipientOf(
  asked: LiveInstance,
  current: LiveInstance | undefined,
): Promise<LiveInstance | undefined> {
  const clock = virtualClock()
  let instance: LiveInstance | undefined = asked
  let recipient: LiveInstance | undefined
  const store = {
    async load() {
      instance = current
      return [{ iid: 1 } as Loaded]
    },
  }
  const reader = new MailReader(
    testCore(clock, { store }),
    partOf<LiveInstances>({ get: () => instance }),
    partOf<Claimer>({ hint() {} }),
    partOf<HintExchange>({ found() {} }),
  )
  reader.reportTo({
    deliver(to) {
      recipient = to
    },
  })
  await using _ = reader.work()
  reader.look([1])
  await clock.advance(1)
  return recipient
}

/** An instance that was read from the store. */
function loadedInstance(): LiveInstance {
  return testInstance('i', [{ at: 1, events: [STARTED] }])
}

test('mail that was read for one execution goes to the next one if that has begun meanwhile', async () => {
  const asked = loadedInstance()
  const { definition, input, started } = asked
  const row = { execution: 2, turn: 1, at: 2, first: 1, count: 1, events: '' }
  const run = new Execution('the next execution', values)
  const next = asked.continued({ definition, run, input, started }, row, [])

  expect(await recipientOf(asked, next)).toBe(next)
})

test('mail does not go to an instance that was claimed again and may know other rows', async () => {
  const [asked, other] = [loadedInstance(), loadedInstance()]

  expect(await recipientOf(asked, other)).toBe(asked)
  expect(await recipientOf(asked, undefined)).toBe(asked)
})
