// What is stored and what leaves many at a time, where one of the many is not like the others.

import { expect, test } from 'vitest'
import { dataOf, groupOf, openUser } from './store-support.ts'

/** More than goes into two statements. */
const MANY = 100

const texts = Array.from({ length: MANY }, (_, i) => `text ${i}`)
const LARGE = 'x'.repeat(5_000)

test('groups of all kinds in one batch are stored as each of them alone', async () => {
  const user = await openUser()
  const bytes = new Uint8Array([1, 2, 3])
  await user.apply({
    pushes: [
      groupOf([...texts, bytes, new Uint8Array(), '', LARGE]),
      groupOf(texts, { priority: 7 }),
      groupOf(texts, { delayMs: 60_000 }),
      groupOf(['first', 'second'], { key: 'k' }),
      groupOf(texts, { ttlMs: 1_000 }),
    ],
  })

  expect(await user.counts()).toEqual({
    ready: MANY * 3 + 5,
    delayed: MANY + 1,
    inFlight: 0,
    dead: 0,
  })
  expect(await user.store.look()).toMatchObject({ nextDueAt: expect.any(Number) })
  expect(dataOf(await user.take(MANY))).toEqual(texts)
  const rest = await user.take()
  expect(dataOf(rest).slice(0, MANY + 5)).toEqual([
    ...texts,
    bytes,
    new Uint8Array(),
    '',
    LARGE,
    'first',
  ])
  const ids = rest.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(rest.every(({ attempt, receipt }) => attempt === 1 && receipt === 1)).toBe(true)
})

test('messages that are acknowledged together are removed, and no others', async () => {
  const user = await openUser()
  await user.apply({ pushes: [groupOf(texts)] })
  const taken = await user.take(MANY - 10)

  const { changes, queueState } = await user.apply({ changes: taken.map(ack) })

  expect(changes).toEqual(taken.map(() => 'done'))
  expect(queueState.counts).toEqual({ ready: 10, delayed: 0, inFlight: 0, dead: 0 })
  expect(dataOf(await user.take())).toEqual(texts.slice(-10))
})

test('among many acknowledgements each is judged by itself', async () => {
  const user = await openUser()
  await user.apply({
    pushes: [groupOf(texts), groupOf([LARGE]), groupOf(['keyed', 'blocked'], { key: 'k' })],
  })
  const taken = await user.take()
  expect(taken).toHaveLength(MANY + 2)
  await user.change('ack', taken[3]!)
  await user.change('nack', taken[50]!)
  await user.take(1)

  // The first twice, one that is gone, one that was delivered again, one of another place in line.
  const changes = [...taken, taken[0]!, { ...taken[9]!, receipt: 2 }]
  const answer = await user.apply({ changes: changes.map(ack) })

  const expected = changes.map(() => 'done')
  for (const [i, verdict] of [
    [3, 'gone'],
    [50, 'superseded'],
    [MANY + 2, 'gone'],
    [MANY + 3, 'gone'],
  ] as const) {
    expected[i] = verdict
  }
  expect(answer.changes).toEqual(expected)
  expect(answer.queueState.counts).toEqual({ ready: 1, delayed: 0, inFlight: 1, dead: 0 })
  expect(dataOf(await user.take())).toEqual(['blocked'])
})

function ack({ id, receipt }: { readonly id: number; readonly receipt: number }) {
  return { kind: 'ack' as const, id, receipt, ms: 0, reason: '' }
}
