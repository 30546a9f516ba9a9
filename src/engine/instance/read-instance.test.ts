import { expect, test } from 'vitest'

import type { InboxRow } from '../../store/inbox.ts'
import { type LiveInstance, newLiveInstance } from './live-instance.ts'
import { takeInbox } from './read-instance.ts'

/** A message of one channel, without its text when it is too far behind. */
function row(id: number, payload: string | null): InboxRow {
  const rest = { execution: 0, command: 0, name: 'notes', replyTo: '', parked: false }
  return { id, kind: 'message', payload, ...rest }
}

function waitingIn(instance: LiveInstance): readonly [number, string | undefined][] {
  return instance.mailbox.get('notes')!.map(({ inboxId, value }) => [inboxId, value])
}

test('a message that is seen late is put before those that are read after it', () => {
  const instance = newLiveInstance({ iid: 1, started: {}, input: '' } as Parameters<
    typeof newLiveInstance
  >[0])
  takeInbox(instance, [row(2, 'b'), row(4, null), row(5, null)])

  // Senders that write at the same time: the lower number was seen last.
  takeInbox(instance, [row(1, 'a'), row(2, 'b'), row(3, null), row(4, null), row(5, null)])
  expect(waitingIn(instance)).toEqual([
    [2, 'b'],
    [1, 'a'],
    [3, undefined],
    [4, undefined],
    [5, undefined],
  ])

  takeInbox(instance, [row(3, 'c'), row(4, 'd'), row(5, null)])
  expect(waitingIn(instance).map(([, value]) => value)).toEqual(['b', 'a', 'c', 'd', undefined])
})
