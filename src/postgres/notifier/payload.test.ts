import { describe, expect, test } from 'vitest'
import {
  type Notification,
  notificationsFor,
  type DirectAnnouncement,
  readPayload,
  testNotification,
} from './payload.ts'

const EVERYWHERE = { hint: { kind: 'work', iids: [], at: 0 }, from: '' }

describe('written payloads can be read', () => {
  test.each<[DirectAnnouncement, string, object]>([
    [{ kind: 'freed' }, 'all', { kind: 'work', iids: [], at: 0 }],
    [{ kind: 'joined' }, 'all', { kind: 'joined' }],
    [{ kind: 'recalled', iids: [1, 2] }, 'all', { kind: 'recalled', iids: [1, 2] }],
    [{ kind: 'waiting', iids: [3] }, 'all', { kind: 'waiting', iids: [3], to: 'me' }],
    [{ kind: 'changed', to: 'you', iids: [4] }, 'you', { kind: 'changed', iids: [4] }],
    [
      { kind: 'dropped', tasks: [{ iid: 5, execution: 1, command: 2 }] },
      'all',
      { kind: 'dropped', tasks: [{ iid: 5, execution: 1, command: 2 }] },
    ],
  ])('%j', (announcement, to, hint) => {
    const notifications = notificationsFor(announcement, 'me')

    expect(notifications.map((one) => one.to)).toEqual([to])
    expect(readPayload(notifications[0]!.payload)).toEqual({ hint, from: 'me' })
  })

  test('the trial of a listener', () => {
    const { to, payload } = testNotification('me', 'abc')

    expect(to).toBe('me')
    expect(readPayload(payload).hint).toEqual({ kind: 'trial', token: 'abc' })
  })
})

describe('a long announcement becomes several notifications, none of them too long', () => {
  const most = Number.MAX_SAFE_INTEGER
  const iids = Array.from({ length: 10_000 }, (_, i) => most - i)
  const tasks = iids.map((iid) => ({ iid, execution: 2 ** 31 - 1, command: 2 ** 31 - 1 }))

  test('instances', () => {
    const notifications = notificationsFor({ kind: 'waiting', iids }, '0123456789abcdef')

    expect(notifications.flatMap((one) => listIn(one, 'iids'))).toEqual(iids)
    expect(longest(notifications)).toBeLessThan(7_900)
  })

  test('tasks, whose three numbers stay together', () => {
    const notifications = notificationsFor({ kind: 'dropped', tasks }, '0123456789abcdef')

    expect(notifications.flatMap((one) => listIn(one, 'tasks'))).toEqual(tasks)
    expect(longest(notifications)).toBeLessThan(7_900)
  })

  test('an empty announcement becomes no notification', () => {
    expect(notificationsFor({ kind: 'changed', to: 'you', iids: [] }, 'me')).toEqual([])
  })
})

describe('unreadable payloads count as a hint about everything', () => {
  test.each([
    '',
    'x',
    '7',
    'null',
    '[]',
    '{}',
    '{"kind":"brand new"}',
    '{"kind":"work"}',
    '{"kind":"work","iids":["1"],"at":0}',
    '{"kind":"waiting","iids":[1]}',
    '{"kind":"tasks","activities":[1]}',
    '{"kind":"trial"}',
  ])('%s', (payload) => {
    expect(readPayload(payload)).toEqual(EVERYWHERE)
  })
})

describe('an invalid moment means now', () => {
  test.each(['0', '-5', 'null', '"soon"'])('%s', (at) => {
    expect(readPayload(`{"kind":"work","iids":[1],"at":${at}}`).hint).toEqual({
      kind: 'work',
      iids: [1],
      at: 0,
    })
  })
})

test('payloads written by the server can be read', () => {
  expect(readPayload('{"kind":"tasks","activities":["ship", "a \\"b\\""]}').hint).toEqual({
    kind: 'tasks',
    activities: ['ship', 'a "b"'],
    at: 0,
  })
})

function listIn({ payload }: Notification, name: 'iids' | 'tasks'): readonly unknown[] {
  return (readPayload(payload).hint as unknown as Record<string, readonly unknown[]>)[name]!
}

function longest(notifications: readonly Notification[]): number {
  return Math.max(...notifications.map(({ payload }) => Buffer.byteLength(payload)))
}
