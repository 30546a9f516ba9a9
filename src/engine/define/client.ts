// What a client offers. `engine/client` implements it; the types are here because activities get a
// client as `ctx.client`.

import type { Admin, Filter, Listing, Page } from './admin.ts'
import type { Channel } from './channels.ts'
import type { Args, Workflow } from './definitions.ts'
import type {
  ExportedHistory,
  ImportOptions,
  Instance,
  InstanceInfo,
  SendOptions,
  StartOptions,
  Wait,
} from './instance.ts'
import type { Schedule, ScheduledStartOptions, Schedules } from './schedule.ts'

/** Starts workflows, and reads and controls their instances. */
export interface Client extends AsyncDisposable {
  /** Starts an instance. Resolves once the start is stored and survives a crash. */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<Instance<O>>
  /** Starts an instance and waits for its result. */
  run<I, O>(workflow: Workflow<I, O>, ...args: Args<NoInfer<I>, StartOptions & Wait>): Promise<O>
  /** Returns a handle to the instance with this id, without checking that it exists. */
  get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  get(id: string): Instance
  /**
   * Lists instances, newest first. `waitingFor` has only what the row of an instance tells, such as the
   * time of a delayed start: ask `instance.info()` for the rest.
   */
  list(filter?: Filter, page?: Page): Promise<Listing<InstanceInfo>>
  /** Finds, changes and removes instances, and shows the tasks and runtimes of the store. */
  readonly admin: Admin
  /**
   * Returns a client for a database transaction of your own: starts, messages and cancellations take
   * effect when you commit it, together with your own writes, or not at all.
   */
  in(tx: Transaction, options?: InTransactionOptions): InTransaction
  /**
   * Starts instances of a workflow at due times, from now on: creates a schedule, or changes the one that
   * has this name. Calling it again with the same arguments changes nothing, so a process can call it
   * each time it starts. Resolves once the schedule is stored.
   *
   * @example
   * await client.schedule('nightly-report', { cron: '0 3 * * *', timezone: 'Europe/Berlin' }, report)
   */
  schedule<I, O>(
    name: string,
    when: Schedule,
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, ScheduledStartOptions>
  ): Promise<void>
  /** Lists, pauses, resumes, triggers and deletes schedules. */
  readonly schedules: Schedules
  /**
   * Creates an instance from an export; it continues where the exported one was. Throws a `TypeError`
   * for anything that is not an export, and a `ConflictError` when the id is taken.
   */
  import(exported: ExportedHistory, options?: ImportOptions): Promise<Instance>
  /** Closes all connections. Calls that are still waiting reject at once. */
  close(): Promise<void>
}

/** What a client can do inside your transaction. Results are available only after the commit. */
export interface InTransaction {
  /** Starts an instance when you commit. Does not support `onConflict: 'restart'`. */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<{ readonly id: string }>
  /** Sends a message to a channel of an instance when you commit. */
  send<In>(
    id: string,
    channel: Channel<In, unknown>,
    data: NoInfer<In>,
    options?: SendOptions,
  ): Promise<void>
  /** Requests the cancellation of an instance when you commit. */
  cancel(id: string, reason?: string): Promise<void>
}

/** Options of `client.in`. */
export interface InTransactionOptions {
  /**
   * Notifies runtimes when you commit. On PostgreSQL, commits that notify wait for each other. Turn it
   * off for bulk loads: runtimes then find the work by polling, within ten seconds.
   *
   * @default true
   */
  notify?: boolean
}

/**
 * An open transaction in the database of the store: a `pg` client after `begin`; what postgres.js,
 * Kysely, Drizzle, Prisma or TypeORM pass to the callback of a transaction; or a `better-sqlite3` or
 * `node:sqlite` database after `begin`. A SQLite handle must use the same SQLite library as the store:
 * `openDatabase` of `holdfast/sqlite` opens one.
 */
export type Transaction =
  | { query(text: string, values?: unknown[]): Promise<unknown> }
  | { unsafe(text: string, values?: never[]): PromiseLike<unknown> }
  | { executeQuery(query: never): Promise<unknown> }
  | { execute(query: never): PromiseLike<unknown> }
  | { $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown> }
  | { prepare(text: string): unknown; exec(text: string): unknown }
