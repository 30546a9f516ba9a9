import type { DeliverySetup } from './delivery-setup.ts'
import { RetryRequest } from './call-handler.ts'
import type { Outcome } from './outcome.ts'
import type { ReadPartition, Settled } from './settlement.ts'

/** Logs, counts and measures what became of a batch, once that is stored. */
export function reportDelivery(
  setup: DeliverySetup,
  partition: number,
  read: ReadPartition,
  settled: Settled,
  outcomes: ReadonlyMap<number, Outcome>,
): void {
  log(setup, partition - setup.first, read, settled)
  setup.count(settled)
  setup.meter?.settled(setup.topic, settled, delays(read, outcomes, setup.storeNow()))
}

/** How long the messages that were handled had waited since they were enqueued. */
function delays(
  { due, messages }: ReadPartition,
  outcomes: ReadonlyMap<number, Outcome>,
  now: number,
): number[] {
  return [...due, ...messages].flatMap(({ position, enqueuedAt }) =>
    outcomes.get(position)?.kind === 'done' ? [Math.max(0, now - enqueuedAt)] : [],
  )
}

function log(
  { log: to, topic, policy }: DeliverySetup,
  partition: number,
  read: ReadPartition,
  { retries, dead, delivered, expired }: Settled,
): void {
  const byPosition = new Map(
    [...read.messages, ...read.due].map((message) => [message.position, message]),
  )
  for (const { message, failures, delayMs, error } of retries) {
    const data = { topic, partition, id: String(message.id), attempt: failures, delayMs }
    if (error instanceof RetryRequest) to.info(data, 'handler asked for another attempt')
    else if (failures < policy.maxAttempts) {
      to.warn({ ...data, err: error }, 'handler failed; the message is retried')
    } else {
      to.error({ ...data, err: error }, 'handler keeps failing; the message is still retried')
    }
  }
  for (const { position, failures, reason } of dead) {
    const id = String(byPosition.get(position)?.id ?? position)
    to.error({ topic, partition, id, attempt: failures, reason }, 'message became a dead letter')
  }
  if (delivered + expired > 0) {
    to.debug({ topic, partition, delivered, expired }, 'messages delivered')
  }
}
