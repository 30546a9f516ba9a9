// The public entry `holdfast`: the engine with its stores. The only file that chooses a store by
// its URL.

import { hostname } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { systemClock } from './base/time/clock.ts'
import {
  type CodecOption,
  NO_CODEC,
  resolveCodec,
  type ResolvedCodec,
} from './base/codec/codec-option.ts'
import { describe } from './base/describe.ts'
import { type Duration, duration } from './base/time/duration.ts'
import { childLog, defaultLog, type Logger, logger } from './base/log.ts'
import { type Metrics, metricsSink } from './base/metrics.ts'
import { flag, number, option, resolveOptions } from './base/options.ts'
import { type Tracing, tracingOption } from './base/tracing.ts'
import { VERSION } from './base/version.ts'
import { EngineClient } from './engine/client/engine-client.ts'
import { RuntimeClient } from './engine/client/runtime-client.ts'
import { EngineMeter } from './engine/core/engine-meter.ts'
import { EngineTracer } from './engine/core/engine-tracer.ts'
import type { Client } from './engine/define/client.ts'
import { type Registrable, registryOf } from './engine/define/registry.ts'
import type { Runtime } from './engine/define/runtime.ts'
import { EngineRuntime } from './engine/runtime/runtime.ts'
import { outsideExecution } from './engine/core/unhandled-rejections.ts'
import { servedTags, UNTAGGED } from './engine/define/served-tags.ts'
import {
  type ClientLimitOptions,
  DEFAULT_LIMITS,
  LimitGuard,
  type LimitOptions,
  type Limits,
  resolveClientLimits,
  resolveLimits,
} from './engine/core/limits.ts'
import { valuesOf } from './engine/core/values.ts'
import { postgres } from './postgres/store.ts'
import { sqlite } from './sqlite/sqlite.ts'
import { GIVE_UP_MS, type OnHang } from './store/lease-keeper.ts'
import { OPEN_WORKFLOW_STORE, type Store, type StoreHandle } from './store/store.ts'
import { parseStoreUrl } from './store/store-url.ts'
import type { WorkflowStore } from './store/workflow-store.ts'
import { ItemWrapper } from './store/wrapped-items.ts'
import { WrappedStore } from './store/wrapped-store.ts'

/** Options of a client. */
export interface ConnectOptions {
  /**
   * How to store values: `compression()`, `encryption({ keys })`, a codec of your own, or a list of them,
   * in the order in which they are applied when a value is stored. Every process that uses the store
   * needs the same.
   *
   * @default text that preserves dates, maps, sets, bigints and bytes
   */
  codec?: CodecOption
  /** How much may be sent. Whatever is larger is refused, and nothing is written. */
  limits?: ClientLimitOptions
  /** Where log lines go. @default warnings and errors to stderr */
  log?: Logger
  /**
   * Receives counts, durations and sizes, such as `prometheus()` of `holdfast/telemetry`. An outbox of
   * this client uses it, too. A store that is not given as a URL has an option of its own for its calls.
   *
   * @default nothing is measured
   */
  metrics?: Metrics
  /**
   * Receives spans, such as `openTelemetry(api).tracing` of `holdfast/telemetry`: one trace for each
   * instance, in whichever processes it runs. An outbox of this client uses it, too.
   *
   * @default nothing is traced
   */
  tracing?: Tracing
  /**
   * How long `open`, and the first call of a client, wait for a database server that is starting or
   * shutting down. If the server refuses connections, they wait at most three seconds. Has no effect on
   * SQLite.
   *
   * @default '1m'
   */
  connectTimeout?: Duration
}

