import { number, option, resolveOptions } from '../base/options.ts'
import type { Payload, PushGroup } from '../store/queue-store.ts'
import { storedDuration } from './durations.ts'
import { durability, type QueueSettings } from './options.ts'
import type { Durability, PushOptions } from './queue.ts'
import { nameText } from './texts.ts'

const TABLE = {
  key: option(nameText, null),
  dedupeKey: option(nameText, null),
  delay: storedDuration(0),
  priority: number({ min: -(2 ** 31), max: 2 ** 31 - 1, integer: true }, 0),
  ttl: storedDuration(undefined, { min: 1 }),
  durability: option(durability.check, undefined),
}

/** Messages to push, and when that is to resolve. */
export interface Push {
  readonly group: PushGroup
  readonly durability: Durability
}

/** Messages with what was said of them; what was not is as the queue has it. */
export function pushOf(
  payloads: readonly Payload[],
  given: PushOptions | undefined,
  settings: Pick<QueueSettings<never>, 'durability' | 'dedupeMs'>,
): Push {
  if (given === undefined) return { group: plain(payloads), durability: settings.durability }
  const options = resolveOptions('queue push', given, TABLE)
  return {
    group: {
      payloads,
      key: options.key,
      dedupeKey: options.dedupeKey,
      dedupeMs: settings.dedupeMs,
      delayMs: options.delay,
      priority: options.priority,
      ttlMs: options.ttl ?? null,
    },
    durability: options.durability ?? settings.durability,
  }
}

function plain(payloads: readonly Payload[]): PushGroup {
  return {
    payloads,
    key: null,
    dedupeKey: null,
    dedupeMs: 0,
    delayMs: 0,
    priority: 0,
    ttlMs: null,
  }
}
