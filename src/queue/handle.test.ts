import { expect, test } from 'vitest'

import { queueInTime } from '../../test/queue/support.ts'
import { memoryLog } from '../../test/support/workers.ts'

test('the log says that a message which fails in its last attempt becomes a dead letter', async () => {
  const log = memoryLog()
  await using under = await queueInTime<string>({ log, maxAttempts: 2 })
  const { queue } = under
  const trouble = new Error('no')
  queue.handle(async () => {
    throw trouble
  })
  const id = await queue.push('bad')

  await under.pass(10)
  await under.pass(1_000)

  expect(await queue.dead.list()).toMatchObject([{ id, reason: 'Error: no' }])
  expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([
    {
      level: 'warn',
      message: 'handler failed; the message is delivered again',
      data: { queue: 'default', id, attempt: 1, delayMs: 1_000, err: trouble },
    },
    {
      level: 'warn',
      message: 'handler failed in the last attempt; the message becomes a dead letter',
      data: { queue: 'default', id, attempt: 2, err: trouble },
    },
  ])
})
