import { expect, test } from 'vitest'

import { memoryLog } from '../../../../test/support/workers.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Loaded } from '../../../store/claims.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { KnownRows } from '../../instance/known-rows.ts'
import { type MailHost, MailReader } from './mail-reader.ts'

/** Reads the mail of instance 1 while `current` takes the place of `asked`; answers who gets it. */
async function recipientOf(
  asked: LiveInstance,
  current: LiveInstance | undefined,
): Promise<LiveInstance | undefined> {
  const clock = virtualClock()
  let instance: LiveInstance | undefined = asked
  let recipient: LiveInstance | undefined
  const host: MailHost = {
    clock,
    log: memoryLog(),
    instance: () => instance,
    async load() {
      instance = current
      return [{ iid: 1 } as Loaded]
    },
    deliver(to) {
      recipient = to
    },
    claim: () => {},
  }
  const reader = new MailReader(host)
  await using _ = reader.work()
  reader.look([1])
  await clock.advance(1)
  return recipient
}

function copyWith(known: KnownRows): LiveInstance {
  return { iid: 1, turn: 1, known } as LiveInstance
}

test('mail that was read for one execution goes to the next, which has begun meanwhile', async () => {
  const known = new KnownRows()
  const [asked, next] = [copyWith(known), copyWith(known)]

  expect(await recipientOf(asked, next)).toBe(next)
})

test('it goes to no copy that was claimed anew, which may know rows that this has not seen', async () => {
  const [asked, other] = [copyWith(new KnownRows()), copyWith(new KnownRows())]

  expect(await recipientOf(asked, other)).toBe(asked)
  expect(await recipientOf(asked, undefined)).toBe(asked)
})
