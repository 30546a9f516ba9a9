import { expect, test } from 'vitest'

import { memoryLog } from '../../../test/support/workers.ts'
import { virtualClock } from '../../base/virtual-clock.ts'
import type { Loaded } from '../../store/claims.ts'
import type { Copy } from './copy.ts'
import { KnownRows } from './known-rows.ts'
import { type MailHost, MailReader } from './mail-reader.ts'

/** Reads the mail of instance 1 while `current` takes the place of `asked`; answers who gets it. */
async function recipientOf(asked: Copy, current: Copy | undefined): Promise<Copy | undefined> {
  const clock = virtualClock()
  let copy: Copy | undefined = asked
  let recipient: Copy | undefined
  const host: MailHost = {
    clock,
    log: memoryLog(),
    copy: () => copy,
    async load() {
      copy = current
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

function copyWith(known: KnownRows): Copy {
  return { iid: 1, turn: 1, known } as Copy
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
