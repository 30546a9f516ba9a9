import { expect, test } from 'vitest'

import type { InboxRow } from '../../store/inbox.ts'
import { Execution } from '../replay/execution.ts'
import { valuesOf } from '../core/values.ts'
import { Inbox } from './inbox.ts'

/** A message of one channel, without its text when it is too far behind. */
function row(id: number, payload: string | null): InboxRow {
  const rest = { execution: 0, command: 0, name: 'notes', replyTo: '', parked: false }
  return { id, kind: 'message', payload, ...rest }
}

function waitingIn(inbox: Inbox): readonly [number, string | undefined][] {
  return inbox.messages.map(({ inboxId, value }) => [inboxId, value])
}

test('a message that is seen late is put before those that are read after it', () => {
  const inbox = new Inbox(new Execution('i', valuesOf(undefined)), 1)
  inbox.receive([row(2, 'b'), row(4, null), row(5, null)])

  // Senders that write at the same time: the lower number was seen last.
  inbox.receive([row(1, 'a'), row(2, 'b'), row(3, null), row(4, null), row(5, null)])
  expect(waitingIn(inbox)).toEqual([
    [2, 'b'],
    [1, 'a'],
    [3, undefined],
    [4, undefined],
    [5, undefined],
  ])

  inbox.receive([row(3, 'c'), row(4, 'd'), row(5, null)])
  expect(waitingIn(inbox).map(([, value]) => value)).toEqual(['b', 'a', 'c', 'd', undefined])
})
