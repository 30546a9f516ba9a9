import { number, option, resolveOptions } from '../base/options.ts'
import type { Payload, PushGroup } from '../store/queue-store.ts'
import { storedDuration } from './durations.ts'
import type { PushOptions } from './queue.ts'
import { nameText } from './texts.ts'

const TABLE = {
  key: option(nameText, null),
  dedupeKey: option(nameText, null),
  delay: storedDuration(0),
  priority: number({ min: -(2 ** 31), max: 2 ** 31 - 1, integer: true }, 0),
  ttl: storedDuration(undefined, { min: 1 }),
}

type Plain = Omit<PushGroup, 'payloads'>

const PLAIN: Plain = {
  key: null,
  dedupeKey: null,
  dedupeMs: 0,
  delayMs: 0,
  priority: 0,
  ttlMs: null,
  firstId: null,
}

/** A group of messages with what was said of them. */
export function pushGroup(
  payloads: readonly Payload[],
  given: PushOptions | undefined,
  dedupeMs: number,
): PushGroup {
  if (given === undefined) return { ...PLAIN, payloads }
  const { key, dedupeKey, delay, priority, ttl } = resolveOptions('queue push', given, TABLE)
  return {
    payloads,
    key,
    dedupeKey,
    dedupeMs,
    delayMs: delay,
    priority,
    ttlMs: ttl ?? null,
    firstId: null,
  }
}
