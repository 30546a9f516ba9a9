// The HTTP API of the dashboard: what each address answers, as JSON. The server writes these types and the
// pages read them; nothing else does. Times are texts in ISO 8601, and an answer names nothing that is
// `undefined`.
//
// Ids are parameters of the query, never parts of a path: a browser would resolve the id `..`.

import type {
  ErrorGroup,
  ExecutionInfo,
  InstanceInfo,
  InstanceUsage,
  RuntimeHealth,
  RuntimeInfo,
  ScheduleInfo,
  Stats,
  Status,
  TaskInfo,
  Unserved,
  WorkflowInfo,
} from '../index.ts'
import type { DeadLetter, OutboxStats } from '../outbox/index.ts'
import type { Counts } from '../queue/index.ts'

/** What JSON makes of a value of ours: dates are texts. */
export type Json<T> = T extends Date
  ? string
  : T extends (infer Item)[] | readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: Json<T[K]> }
      : T

/**
 * A value of a user: an input, a result, a message. What JSON has no form for is an object with the key
 * `$`, and so is what was left out because it is large.
 */
export type Shown = string | number | boolean | null | readonly Shown[] | ShownObject | ShownTag

/** A plain object. It never has the key `$`. */
export interface ShownObject {
  readonly [key: string]: Shown
  readonly $?: never
}

/** What has no form in JSON, or is shown only in part. */
export type ShownTag =
  | { readonly $: 'undefined' }
  | { readonly $: 'date'; readonly v: string }
  | { readonly $: 'bigint'; readonly v: string }
  /** `NaN`, `Infinity`, `-Infinity` or `-0`. */
  | { readonly $: 'number'; readonly v: string }
  /** Base64 of the first bytes, and how many there are. */
  | { readonly $: 'bytes'; readonly v: string; readonly length: number }
  | { readonly $: 'set'; readonly v: readonly Shown[] }
  | { readonly $: 'map'; readonly v: readonly (readonly [Shown, Shown] | More)[] }
  /** Something that only a codec of the user knows, in a word. */
  | { readonly $: 'other'; readonly v: string }
  | { readonly $: 'error'; readonly name: string; readonly message: string; readonly v: Shown }
  /** An object by its entries: one that itself has the key `$`, or that is shown in part. */
  | { readonly $: 'object'; readonly v: readonly (readonly [string, Shown] | More)[] }
  /** The beginning of a long text, and how many characters it has. */
  | { readonly $: 'text'; readonly v: string; readonly length: number }
  | More

/** In place of what follows in a list, or of all that is in a value: so many items were left out. */
export interface More {
  readonly $: 'more'
  readonly count: number
}

/** A value, as much of it as was asked for. */
export interface Value {
  readonly shown: Shown
  /** Something was left out: ask for the whole with `values=full`. */
  readonly truncated: boolean
}

/** The body of every answer that is not a success. */
export interface ApiError {
  readonly error: {
    readonly code: ErrorCode
    /** A sentence for people. */
    readonly message: string
  }
}

/** Why a request was refused. */
export type ErrorCode =
  | 'bad_request'
  | 'unauthorized'
  | 'read_only'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'too_many_streams'
  | 'unavailable'
  | 'internal'

/** `GET api/meta` where reading needs the token, and without it: what a page must know to ask for it. */
export interface Access {
  /** `open`: anyone who reaches the dashboard may read. `token`: reading needs the token as well. */
  readonly reads: 'open' | 'token'
  /** Whether this dashboard was given a token, so that those who have it can change things. */
  readonly writes: boolean
  /** Whether this request had the right token. */
  readonly authorized: boolean
}

/** `GET api/meta` */
export interface Meta extends Access {
  readonly version: string
  readonly at: string
  /** Whether it was given an outbox, and a way to examine the store. */
  readonly hasOutbox: boolean
  readonly hasDoctor: boolean
  /** Names of the queues that it was given. */
  readonly queues: readonly string[]
}

