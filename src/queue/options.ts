import { type ResolvedBackoff, resolveBackoff } from '../base/time/backoff.ts'
import { describe } from '../base/describe.ts'
import type { Duration } from '../base/time/duration.ts'
import { childLog, defaultLog, type Logger, logger } from '../base/log.ts'
import { type Metrics, metricsSink } from '../base/metrics.ts'
import { flag, having, number, oneOf, option, resolveOptions } from '../base/options.ts'
import { storedDuration } from './durations.ts'
import { Meter } from './meter.ts'
import { defaultQueueCodec, type QueueCodec } from './payloads.ts'
import type { Durability } from './queue.ts'
import { nameText } from './texts.ts'

/** Options of `openQueue`. All of them are optional. */
export interface QueueOptions<T = never> {
  /** The name of the queue. One file can contain several, each with its own messages. @default 'default' */
  name?: string
  /**
   * Opens the queue without reading its messages. By default every message is read once on opening,
   * and those that cannot be decoded become dead letters.
   *
   * @default false
   */
  lazy?: boolean
  /**
   * How long a delivery is leased to its consumer. With a longer lease, messages of a consumer that
   * hangs wait longer; with a shorter one, a slow consumer causes second deliveries.
   *
   * @default '30s'
   */
  lease?: Duration
  /** After this many failed deliveries a message becomes a dead letter. @default no limit */
  maxAttempts?: number
  /**
   * The delay after a nack, which doubles with each attempt. By default a message that you nack is
   * ready at once, and one whose handler threw waits from one second up to five minutes.
   */
  backoff?: { initial?: Duration; max?: Duration }
  /** The maximum number of messages, not counting dead letters. @default no limit */
  capacity?: number
  /** Whether a push to a full queue waits for space or fails. @default 'wait' */
  whenFull?: 'wait' | 'refuse'
  /** When a push or an acknowledgement resolves; a push may ask for another. @default 'fsync' */
  durability?: Durability
  /**
   * Whether a separate thread accesses the file. Without one a single push is faster, but the event
   * loop is blocked while the disk writes, or while another process writes to the file.
   *
   * @default true
   */
  thread?: boolean
  /** How long a `dedupeKey` is remembered. @default '5m' */
  dedupeWindow?: Duration
  /** How messages are stored. By default bytes as they are, and everything else as text. */
  codec?: QueueCodec<T>
  /** The logger. By default warnings and errors are written to stderr. */
  log?: Logger
  /** Receives counts and durations. @default no metrics */
  metrics?: Metrics
}

/** The same, complete. */
export interface QueueSettings<T> {
  readonly name: string
  readonly lazy: boolean
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly nackBackoff: ResolvedBackoff
  readonly handlerBackoff: ResolvedBackoff
  readonly capacity: number
  readonly whenFull: 'wait' | 'refuse'
  readonly durability: Durability
  readonly thread: boolean
  readonly dedupeMs: number
  readonly codec: QueueCodec<T>
  readonly log: Logger
  readonly meter: Meter | undefined
}

/** When something counts as done. */
export const durability = oneOf<Durability>(['fsync', 'os'], 'fsync')

const NO_BACKOFF = resolveBackoff('openQueue: backoff', { initial: 0, max: 0 })
const HANDLER_BACKOFF = resolveBackoff('openQueue: backoff', { initial: '1s', max: '5m' })

/** Checks options and fills in the defaults. */
export function queueSettings<T>(given: QueueOptions<T> | undefined): QueueSettings<T> {
  const options = resolveOptions('openQueue', given, {
    name: option(nameText, 'default'),
    lazy: flag(false),
    lease: storedDuration(30_000, { min: 1 }),
    maxAttempts: option(limit, Infinity),
    backoff: option(backoffOf, undefined),
    capacity: option(limit, Infinity),
    whenFull: oneOf(['wait', 'refuse'], 'wait'),
    durability,
    thread: flag(true),
    dedupeWindow: storedDuration(300_000, { min: 1 }),
    codec: option(codecOf, defaultQueueCodec),
    log: option(logger, defaultLog),
    metrics: option(metricsSink, undefined),
  })
  const { name, metrics } = options
  const log = childLog(options.log, { queue: name })
  return {
    name,
    lazy: options.lazy,
    leaseMs: options.lease,
    maxAttempts: options.maxAttempts,
    nackBackoff: options.backoff ?? NO_BACKOFF,
    handlerBackoff: options.backoff ?? HANDLER_BACKOFF,
    capacity: options.capacity,
    whenFull: options.whenFull,
    durability: options.durability,
    thread: options.thread,
    dedupeMs: options.dedupeWindow,
    codec: options.codec as QueueCodec<T>,
    log,
    meter: metrics && new Meter(metrics, name, log),
  }
}

/** Two letters at least: one is a drive of Windows. */
const ADDRESS = /^(?:file:|memory:|[a-z][a-z\d+.-]+:\/\/)/i

/** Checks where a queue is. Some drivers take addresses, others would make a file of that name. */
export function checkPath(path: unknown): void {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    const hint = path instanceof URL ? '; use fileURLToPath() of node:url' : ''
    throw new TypeError(`openQueue: path must be the path of a file, got ${describe(path)}${hint}`)
  }
  if (!ADDRESS.test(path)) return
  const hint = /^memory:/i.test(path)
    ? 'a queue is kept in a file'
    : 'use fileURLToPath() of node:url for a file URL'
  throw new TypeError(`openQueue: path must be a path, not a URL, got ${describe(path)}; ${hint}`)
}

/** A whole number from 1, or `Infinity`. */
function limit(value: unknown, what: string): number {
  return value === Infinity ? value : number({ min: 1, integer: true }, 1).check(value, what)
}

function backoffOf(value: unknown, what: string): ResolvedBackoff {
  const { initial, max } = resolveOptions(what, value as object, {
    initial: storedDuration(1_000),
    max: storedDuration(300_000),
  })
  return resolveBackoff(what, { initial, max: Math.max(initial, max) })
}

function codecOf(value: unknown, what: string): QueueCodec<unknown> {
  const codec = having<QueueCodec<unknown>>('a codec', ['encode', 'decode'])(value, what)
  number({ min: 0, integer: true }, 0).check(codec.version, `${what}: version`)
  return codec
}
