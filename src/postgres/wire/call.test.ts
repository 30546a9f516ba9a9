import { expect, test } from 'vitest'

import { callerOf } from './call.ts'
import type { Connections } from '../connect/connections.ts'
import type { Statement } from '../connect/driver.ts'
import { storeError } from '../connect/errors.ts'

/** Connections that fail as the test says, and record what was sent to them. */
function connectionsThat(fail: (statement: Statement) => string | undefined, words = 'no') {
  const sent: (string | undefined)[] = []
  const connections = {
    async query(operation: string, _lane: string, statement: Statement) {
      sent.push(statement.name)
      const code = fail(statement)
      if (code === undefined) return { rows: [{ answer: 'x' }] }
      throw storeError(operation, Object.assign(new Error(words), { code, severity: 'ERROR' }))
    },
  } as unknown as Connections
  return { connections, sent }
}

test.each(['26000', '42P05'])(
  'behind a pooler that mixes up prepared statements (%s), no more are prepared',
  async (code) => {
    const { connections, sent } = connectionsThat(({ name }) =>
      name === undefined ? undefined : code,
    )
    const call = callerOf(connections, 'holdfast')

    expect(await call('reserve', [1])).toEqual([{ answer: 'x' }])
    expect(await call('reserve', [1])).toEqual([{ answer: 'x' }])

    expect(sent).toEqual([expect.stringMatching(/^holdfast_reserve_/), undefined, undefined])
  },
)

test('names of statements are different within what the server keeps of them', async () => {
  const { connections, sent } = connectionsThat(() => undefined)
  const call = callerOf(connections, 'holdfast')
  const prefix = 'x'.repeat(60)

  for (const procedure of ['a', 'b']) await call(`${prefix}_${procedure}`, [1])

  expect(sent.map((name) => name!.length)).toEqual([63, 63])
  expect(new Set(sent).size).toBe(2)
})

test('a statement whose procedure was replaced is prepared anew, by another text', async () => {
  const stale = new Set<string | undefined>()
  const { connections, sent } = connectionsThat(({ name }) =>
    stale.has(name) ? '0A000' : undefined,
  )
  const call = callerOf(connections, 'holdfast')
  await call('reserve', [1])
  stale.add(sent[0])

  // As many as are under way at once become one other.
  const both = await Promise.all([call('reserve', [1]), call('reserve', [2])])
  await call('reserve', [1])

  expect(both).toEqual([[{ answer: 'x' }], [{ answer: 'x' }]])
  const [first, , , fresh] = sent
  expect(fresh).toMatch(/^holdfast_reserve_/)
  expect(fresh).not.toBe(first)
  expect(sent).toEqual([first, first, first, fresh, fresh, fresh])
})

test.each([
  ['42883', 'function apply_effects(text) does not exist'],
  ['XX000', 'cache lookup failed for function 18011'],
])(
  'procedures that are replaced while one of them runs are called again (%s)',
  async (code, words) => {
    let failures = 1
    const { connections, sent } = connectionsThat(() => (failures-- > 0 ? code : undefined), words)
    const call = callerOf(connections, 'holdfast')

    expect(await call('commit_batch', [1])).toEqual([{ answer: 'x' }])
    expect(sent).toEqual([sent[0], sent[0]])

    failures = 2
    await expect(call('commit_batch', [1])).rejects.toThrow(words)
  },
)

test('any other error is not retried', async () => {
  const { connections, sent } = connectionsThat(() => '42601')
  const call = callerOf(connections, 'holdfast')

  await expect(call('reserve', [1])).rejects.toThrow('no')

  expect(sent).toHaveLength(1)
})