/** A page of a list. */
export interface ApiPage<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to get the next page; missing on the last one. */
  readonly next?: string
}

/** A filter of instances: texts, of which `status` and `label` may be repeated, or be lists in a body. */
export interface FilterQuery {
  readonly workflow?: string
  readonly version?: string
  readonly status?: Status | readonly Status[]
  /** `name=value` */
  readonly label?: string | readonly string[]
  readonly createdAfter?: string
  readonly createdBefore?: string
  readonly finishedAfter?: string
  readonly finishedBefore?: string
  readonly parentId?: string
  readonly idPrefix?: string
}

/** An instance in a list. */
export type InstanceItem = Json<
  Omit<InstanceInfo, 'progress' | 'output' | 'waitingFor'> & {
    readonly waitingFor: readonly string[]
  }
> & { readonly progress?: Value }

/** `GET api/instances?<FilterQuery>&limit=100&after=…&order=newest` */
export type InstancesAnswer = ApiPage<InstanceItem>

/** `GET api/instances/count?<FilterQuery>`: counts up to `limit`, 10,000 by default. */
export interface CountAnswer {
  readonly count: number
  /** There are more. */
  readonly isMore: boolean
}

/** `GET api/instances/reach?<FilterQuery>&verb=<BulkVerb>`: how many of them that verb would change. */
export interface ReachAnswer {
  readonly count: number
}

/** `GET api/instance?id=…`: `404` when there is none. */
export interface InstanceAnswer {
  readonly instance: InstanceItem & { readonly output?: Value }
  readonly executions: readonly Json<ExecutionInfo>[]
  readonly usage: InstanceUsage
  /** Activities of it that wait for a runtime or run in one. */
  readonly tasks: readonly Json<TaskInfo>[]
}

/** `GET api/instance/tree?id=…`: the whole tree that it belongs to, each after its parent. */
export interface TreeAnswer {
  readonly items: readonly InstanceItem[]
}

/** `GET api/instance/history?id=…&execution=…&after=<seq>&limit=1000&values=short` */
export interface HistoryAnswer {
  readonly execution: number
  readonly items: readonly ApiEvent[]
  /** Pass it as `after` to get the next page; missing on the last one so far. */
  readonly next?: number
}

/** How much to show of values: nothing, some hundred characters, some thousand, or all. */
export type Detail = 'none' | 'short' | 'long' | 'full'

/** `GET api/instance/event?id=…&seq=…&execution=…&values=full` answers one of them. */
export interface ApiEvent {
  readonly seq: number
  readonly type: string
  readonly at: string
  /** Which call of the workflow it belongs to, where it does. */
  readonly command?: number
  /** What it is about in a word, where it has one: an activity, a workflow, a channel, a key. */
  readonly name?: string
  /** The fields of the event; missing with `values=none`. */
  readonly data?: Value
}

/** `GET api/instance/state?id=…&execution=…&at=<seq>`: as of an event, by default of the last. */
export interface StateAnswer {
  readonly execution: number
  /** The event that it is as of. */
  readonly at: number
  readonly items: readonly { readonly key: string; readonly value: Value; readonly at: string }[]
  readonly progress?: Value
}

/** `GET api/instance/output?id=…&values=full` */
export interface OutputAnswer {
  readonly output?: Value
  readonly progress?: Value
  readonly error?: { readonly name: string; readonly message: string }
}

/** `GET api/overview?minutes=60` */
export interface OverviewAnswer {
  readonly stats: Json<Stats>
  readonly runtimes: { readonly alive: number; readonly silent: number; readonly dead: number }
  readonly unserved: readonly Unserved[]
  readonly recent: Recent
  /** All partitions together; missing where the dashboard was given no outbox. */
  readonly outbox?: {
    readonly depth: number
    readonly lag: number
    readonly oldestMs: number
    readonly dead: number
  }
}