/** Options of a runtime. */
export interface OpenOptions extends ConnectOptions {
  /** The workflows and activities to run here: definitions, lists, or whole modules. */
  register: Registrable
  /** How much runs at the same time. */
  concurrency?: {
    /** The most instances in memory. @default 2000 */
    instances?: number
    /** The most activities running. @default 200 */
    activities?: number
  }
  /**
   * How long after the last renewal of its lease other runtimes take over the instances of this one. A
   * short lease costs no correctness: a runtime that lost an instance can no longer write to it.
   *
   * @default '30s'
   */
  lease?: Duration
  /**
   * What to do when code blocks the event loop, for example by a long synchronous call. Until `after`, a
   * thread renews the lease, and warns on stderr after a quarter of that time. Then other runtimes take
   * over, and stderr names the instance or activity; when the loop continues, so does this process, and
   * writes the same to its `log`. With `kill`, Holdfast suspends the instance with a report and ends the
   * process with SIGKILL. With `'off'`, and while a debugger is attached, other runtimes take over after
   * a minute without a warning.
   *
   * @default { after: '60s', kill: false }
   */
  watchdog?: 'off' | { after?: Duration; kill?: boolean }
  /**
   * Which activities run here. `['gpu']`: those with this tag and those without a tag.
   * `{ only: ['gpu'] }`: only those with this tag. `'any'`: all. `'none'`: none, only workflows and
   * their steps.
   *
   * @default activities without a tag
   */
  tags?: readonly string[] | { readonly only: readonly string[] } | 'any' | 'none'
  /** Limits for sessions in this runtime. */
  sessions?: {
    /** The most sessions whose activities run here at the same time. @default 10 */
    max?: number
    /** After this time without activities, a session may move to another runtime. @default '5m' */
    idle?: Duration
  }
  /**
   * How long to keep instances of workflows that have no `retention` of their own: after their end, and
   * earlier executions after the next one began. This runtime, and others, remove them.
   *
   * @default forever
   */
  retention?: Duration
  /** How much instances may store. */
  limits?: LimitOptions
}

/**
 * Opens a store and starts to run the registered workflows and activities.
 *
 * `store` is a URL (`'file:shop.db'`, `'memory:'`, `'postgres://…'`), or a store created with
 * `holdfast/sqlite` or `holdfast/postgres`.
 */
export async function open(store: string | Store, options: OpenOptions): Promise<Runtime> {
  const resolved = resolveOptions('open', options, {
    ...CONNECT_OPTIONS,
    register: option((value) => value as Registrable, undefined),
    concurrency: option(resolveConcurrency, resolveConcurrency(undefined)),
    lease: duration(30_000, { min: 1_000 }),
    watchdog: option(resolveWatchdog, resolveWatchdog(undefined)),
    limits: option(resolveLimits, DEFAULT_LIMITS),
    tags: option(servedTags, UNTAGGED),
    sessions: option(resolveSessions, resolveSessions(undefined)),
    retention: duration(undefined, { min: 1_000 }),
  })
  const { register, concurrency, lease, watchdog, codec, log, limits, tags, sessions } = resolved
  const { connectTimeout, retention, metrics, tracing } = resolved
  if (register === undefined) {
    throw new TypeError(
      'open: register is missing: list the workflows and activities to run here, or use connect() for a client only',
    )
  }
  // In development, reloading a module defines the same things again.
  const inDevelopment = process.env['NODE_ENV'] === 'development'
  const safeLog = childLog(log, {})
  const registry = registryOf(register, inDevelopment ? safeLog.warn : undefined, (data, message) =>
    outsideExecution(() => safeLog.warn(data, message)),
  )
  const setup = {
    ...storage('open', store, codec, limits, safeLog, { metrics, tracing }),
    connectTimeoutMs: connectTimeout,
  }
  try {
    const runtime = await EngineRuntime.open({
      ...setup,
      registry,
      random: Math.random,
      leaseMs: lease,
      retentionMs: retention,
      giveUpMs: watchdog.giveUpMs,
      // A runtime in a worker thread must not kill the whole process.
      onHang: watchdog.onHang === 'kill' && !isMainThread ? 'release' : watchdog.onHang,
      maxInstances: concurrency.instances,
      maxActivities: concurrency.activities,
      tasks: { served: tags, maxSessions: sessions.max, sessionIdleMs: sessions.idle },
      guarded: process.env['NODE_ENV'] !== 'production',
      failsForgotten: isTest(process.env),
      info: `${hostname()} ${process.pid} ${VERSION}`,
    })
    const client = new RuntimeClient({ ...setup, runtime, registry })
    runtime.serve(client)
    return client
  } catch (error) {
    await setup.store.close()
    throw error
  }
}

