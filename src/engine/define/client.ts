// What a client does for its users. The code is in `engine/client`; the types are here because
// activities get a client as `ctx.client`.

import type { Channel } from './channels.ts'
import type { Args, Workflow } from './definitions.ts'
import type {
  ExportedHistory,
  ImportOptions,
  Instance,
  SendOptions,
  StartOptions,
  Wait,
} from './instance.ts'

/** Starts workflows and looks at them. */
export interface Client extends AsyncDisposable {
  /** Starts an instance; resolves when that is recorded and survives a crash. */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<Instance<O>>
  /** Starts an instance and waits for its result. */
  run<I, O>(workflow: Workflow<I, O>, ...args: Args<NoInfer<I>, StartOptions & Wait>): Promise<O>
  /** An instance by id, whether it exists or not. */
  get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  get(id: string): Instance
  /**
   * The same inside a transaction of yours: what is started, sent or cancelled there happens when you
   * commit it, together with what you wrote yourself, or not at all.
   */
  in(tx: Transaction, options?: InTransactionOptions): InTransaction
  /**
   * Makes an instance from an export, which goes on where that one left off. Refuses what is not
   * an export, and an id that is taken.
   */
  import(exported: ExportedHistory, options?: ImportOptions): Promise<Instance>
  /** Ends all connections. Whatever is still waited for is rejected at once. */
  close(): Promise<void>
}

/** What a client can do in a transaction of the caller. There is no result: it comes after the commit. */
export interface InTransaction {
  /** Starts an instance when the transaction is committed. `onConflict: 'restart'` is refused here. */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<{ readonly id: string }>
  /** Puts a message into a channel of an instance when the transaction is committed. */
  send<In>(
    id: string,
    channel: Channel<In, unknown>,
    data: NoInfer<In>,
    options?: SendOptions,
  ): Promise<void>
  /** Asks an instance to end when the transaction is committed. */
  cancel(id: string, reason?: string): Promise<void>
}

/** Options of `client.in`. */
export interface InTransactionOptions {
  /**
   * Whether runtimes are told with the commit. On PostgreSQL that makes such commits wait for each
   * other; without it, what was committed is found at the next tick, within ten seconds: for bulk loads.
   *
   * @default true
   */
  notify?: boolean
}

/**
 * A transaction of the database that the store is in: a client of `pg` after `begin`, what
 * postgres.js, Kysely, Drizzle, Prisma or TypeORM hand to the callback of theirs, or a handle of
 * `better-sqlite3` or `node:sqlite` after `begin`, which must be of the SQLite library that the store
 * uses: `openDatabase` of `holdfast/sqlite` opens one.
 */
export type Transaction =
  | { query(text: string, values?: unknown[]): Promise<unknown> }
  | { unsafe(text: string, values?: never[]): PromiseLike<unknown> }
  | { executeQuery(query: never): Promise<unknown> }
  | { execute(query: never): PromiseLike<unknown> }
  | { $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown> }
  | { prepare(text: string): unknown; exec(text: string): unknown }