/** Throughput and latency of the latest instances. */
export interface Recent {
  /** How many instances were looked at, the latest ones. */
  readonly sample: number
  /** Since when they are complete: the sample, or the time that was asked for, begins here. */
  readonly since: string
  readonly until: string
  readonly bucketMs: number
  readonly buckets: readonly {
    readonly at: string
    readonly started: number
    readonly completed: number
    readonly failed: number
    /** Cancelled and terminated. */
    readonly stopped: number
    /** Median and 95th percentile of the time from creation to end, of those that ended in it. */
    readonly p50Ms?: number
    readonly p95Ms?: number
  }[]
  readonly workflows: readonly {
    readonly workflow: string
    readonly started: number
    readonly completed: number
    readonly failed: number
    readonly stopped: number
    readonly p50Ms?: number
    readonly p95Ms?: number
    readonly maxMs?: number
  }[]
}

/** `GET api/metrics`: flat names with numbers. */
export interface MetricsAnswer {
  readonly metrics: Readonly<Record<string, number>>
}

/** `GET api/doctor`: the worst first; `404` when the dashboard cannot examine the store. */
export interface DoctorAnswer {
  readonly at: string
  readonly findings: readonly ApiFinding[]
}

/** A finding of `doctor`. */
export interface ApiFinding {
  readonly level: 'ok' | 'note' | 'warning' | 'error'
  readonly what: string
  readonly detail: string
  /** Empty if nothing has to be done. */
  readonly fix: string
}

/** `GET api/workflows` */
export interface WorkflowsAnswer {
  readonly items: readonly WorkflowInfo[]
  readonly unserved: readonly Unserved[]
}

/** `GET api/tasks?activity=…&tag=…&session=…&instanceId=…&state=…&limit=100&after=…` */
export interface TasksAnswer extends ApiPage<Json<TaskInfo>> {
  /** All tasks, by activity and tag. */
  readonly totals: Stats['tasks']
}

/** `GET api/runtimes` */
export interface RuntimesAnswer {
  readonly items: readonly Json<RuntimeInfo>[]
  /** The background loops of the process that serves the dashboard, if it is a runtime. */
  readonly here?: {
    readonly pid: number
    readonly workers: readonly Json<RuntimeHealth['workers'][number]>[]
    readonly hints: Json<RuntimeHealth['hints']>
  }
}

/** `GET api/schedules` */
export interface SchedulesAnswer {
  readonly items: readonly Json<ScheduleInfo>[]
}

/** `GET api/schedule?name=…&limit=100`: with the instances that it started, the latest first. */
export interface ScheduleAnswer {
  readonly schedule: Json<ScheduleInfo>
  readonly runs: readonly InstanceItem[]
}

/** `GET api/outbox`: `404` when the dashboard was given none, as are the other addresses of the outbox. */
export interface OutboxAnswer {
  readonly partitions: readonly OutboxStats[]
  /** Pending dead letters, by topic; those without any are left out. */
  readonly dead: readonly { readonly topic: string; readonly count: number }[]
}

/** A dead letter. */
export type ApiDeadLetter = Omit<Json<DeadLetter>, 'message'> & {
  readonly message: Omit<Json<DeadLetter['message']>, 'payload'> & { readonly payload: Value }
}

/** `GET api/outbox/dead-letters?topic=…&partition=…&status=pending&limit=100&after=…` */
export type DeadLettersAnswer = ApiPage<ApiDeadLetter>

/** `GET api/queues` */
export interface QueuesAnswer {
  readonly items: readonly { readonly name: string; readonly counts: Counts }[]
}

/** A message of a queue. */
export interface ApiQueueMessage {
  readonly id: number
  readonly attempt: number
  readonly pushedAt: string
  readonly data?: Value
  readonly reason?: string
  /** Why it cannot be read. */
  readonly error?: string
}

/** `GET api/queue?name=…&dead=true&limit=100&after=<id>`: dead letters, or all that is stored. */
export interface QueueAnswer {
  readonly name: string
  readonly counts: Counts
  readonly items: readonly ApiQueueMessage[]
  readonly next?: number
}

