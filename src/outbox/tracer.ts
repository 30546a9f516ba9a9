// The spans of an outbox. The trace of the code that enqueues a message goes on where it is delivered:
// the headers of the message carry it.

import type { Logger } from '../base/log.ts'
import { isPlainObject } from '../base/plain-object.ts'
import {
  contextOfHeaders,
  harmlessTracing,
  type Span,
  traceHeaders,
  type Tracing,
} from '../base/tracing.ts'
import type { EnqueueItem } from './enqueue.ts'
import type { Message } from './message.ts'
import type { Outcome } from './outcome.ts'

/** Reports a span for each call of a handler. */
export class OutboxTracer {
  readonly #tracing: Tracing

  constructor(tracing: Tracing, log: Logger) {
    this.#tracing = harmlessTracing(tracing, log)
  }

  /** A handler is about to be called with one message. */
  delivery({ topic, id, key, partition, attempt, headers }: Message<unknown>): Span {
    return this.#tracing.start(`deliver ${topic}`, {
      kind: 'consumer',
      parent: contextOfHeaders(headers) ?? null,
      attributes: {
        'holdfast.topic': topic,
        'holdfast.message.id': id,
        ...(key !== '' && { 'holdfast.message.key': key }),
        'holdfast.partition': partition,
        'holdfast.attempt': attempt,
      },
    })
  }

  /** A handler is about to be called with several messages, of different traces. */
  batch(topic: string, messages: readonly Message<unknown>[]): Span {
    return this.#tracing.start(`deliver ${topic}`, {
      kind: 'consumer',
      parent: null,
      links: messages.flatMap(({ headers }) => contextOfHeaders(headers) ?? []),
      attributes: {
        'holdfast.topic': topic,
        'holdfast.partition': messages[0]!.partition,
        'holdfast.messages': messages.length,
      },
    })
  }
}

/** A handler has ended. */
export function endDelivery(span: Span, outcome: Outcome): void {
  const attributes = { 'holdfast.outcome': outcome.kind }
  if (outcome.kind === 'retry') span.end({ attributes, error: outcome.error })
  else if (outcome.kind === 'reject') span.end({ attributes, error: new Error(outcome.reason) })
  else span.end({ attributes })
}

/** A handler of several messages has ended. */
export function endBatch(span: Span, outcomes: readonly Outcome[]): void {
  const failed = outcomes.find(({ kind }) => kind === 'retry' || kind === 'reject')
  if (failed === undefined) span.end()
  else endDelivery(span, failed)
}

/** Messages with the trace of the active span in their headers, unless they have one. */
export function withTrace(
  items: readonly EnqueueItem<unknown>[],
  tracing: Tracing | undefined,
): readonly EnqueueItem<unknown>[] {
  const context = activeContext(tracing)
  if (context === undefined || !Array.isArray(items)) return items
  const headers = traceHeaders(context)
  return items.map((item: EnqueueItem<unknown>) => {
    // What is not allowed is refused later, as it was given.
    if (!isPlainObject(item)) return item
    const { headers: own = {} } = item
    if (!isPlainObject(own) || Object.hasOwn(own, 'traceparent')) return item
    return { ...item, headers: { ...headers, ...own } }
  })
}

/** An error in tracing must not prevent the message from being sent. */
function activeContext(tracing: Tracing | undefined): string | undefined {
  try {
    return tracing?.active()
  } catch {
    return undefined
  }
}
