import { expect, test } from 'vitest'

import { callerOf } from './call.ts'
import type { Connections } from './connections.ts'
import type { Statement } from './driver.ts'
import { storeError } from './errors.ts'

/** Connections that fail as told, and remember what they were sent. */
function connectionsThat(fail: (statement: Statement) => string | undefined) {
  const sent: (string | undefined)[] = []
  const connections = {
    async query(operation: string, _lane: string, statement: Statement) {
      sent.push(statement.name)
      const code = fail(statement)
      if (code === undefined) return { rows: [{ answer: 'x' }] }
      throw storeError(operation, Object.assign(new Error('no'), { code, severity: 'ERROR' }))
    },
  } as unknown as Connections
  return { connections, sent }
}

test.each(['26000', '42P05'])(
  'behind a pooler that mixes prepared statements up (%s), none are prepared any more',
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

test('another error is nothing that a second sending would mend', async () => {
  const { connections, sent } = connectionsThat(() => '42501')
  const call = callerOf(connections, 'holdfast')

  await expect(call('reserve', [1])).rejects.toThrow('no')

  expect(sent).toHaveLength(1)
})
