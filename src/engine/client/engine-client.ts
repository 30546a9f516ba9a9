import { resolveOptions } from '../../base/options.ts'
import {
  CLIENT_ACCESS,
  type ClientAccess,
  type ClientWithAccess,
} from '../../store/client-access.ts'
import type { Admin, Filter, Listing, Page } from '../define/admin.ts'
import type { Client, InTransaction, InTransactionOptions, Transaction } from '../define/client.ts'
import type { Args, Workflow } from '../define/definitions.ts'
import { checkId } from '../define/names.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { EngineAdmin } from './engine-admin.ts'
import { list } from './listing.ts'
import { ClientCore } from './client-core.ts'
import type { ClientSetup } from '../core/local-runtime.ts'
import { handle } from './handle.ts'
import { importExecution } from './histories.ts'
import { inTransaction } from './in-transaction.ts'
import type {
  ExportedHistory,
  ImportOptions,
  Instance,
  InstanceInfo,
  StartOptions,
  Wait,
} from '../define/instance.ts'
import type { Schedule, ScheduledStartOptions, Schedules } from '../define/schedule.ts'
import { result } from './result.ts'
import { schedule, schedules } from './schedules.ts'
import { START_OPTIONS } from '../define/start-options.ts'
import { start } from './starter.ts'
import { WAIT_OPTIONS } from './poll.ts'
import { quietWhenClosed } from './waits.ts'

// What a value of another feature is, for transforms that depend on it.
const OUTBOX = 'outbox'

const RUN_OPTIONS = { ...START_OPTIONS, ...WAIT_OPTIONS }

/** The client. */
export class EngineClient implements Client, ClientWithAccess {
  /** What its methods share. */
  protected readonly core: ClientCore
  readonly admin: Admin

  constructor(setup: ClientSetup) {
    this.core = new ClientCore(setup)
    this.admin = new EngineAdmin(this.core)
  }

  async start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<Instance<O>> {
    const [input, given] = args
    const options = resolveOptions('start', given, START_OPTIONS)
    const definition = checkWorkflow('start', workflow)
    const { id, iid } = await start(this.core, definition, input, options)
    return handle(this.core, id, iid, definition) as Instance<O>
  }

  run<I, O>(workflow: Workflow<I, O>, ...args: Args<NoInfer<I>, StartOptions & Wait>): Promise<O> {
    const [input, given] = args
    return quietWhenClosed(async () => {
      const options = resolveOptions('run', given, RUN_OPTIONS)
      const definition = checkWorkflow('run', workflow)
      const found = await this.core.waits.within(
        `run: the start of workflow "${definition.name}"`,
        options,
        (limit) => start(this.core, definition, input, options, limit),
      )
      return (await result(this.core, found, options)) as O
    })
  }

  get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  get(id: string): Instance
  get(...args: [string] | [unknown, string]): Instance {
    const id = args.length === 1 ? args[0] : args[1]
    const workflow = args.length === 1 ? undefined : checkWorkflow('get', args[0])
    checkId(id, 'get: id')
    return handle(this.core, id, undefined, workflow)
  }

  list(filter?: Filter, page?: Page): Promise<Listing<InstanceInfo>> {
    return list(this.core, filter, page)
  }

  in(tx: Transaction, options?: InTransactionOptions): InTransaction {
    return inTransaction(this.core, tx, options)
  }

  async schedule<I, O>(
    name: string,
    when: Schedule,
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, ScheduledStartOptions>
  ): Promise<void> {
    const [input, options] = args
    await schedule(this.core, name, when, checkWorkflow('schedule', workflow), input, options)
  }

  get schedules(): Schedules {
    return schedules(this.core)
  }

  async import(exported: ExportedHistory, options?: ImportOptions): Promise<Instance> {
    const { id, iid } = await importExecution(this.core, exported, options)
    return handle(this.core, id, iid, undefined)
  }

  async close(): Promise<void> {
    await this.core.close()
  }

  /** For other features of this package, which use the same database. */
  get [CLIENT_ACCESS](): ClientAccess {
    const { core } = this
    const { store, clock, log, values, chain, metrics, tracing } = core.setup
    return {
      store,
      clock,
      log,
      metrics,
      tracing,
      open: () => core.open(),
      encode(value, label) {
        const text = values.encode(value, label)
        return chain === undefined ? text : chain.wrap(text, OUTBOX)
      },
      decode: (text) => values.value(chain === undefined ? text : chain.unwrap(text, OUTBOX)),
      beforeClose: (close) => core.beforeClose(close),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
