import { expect, test } from 'vitest'

import { MAX_UNSTARTED_IN_ALL, MAX_UNSTARTED_MESSAGES } from '../../store/constants.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { channelFull } from './channel-full.ts'

const refused = { id: 'order-1', channel: 'notes', capacity: 10 }
const rowWith = (given: Partial<InstanceRow>): InstanceRow => given as InstanceRow

test.each([
  ['it was never started', rowWith({ status: 'unstarted', mail: 3 })],
  ['it does not exist', undefined],
])(
  'the error says that no more messages fit for instances that were never started, where %s',
  (_, row) => {
    const error = channelFull('send', refused, row)

    expect(error.message).toBe(
      'send: instance "order-1" has not been started, and about 1000000 messages already wait for ' +
        'instances that have not been started, the limit; start it first, or check the id',
    )
    expect(error).toMatchObject({ capacity: MAX_UNSTARTED_IN_ALL, instanceId: 'order-1' })
  },
)

test('the error says that too many messages wait for an instance that was never started', () => {
  const error = channelFull(
    'send',
    refused,
    rowWith({ status: 'unstarted', mail: MAX_UNSTARTED_MESSAGES }),
  )

  expect(error.message).toContain(
    `has not been started and already has ${MAX_UNSTARTED_MESSAGES} waiting messages`,
  )
})

test.each([
  ['one that runs', rowWith({ status: 'running', mail: 3 }), 10],
  ['one that was never started', rowWith({ status: 'unstarted', mail: 10 }), 10],
  ['an unknown instance', undefined, 0],
])('the error names a full channel of %s', (_, row, capacity) => {
  const error = channelFull('send', { ...refused, capacity }, row)

  expect(error.message).toContain('channel "notes" of instance "order-1" is full')
})
