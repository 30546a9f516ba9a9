// Delivers one partition: claims it, calls the handler with its messages, and settles them, until there is
// nothing more or others have waited long enough.
//
// Each round is one statement: it settles the last batch and reads the next one.

import type { Abortable } from '../base/sync/on-abort.ts'
import { leaveLastAttempt } from './abandoned.ts'
import type { BatchSize } from './batch-size.ts'
import type { DeliverySetup } from './delivery-setup.ts'
import { PartitionCall } from './partition-call.ts'

/** How the delivery of a partition ended. */
export type DeliveryEnd =
  /** Everything that could be read was delivered, and the partition was given back. */
  | {
      readonly is: 'drained'
      readonly isBlocked: boolean
      readonly dueAt: number | null
      readonly hadMessages: boolean
    }
  /** There is more, but it is the turn of others. */
  | { readonly is: 'more' }
  /** Another process has it. */
  | { readonly is: 'busy' }
  /** This process has lost it, with what it was about to settle. */
  | { readonly is: 'lost' | 'dead' }

// How long a partition keeps its turn; the message in progress may exceed it. Then what was handled is
// recorded, and others are delivered: slow handlers must not keep a partition, or the locks of a
// transaction, for a whole batch.
const TURN_MS = 1_000

/** Delivers a partition. `stopping` ends it after the message that is being handled. */
export async function deliver(
  setup: DeliverySetup,
  partition: number,
  size: BatchSize,
  signals: { readonly lost: Abortable; readonly stopping: AbortSignal },
): Promise<DeliveryEnd> {
  const turnEndsMs = setup.clock.now() + TURN_MS
  let answer = await setup.step({
    partition,
    epoch: null,
    settle: null,
    read: size.current,
    release: 'when-empty',
  })
  for (let round = 1; ; round++) {
    if (answer.state === 'busy') return { is: 'busy' }
    if (answer.state !== 'ok') return { is: answer.state }
    const { epoch, isBlocked, dueAt } = answer
    setup.unconfirmed.get(partition)?.confirm(answer)
    setup.unconfirmed.delete(partition)
    if (answer.isReleased) return { is: 'drained', isBlocked, dueAt, hadMessages: round > 1 }
    if (answer.abandoned > 0) {
      size.abandoned(answer.abandoned)
      const spared = leaveLastAttempt(answer, setup.policy)
      if (spared !== null || answer.messages.length + answer.due.length > size.current) {
        // If this process dies, too, it is known of which message.
        answer = await setup.step({
          partition,
          epoch,
          settle: spared,
          read: size.current,
          release: 'when-empty',
        })
        continue
      }
    }
    const asked = size.current
    const call = new PartitionCall(setup, partition, answer, {
      ...signals,
      limit: asked,
      turnEndsMs,
    })
    setup.unconfirmed.set(partition, call)
    const settlement = await call.run(size)
    if (settlement === 'lost') return { is: 'lost' }
    const isLast =
      round >= setup.rounds ||
      setup.clock.now() >= turnEndsMs ||
      signals.stopping.aborted ||
      signals.lost.aborted ||
      call.isGivenUp
    answer = await setup.step({
      partition,
      epoch,
      settle: settlement,
      read: isLast ? 0 : size.current,
      release: isLast ? 'always' : 'when-empty',
    })
    setup.unconfirmed.delete(partition)
    if (answer.state === 'ok') call.settled()
    if (answer.state === 'ok' && isLast) {
      // Not by its `dueAt`, which is also that of messages that wait apart.
      const mayHaveMore = call.dueAt === null && (call.isCut || asked <= call.read)
      if (mayHaveMore) return { is: 'more' }
      return { is: 'drained', isBlocked, dueAt: answer.dueAt, hadMessages: true }
    }
  }
}