/** Whether this runs in a test: Vitest and Jest set `NODE_ENV`, `node --test` its own variable. */
function isTest({ NODE_ENV: env, NODE_TEST_CONTEXT: nodeTest }: NodeJS.ProcessEnv): boolean {
  return env === 'test' || (env !== 'production' && nodeTest !== undefined)
}

/** Creates a client for a process that does not run workflows. It connects on first use. */
export function connect(store: string | Store, options: ConnectOptions = {}): Client {
  const resolved = resolveOptions('connect', options, {
    ...CONNECT_OPTIONS,
    limits: option(resolveClientLimits, DEFAULT_LIMITS),
  })
  const { codec, log, connectTimeout, limits, metrics, tracing } = resolved
  return new EngineClient({
    ...storage('connect', store, codec, limits, childLog(log, {}), { metrics, tracing }),
    connectTimeoutMs: connectTimeout,
    runtime: undefined,
  })
}

/**
 * What runtimes and clients share: the store, how values get into it, and who measures it. Errors begin
 * with `owner`, the function that was given the store.
 */
function storage(
  owner: string,
  store: unknown,
  { codec, chain }: ResolvedCodec,
  limits: Limits,
  log: Logger,
  { metrics, tracing }: { metrics: Metrics | undefined; tracing: Tracing | undefined },
) {
  const clock = systemClock()
  const guard = new LimitGuard(limits, log, () => clock.now())
  const opened = workflowStore(owner, store, metrics)
  return {
    store: chain === undefined ? opened : new WrappedStore(opened, new ItemWrapper(chain)),
    values: valuesOf(codec, guard),
    guard,
    chain,
    clock,
    log,
    metrics,
    tracing,
    meter: metrics && new EngineMeter(metrics, log),
    tracer: tracing && new EngineTracer(tracing, log),
  }
}

const CONNECT_OPTIONS = {
  codec: option(resolveCodec, NO_CODEC),
  log: option(logger, defaultLog),
  metrics: option(metricsSink, undefined),
  tracing: option(tracingOption, undefined),
  connectTimeout: duration(60_000),
}

function resolveWatchdog(value: unknown): { giveUpMs: number; onHang: OnHang } {
  if (value === 'off') return { giveUpMs: GIVE_UP_MS, onHang: 'ignore' }
  if (typeof value !== 'object' && value !== undefined) {
    throw new TypeError(`open: watchdog must be 'off' or { after, kill }, got ${describe(value)}`)
  }
  const { after, kill } = resolveOptions('open: watchdog', value as object | undefined, {
    after: duration(GIVE_UP_MS, { min: 1_000 }),
    kill: flag(false),
  })
  return { giveUpMs: after, onHang: kill ? 'kill' : 'release' }
}

function resolveConcurrency(value: unknown): { instances: number; activities: number } {
  return resolveOptions('open: concurrency', value as object | undefined, {
    instances: number({ min: 1, integer: true }, 2_000),
    activities: number({ min: 1, integer: true }, 200),
  })
}

function resolveSessions(value: unknown): { max: number; idle: number } {
  return resolveOptions('open: sessions', value as object | undefined, {
    max: number({ min: 1, integer: true }, 10),
    idle: duration(300_000, { min: 1 }),
  })
}

function workflowStore(owner: string, store: unknown, metrics: Metrics | undefined): WorkflowStore {
  const handle = typeof store === 'string' ? storeFromUrl(owner, store, metrics) : store
  if (typeof handle === 'object' && handle !== null && OPEN_WORKFLOW_STORE in handle) {
    return (handle as StoreHandle)[OPEN_WORKFLOW_STORE]()
  }
  throw new TypeError(
    `${owner}: the store must be a URL, or created by sqlite() or postgres(), got ${describe(store)}`,
  )
}

