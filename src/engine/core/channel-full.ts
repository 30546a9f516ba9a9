import { MAX_UNSTARTED_IN_ALL, MAX_UNSTARTED_MESSAGES } from '../../store/constants.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { ChannelFullError } from './errors.ts'

/** A message for which its channel has no room. */
interface Refused {
  readonly id: string
  readonly channel: string
  readonly capacity: number
}

/** Creates the error for a full channel; `row`, the instance as found afterwards, tells the reason. */
export function channelFull(
  verb: string,
  { id, channel, capacity }: Refused,
  row: InstanceRow | undefined,
): ChannelFullError {
  if (row?.status === 'unstarted' && row.mail >= MAX_UNSTARTED_MESSAGES) {
    return new ChannelFullError(
      `${verb}: instance "${id}" has not been started and already has ${row.mail} waiting messages, ` +
        `the limit; start it, or check the id`,
      { channel, capacity: MAX_UNSTARTED_MESSAGES, instanceId: id },
    )
  }
  const isUnstarted = row === undefined || row.status === 'unstarted'
  if (isUnstarted && (row?.mail ?? 0) < capacity) {
    return new ChannelFullError(
      `${verb}: instance "${id}" has not been started, and about ${MAX_UNSTARTED_IN_ALL} messages ` +
        `already wait for instances that have not been started, the limit; start it first, or check the id`,
      { channel, capacity: MAX_UNSTARTED_IN_ALL, instanceId: id },
    )
  }
  return new ChannelFullError(
    `${verb}: channel "${channel}" of instance "${id}" is full: ${capacity} messages are waiting`,
    { channel, capacity, instanceId: id },
  )
}
