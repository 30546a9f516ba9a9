import { describe } from '../base/describe.ts'
import { duration, number, option, resolveOptions } from '../base/options.ts'
import type { Payload, PushGroup } from '../store/queue-store.ts'
import type { PushOptions } from './queue.ts'

const TABLE = {
  key: option(keyText, null),
  dedupeKey: option(keyText, null),
  delay: duration(0),
  priority: number({ min: -(2 ** 31), max: 2 ** 31 - 1, integer: true }, 0),
  ttl: duration(undefined, { min: 1 }),
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
    delayMs: Math.ceil(delay),
    priority,
    ttlMs: ttl === undefined ? null : Math.ceil(ttl),
    firstId: null,
  }
}

function keyText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be text that is not empty, got ${describe(value)}`)
}