function storeFromUrl(owner: string, url: string, metrics: Metrics | undefined): Store {
  const address = parseStoreUrl(url, owner)
  if (address.kind === 'sqlite') return sqlite({ path: address.path })
  return postgres({ url: address.url, ...(metrics && { metrics }) })
}

export type { Codec } from './base/codec/codec.ts'
export type { CodecOption } from './base/codec/codec-option.ts'
export { compression, type CompressionOptions } from './base/codec/compression.ts'
export { encryption, type EncryptionKey, type EncryptionOptions } from './base/codec/encryption.ts'
export type { Transform } from './base/codec/transform.ts'
export type { Duration } from './base/time/duration.ts'
export {
  CancelledError,
  failure,
  type Failure,
  type FailureClass,
  TimeoutError,
} from './base/errors.ts'
export type { Log, Logger } from './base/log.ts'
export type { Metrics } from './base/metrics.ts'
export type { Span, SpanEnd, SpanKind, SpanStart, Tracing } from './base/tracing.ts'
export {
  type AnyInbound,
  type Channel,
  channel,
  type ChannelOptions,
  type Letter,
  message,
  request,
  type RequestChannel,
  type StateKey,
  stateKey,
} from './engine/define/channels.ts'
export type {
  Admin,
  DeleteOptions,
  ErrorGroup,
  ErrorsOptions,
  ExecutionInfo,
  Filter,
  InstanceUsage,
  Listing,
  Page,
  PruneOptions,
  RuntimeInfo,
  Stats,
  TaskFilter,
  TaskInfo,
  TreeOptions,
  Unserved,
  Which,
  WorkflowInfo,
} from './engine/define/admin.ts'
export type {
  Client,
  InTransaction,
  InTransactionOptions,
  Transaction,
} from './engine/define/client.ts'
export type {
  ExportedHistory,
  ExportOptions,
  ForkOptions,
  HistoryEvent,
  HistoryOptions,
  ImportOptions,
  Instance,
  InstanceInfo,
  SendOptions,
  StartOptions,
  Status,
  Wait,
} from './engine/define/instance.ts'
export type {
  Schedule,
  ScheduledStartOptions,
  ScheduleInfo,
  Schedules,
} from './engine/define/schedule.ts'
export type { ActivityContext } from './engine/define/activity-context.ts'
export type {
  Asked,
  Branch,
  Child,
  DurablePromise,
  Received,
  Remote,
  ResultOf,
  State,
  Winner,
  WorkflowContext,
} from './engine/define/workflow-context.ts'
export {
  type Activity,
  activity,
  type ActivityDefinitionOptions,
  type AnyActivity,
  type AnyWorkflow,
  type ChildOptions,
  type Contract,
  type InputOf,
  type OutputOf,
  type ParsingActivity,
  type Workflow,
  workflow,
  type WorkflowOptions,
} from './engine/define/definitions.ts'
export {
  ActivityError,
  ChannelFullError,
  ConflictError,
  NotFoundError,
  WorkflowError,
} from './engine/core/errors.ts'
export type { ClientLimitOptions, LimitOptions } from './engine/core/limits.ts'
export type { ActivityOptions } from './engine/define/activity-options.ts'
export type { Limit } from './engine/define/limit.ts'
export type { Registrable } from './engine/define/registry.ts'
export { NondeterminismError } from './engine/replay/nondeterminism.ts'
export type { Retry } from './engine/define/retry.ts'
export type { Schema } from './base/schema.ts'
export type { Runtime, RuntimeHealth } from './engine/define/runtime.ts'
export type { NotifierHealth } from './store/hints.ts'
export type { UndeliveredMessages } from './store/runtimes.ts'
export type { Store } from './store/store.ts'
export { StoreError, type StoreErrorCode } from './store/store-error.ts'
