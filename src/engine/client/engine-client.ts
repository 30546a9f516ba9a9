import { resolveOptions } from '../../base/options.ts'
import type { Client, InTransaction, InTransactionOptions, Transaction } from '../define/client.ts'
import type { Args, Workflow } from '../define/definitions.ts'
import { checkId } from '../define/names.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { ClientCore } from './client-core.ts'
import type { ClientSetup } from '../core/local-runtime.ts'
import { handle } from './handle.ts'
import { importExecution } from './histories.ts'
import { inTransaction } from './in-transaction.ts'
import type {
  ExportedHistory,
  ImportOptions,
  Instance,
  StartOptions,
  Wait,
} from '../define/instance.ts'
import { result } from './result.ts'
import { START_OPTIONS } from '../define/start-options.ts'
import { start } from './starter.ts'
import { WAIT_OPTIONS } from './poll.ts'
import { quietWhenClosed } from './waits.ts'

const RUN_OPTIONS = { ...START_OPTIONS, ...WAIT_OPTIONS }

/** The client. */
export class EngineClient implements Client {
  /** What its methods share. */
  protected readonly core: ClientCore

  constructor(setup: ClientSetup) {
    this.core = new ClientCore(setup)
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
    return quietWhenClosed(this.#run(workflow, input, given)) as Promise<O>
  }

  async #run(workflow: unknown, input: unknown, given: unknown): Promise<unknown> {
    const options = resolveOptions('run', given as StartOptions & Wait, RUN_OPTIONS)
    const definition = checkWorkflow('run', workflow)
    const found = await this.core.waits.within(
      `run: the start of workflow "${definition.name}"`,
      options,
      (limit) => start(this.core, definition, input, options, limit),
    )
    return result(this.core, found, options)
  }

  get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  get(id: string): Instance
  get(...args: [string] | [unknown, string]): Instance {
    const id = args.length === 1 ? args[0] : args[1]
    const workflow = args.length === 1 ? undefined : checkWorkflow('get', args[0])
    checkId(id, 'get: id')
    return handle(this.core, id, undefined, workflow)
  }

  in(tx: Transaction, options?: InTransactionOptions): InTransaction {
    return inTransaction(this.core, tx, options)
  }

  async import(exported: ExportedHistory, options?: ImportOptions): Promise<Instance> {
    const { id, iid } = await importExecution(this.core, exported, options)
    return handle(this.core, id, iid, undefined)
  }

  async close(): Promise<void> {
    await this.core.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
