import { MAX_UNSTARTED_IN_ALL, MAX_UNSTARTED_MESSAGES } from '../../store/constants.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { ChannelFullError } from './errors.ts'

/** A message that there was no room for. */
interface Refused {
  readonly id: string
  readonly channel: string
  readonly capacity: number
}

/** The error for it; `row` is the instance as it was found then, and says why. */
export function channelFull(
  verb: string,
  { id, channel, capacity }: Refused,
  row: InstanceRow | undefined,
): ChannelFullError {
  if (row?.status === 'absent' && row.mail >= MAX_UNSTARTED_MESSAGES) {
    return new ChannelFullError(
      `${verb}: instance "${id}" was never started, and ${row.mail} messages wait for that, ` +
        `no more are kept; start it, or check the id`,
      { channel, capacity: MAX_UNSTARTED_MESSAGES, instanceId: id },
    )
  }
  const isUnstarted = row === undefined || row.status === 'absent'
  if (isUnstarted && (row?.mail ?? 0) < capacity) {
    return new ChannelFullError(
      `${verb}: instance "${id}" is not started, and about ${MAX_UNSTARTED_IN_ALL} messages wait for ` +
        `instances that were never started, no more are kept; start it first, or check the id`,
      { channel, capacity: MAX_UNSTARTED_IN_ALL, instanceId: id },
    )
  }
  return new ChannelFullError(
    `${verb}: channel "${channel}" of instance "${id}" is full: ${capacity} messages wait in it`,
    { channel, capacity, instanceId: id },
  )
}