/** Instances that failed, or are suspended, for the same reason. */
export type ApiErrorGroup = Json<Omit<ErrorGroup, 'ids'>>

/** `GET api/errors?<FilterQuery>&limit=1000`: among so many of the latest instances. */
export interface ErrorsAnswer {
  readonly items: readonly ApiErrorGroup[]
}

/** `GET api/error?fingerprint=…&<FilterQuery>&limit=1000`: `404` when no instance has this error. */
export interface ErrorAnswer {
  readonly group: ApiErrorGroup
  /** The ids of all of them, the latest first. */
  readonly ids: readonly string[]
  /** The latest of them. */
  readonly instances: readonly InstanceItem[]
}

/** Ids, or all that match a filter. */
export type Chosen = { readonly ids: readonly string[] } | { readonly filter: FilterQuery }

/** What can be done to many instances. */
export type BulkVerb = 'cancel' | 'terminate' | 'suspend' | 'resume' | 'delete'

/** `POST api/instances/<BulkVerb>` answers `BulkJob` within a second, finished or not. */
export type BulkRequest = Chosen & {
  readonly reason?: string
  /** For `delete`: terminates what has not ended. */
  readonly force?: boolean
}

/** `GET api/bulk?job=…`, and the answer to `POST api/bulk/stop`. */
export interface BulkJob {
  readonly job: string
  readonly verb: BulkVerb
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly startedAt: string
  readonly finishedAt?: string
  /** How many matched when it began; missing while they are counted. */
  readonly total?: number
  /** How many were worked through, and how many of these were changed. */
  readonly seen: number
  readonly changed: number
  /** Of those that could not be changed, the first few. */
  readonly refused: readonly { readonly id: string; readonly message: string }[]
  /** Why it failed. */
  readonly error?: string
}

/** `POST api/bulk/stop` */
export interface JobRequest {
  readonly job: string
}

/** `GET api/bulks`: those that this process has begun, the latest first. */
export interface BulksAnswer {
  readonly items: readonly BulkJob[]
}

/** `POST api/instance/send` answers `{}`. */
export interface SendRequest {
  readonly id: string
  readonly channel: string
  /** Any JSON; `undefined` when it is left out. */
  readonly data?: unknown
  readonly dedupeKey?: string
}

/** What `fork` and `trigger` answer: the id of the new instance. */
export interface IdAnswer {
  readonly id: string
}

/** `POST api/instance/fork` answers `IdAnswer`. */
export interface ForkRequest {
  readonly id: string
  /** The `seq` of the last event that both share. */
  readonly at: number
  readonly newId?: string
}

/** `POST api/schedules/<pause|resume|trigger|delete>`; `trigger` answers `IdAnswer`, the others `{}`. */
export interface ScheduleRequest {
  readonly name: string
}

/** How many dead letters a request reached. */
export interface ReachedAnswer {
  readonly count: number
}

/** `POST api/outbox/requeue` answers `ReachedAnswer`. */
export interface RequeueRequest {
  readonly ids: readonly string[]
}

/** `POST api/outbox/discard` answers `ReachedAnswer`: gives up all pending ones that match; of all topics with `all`. */
export interface DiscardRequest {
  readonly topic?: string
  readonly partition?: number
  readonly all?: boolean
}

/** `POST api/queue/<retry|discard>` answers `ReachedAnswer`: about dead letters. */
export interface QueueRequest {
  readonly name: string
  readonly ids: readonly number[]
}

/**
 * `GET api/live?path=<an address below api/, with its query>&path=…`: server-sent events. Each `change` has
 * a `LiveChange`: at first and whenever the answer of that address has changed. A comment every 15 seconds
 * keeps the connection open.
 */
export interface LiveChange {
  /** The address, as it was given. */
  readonly path: string
  /** What a `GET` of the address answers. */
  readonly body?: unknown
  /** In place of `body`, when it cannot be read just now. It is tried again. */
  readonly error?: ApiError['error']
}
