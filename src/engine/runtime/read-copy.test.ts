import { expect, test } from 'vitest'

import type { InboxRow } from '../../store/inbox.ts'
import { type Copy, newCopy } from './copy.ts'
import { takeInbox } from './read-copy.ts'

/** A message of one channel, without its text when it is too far behind. */
function row(id: number, payload: string | null): InboxRow {
  const rest = { execution: 0, command: 0, name: 'notes', replyTo: '', parked: false }
  return { id, kind: 'message', payload, ...rest }
}

function waitingIn(copy: Copy): readonly [number, string | undefined][] {
  return copy.mailbox.get('notes')!.map(({ inboxId, value }) => [inboxId, value])
}

test('a message that is seen late is put before those that are read after it', () => {
  const copy = newCopy({ iid: 1, started: {}, input: '' } as Parameters<typeof newCopy>[0])
  takeInbox(copy, [row(2, 'b'), row(4, null), row(5, null)])

  // Senders that write at the same time: the lower number was seen last.
  takeInbox(copy, [row(1, 'a'), row(2, 'b'), row(3, null), row(4, null), row(5, null)])
  expect(waitingIn(copy)).toEqual([
    [2, 'b'],
    [1, 'a'],
    [3, undefined],
    [4, undefined],
    [5, undefined],
  ])

  takeInbox(copy, [row(3, 'c'), row(4, 'd'), row(5, null)])
  expect(waitingIn(copy).map(([, value]) => value)).toEqual(['b', 'a', 'c', 'd', undefined])
})
