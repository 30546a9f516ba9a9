import { describe, expect, test } from 'vitest'
import { type Letter, lettersFor, type PlainNews, readPayload, trialLetter } from './payload.ts'

const EVERYWHERE = { hint: { kind: 'work', iids: [], at: 0 }, from: '' }

describe('what is written can be read', () => {
  test.each<[PlainNews, string, object]>([
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
  ])('%j', (news, to, hint) => {
    const letters = lettersFor(news, 'me')

    expect(letters.map((letter) => letter.to)).toEqual([to])
    expect(readPayload(letters[0]!.payload)).toEqual({ hint, from: 'me' })
  })

  test('the trial of a listener', () => {
    const { to, payload } = trialLetter('me', 'abc')

    expect(to).toBe('me')
    expect(readPayload(payload).hint).toEqual({ kind: 'trial', token: 'abc' })
  })
})

describe('much to tell becomes several letters, none of them too long', () => {
  const most = Number.MAX_SAFE_INTEGER
  const iids = Array.from({ length: 10_000 }, (_, i) => most - i)
  const tasks = iids.map((iid) => ({ iid, execution: 2 ** 31 - 1, command: 2 ** 31 - 1 }))

  test('instances', () => {
    const letters = lettersFor({ kind: 'waiting', iids }, '0123456789abcdef')

    expect(letters.flatMap((letter) => listIn(letter, 'iids'))).toEqual(iids)
    expect(longest(letters)).toBeLessThan(7_900)
  })

  test('tasks, whose three numbers stay together', () => {
    const letters = lettersFor({ kind: 'dropped', tasks }, '0123456789abcdef')

    expect(letters.flatMap((letter) => listIn(letter, 'tasks'))).toEqual(tasks)
    expect(longest(letters)).toBeLessThan(7_900)
  })

  test('nothing to tell is told to nobody', () => {
    expect(lettersFor({ kind: 'changed', to: 'you', iids: [] }, 'me')).toEqual([])
  })
})

describe('what cannot be read may mean anything', () => {
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

describe('a moment that is none means now', () => {
  test.each(['0', '-5', 'null', '"soon"'])('%s', (at) => {
    expect(readPayload(`{"kind":"work","iids":[1],"at":${at}}`).hint).toEqual({
      kind: 'work',
      iids: [1],
      at: 0,
    })
  })
})

test('what the server writes can be read', () => {
  expect(readPayload('{"kind":"tasks","activities":["ship", "a \\"b\\""]}').hint).toEqual({
    kind: 'tasks',
    activities: ['ship', 'a "b"'],
    at: 0,
  })
})

function listIn({ payload }: Letter, name: 'iids' | 'tasks'): readonly unknown[] {
  return (readPayload(payload).hint as unknown as Record<string, readonly unknown[]>)[name]!
}

function longest(letters: readonly Letter[]): number {
  return Math.max(...letters.map(({ payload }) => Buffer.byteLength(payload)))
}
