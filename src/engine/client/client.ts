import { backoffMs, resolveBackoff } from '../../base/backoff.ts'
import { Batcher } from '../../base/batcher.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { describe } from '../../base/describe.ts'
import { TimeoutError } from '../../base/errors.ts'
import { uuidMaker } from '../../base/ids.ts'
import type { Logger } from '../../base/log.ts'
import { PermitNotify } from '../../base/notify.ts'
import { duration, having, option, resolveOptions } from '../../base/options.ts'
import { readEvents, writeEvents } from '../../store/history.ts'
import { StoreError } from '../../store/store-error.ts'
import type {
  Ending,
  Iid,
  InstanceRow,
  StartItem,
  Verdict,
  WorkflowStore,
} from '../../store/workflow-store.ts'
import { Rest } from '../../workers/rest.ts'
import type { Args, Workflow, WorkflowDefinition } from '../definitions.ts'
import { ConflictError } from '../errors.ts'
import { IidPool } from '../runtime/iid-pool.ts'
import type { EngineRuntime, Started } from '../runtime/runtime.ts'
import { startedEvent } from '../runtime/turn-row.ts'
import { parse } from '../schema.ts'
import type { Values } from '../values.ts'
import { describeInstance } from './describe-instance.ts'
import type { Instance, InstanceInfo, StartOptions, Wait } from './instance.ts'

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
  /** Ends all connections. */
  close(): Promise<void>
}

/** What a client works with. */
export interface ClientSetup {
  readonly store: WorkflowStore
  readonly values: Values
  readonly clock: Clock
  readonly log: Logger
  /** The runtime of this process, when there is one: it starts and ends instances without a detour. */
  readonly runtime: EngineRuntime | undefined
}

// The first look comes soon, later ones at longer and longer intervals.
const FIRST_LOOK_MS = 10
const LATEST_LOOK_MS = 1_000

/** The client side of the engine. */
export class EngineClient implements Client {
  readonly #setup: ClientSetup
  readonly #newId: () => string
  readonly #iids: IidPool
  readonly #starts: Batcher<StartItem, Verdict>
  readonly #looks: Batcher<Iid, InstanceRow | undefined>
  readonly #finds: Batcher<string, InstanceRow | undefined>
  readonly #numbers = new Map<string, Promise<number>>()
  #opened: Promise<void> | undefined

  constructor(setup: ClientSetup) {
    const { store } = setup
    this.#setup = setup
    this.#newId = uuidMaker(() => setup.clock.date().getTime())
    this.#iids = new IidPool(store)
    this.#starts = new Batcher((items) => store.start(items))
    this.#looks = new Batcher((iids) => store.look(iids))
    this.#finds = new Batcher((ids) => store.find(ids))
  }

  async start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<Instance<O>> {
    const [input, given] = args
    const { id } = resolveOptions('start', given, START_OPTIONS)
    const { handle } = await this.#start(checkWorkflow('start', workflow), input, id)
    return handle as Instance<O>
  }

  async run<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions & Wait>
  ): Promise<O> {
    const [input, given] = args
    const { id, ...wait } = resolveOptions('run', given, { ...START_OPTIONS, ...WAIT_OPTIONS })
    const { iid } = await this.#start(checkWorkflow('run', workflow), input, id)
    return this.#result(iid, wait) as Promise<O>
  }

  get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  get(id: string): Instance
  get(...args: [string] | [unknown, string]): Instance {
    const id = args.length === 1 ? args[0] : args[1]
    const workflow = args.length === 1 ? undefined : checkWorkflow('get', args[0])
    checkId(id, 'get: id')
    return this.#handle(id, undefined, workflow)
  }

  async close(): Promise<void> {
    await this.#setup.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #start(
    definition: WorkflowDefinition,
    value: unknown,
    given: string | undefined,
  ): Promise<{ iid: Iid; handle: Instance }> {
    const { values, runtime } = this.#setup
    await this.#open()
    const what = `workflow "${definition.name}": its input`
    const input = values.encode(await parse(definition.input, value, what), what)
    const id = given ?? this.#newId()
    const { iid, verdict } =
      runtime === undefined
        ? await this.#startElsewhere(definition, id, input)
        : await runtime.start({ definition, id, input })
    // The number was given out twice, by a server that lost its latest writes: another one will do.
    if (verdict === 'refused') return this.#start(definition, value, id)
    if (verdict === 'done') return { iid, handle: this.#handle(id, iid, definition) }
    const existing = await this.#existing(definition, id, input)
    return { iid: existing, handle: this.#handle(id, existing, definition) }
  }

  async #startElsewhere(
    definition: WorkflowDefinition,
    id: string,
    input: string,
  ): Promise<Started> {
    const iid = await this.#iids.take()
    const workflow = await this.#number(definition)
    const events = writeEvents([startedEvent({ definition, input })])
    const item: StartItem = {
      iid,
      id,
      workflow,
      owned: false,
      wakeAt: 0,
      turn: { execution: 1, turn: 1, at: 0, first: 1, count: 1, events },
      end: null,
    }
    return { iid, verdict: await this.#send(item) }
  }

  /** Sends a start, again when the answer was lost: the store recognises it. */
  async #send(item: StartItem): Promise<Verdict> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.#starts.call(item)
      } catch (error) {
        const again = error instanceof StoreError && error.retryable && failures < MOST_SENDS
        if (!again) throw error
        await sleep(this.#setup.clock, backoffMs(RESEND, failures, Math.random))
      }
    }
  }

  /** The instance that has the id already: the same one for the same workflow, else a conflict. */
  async #existing(definition: WorkflowDefinition, id: string, input: string): Promise<Iid> {
    const { store, log } = this.#setup
    const row = await this.#finds.call(id)
    if (row === undefined) throw new ConflictError(`start: id "${id}" was just deleted`, id)
    if (row.workflow.name !== definition.name) {
      throw new ConflictError(
        `start: id "${id}" belongs to workflow "${row.workflow.name}", not to "${definition.name}"`,
        id,
      )
    }
    const [loaded] = await store.load([{ iid: row.iid, after: 0 }])
    const [first] = loaded === undefined ? [] : readEvents(loaded.history[0]?.events ?? '')
    if (first?.type === 'started' && first.input !== input) {
      log.warn({ id, workflow: definition.name }, 'start: this id exists with another input')
    }
    return row.iid
  }

  #number({ name, version }: WorkflowDefinition): Promise<number> {
    const key = `${name} ${version}`
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#setup.store.workflowNumbers([{ name, version }]).then(([first]) => first!)
      // One that failed is asked for again the next time.
      number.catch(() => this.#numbers.delete(key))
      this.#numbers.set(key, number)
    }
    return number
  }

  #handle(id: string, iid: Iid | undefined, workflow: WorkflowDefinition | undefined): Instance {
    return {
      id,
      result: async (given) => {
        const wait = resolveOptions('result', given, WAIT_OPTIONS)
        return this.#result(iid ?? (await this.#find(id, workflow)).iid, wait)
      },
      info: () => this.#info(id),
      resume: async () => {
        await this.#open()
        const count = await this.#setup.store.resume([id])
        if (count === 0 && (await this.#finds.call(id)) === undefined) {
          throw new Error(`resume: there is no instance "${id}"`)
        }
        if (count > 0) this.#setup.runtime?.claimNow()
      },
    }
  }

  async #find(id: string, workflow: WorkflowDefinition | undefined): Promise<InstanceRow> {
    await this.#open()
    const row = await this.#finds.call(id)
    if (row === undefined) throw new Error(`result: there is no instance "${id}"`)
    if (workflow !== undefined && row.workflow.name !== workflow.name) {
      throw new ConflictError(
        `result: instance "${id}" is of workflow "${row.workflow.name}", not of "${workflow.name}"`,
        id,
      )
    }
    return row
  }

  async #info(id: string): Promise<InstanceInfo | undefined> {
    const { store, values } = this.#setup
    await this.#open()
    const row = await this.#finds.call(id)
    if (row === undefined) return undefined
    const open = row.status === 'running' || row.status === 'suspended'
    const [loaded] = open ? await store.load([{ iid: row.iid, after: 0 }]) : []
    return describeInstance(row, loaded?.history ?? [], values)
  }

  async #result(
    iid: Iid,
    wait: { timeout: number | undefined; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    const { timeout, signal } = wait
    const { clock, values } = this.#setup
    const limit = new AbortController()
    const timer =
      timeout === undefined
        ? undefined
        : clock.after(timeout, () =>
            limit.abort(new TimeoutError(`result: it took longer than ${timeout} ms`, timeout)),
          )
    const signals = [signal, timer && limit.signal].filter((one) => one !== undefined)
    try {
      const end = await this.#ending(
        iid,
        signals.length > 1 ? AbortSignal.any(signals) : signals[0],
      )
      if (end.status === 'completed') return values.value(end.output)
      throw values.error(end.output)
    } finally {
      timer?.cancel()
    }
  }

  async #ending(iid: Iid, signal: AbortSignal | undefined): Promise<Ending> {
    const { clock, runtime } = this.#setup
    const news = new PermitNotify()
    let ended: Ending | undefined
    const stop = runtime?.endings.wait(iid, (end) => {
      ended ??= end
      news.notifyOne()
    })
    try {
      for (let delayMs = FIRST_LOOK_MS; ; delayMs = Math.min(delayMs * 2, LATEST_LOOK_MS)) {
        signal?.throwIfAborted()
        const here = runtime?.owns(iid) === true
        ended ??= here ? undefined : await this.#look(iid)
        if (ended !== undefined) return ended
        // What runs here tells when it ends, or leaves; elsewhere somebody has to look.
        if (news.takePermit()) continue
        await restUntil(new Rest(clock, [news], here ? undefined : delayMs), signal)
      }
    } finally {
      stop?.()
    }
  }

  /** The end of an instance as the store has it. */
  async #look(iid: Iid): Promise<Ending | undefined> {
    const row = await this.#looks.call(iid).catch(nothingYet)
    if (row === 'unknown') return undefined
    if (row === undefined) throw new Error('result: the instance was deleted')
    const { status, output } = row
    const open = status === 'running' || status === 'suspended'
    return open || output === null ? undefined : { status, output }
  }

  #open(): Promise<void> {
    if (this.#opened === undefined) {
      this.#opened = this.#setup.store.open()
      // One that failed is tried again by the next call.
      this.#opened.catch(() => (this.#opened = undefined))
    }
    return this.#opened
  }
}

// A store that does not answer for about ten seconds is the caller's to deal with.
const MOST_SENDS = 8
const RESEND = resolveBackoff('start', { initial: 50, max: 3_000 })

/** A store that does not answer right now says nothing about the instance. */
function nothingYet(error: unknown): 'unknown' {
  if (error instanceof StoreError && error.retryable) return 'unknown'
  throw error
}

const START_OPTIONS = { id: option(checkId, undefined) }
const WAIT_OPTIONS = {
  timeout: duration(undefined),
  signal: option(having<AbortSignal>('an AbortSignal', ['addEventListener']), undefined),
}

// Half of a surrogate pair: it has no UTF-8 form, so databases refuse or change it.
const LONE_SURROGATE = /\p{Surrogate}/u

// Ids are shown to people, stand in URLs and file names, and are compared as they are.
function checkId(value: unknown, what: string): string {
  if (typeof value === 'string' && value.length >= 1 && value.length <= 500) {
    // eslint-disable-next-line no-control-regex -- control characters are what is looked for
    if (!/[\x00-\x1f]/.test(value) && !LONE_SURROGATE.test(value)) return value
  }
  throw new TypeError(
    `${what} must be text of 1 to 500 characters without control characters, got ${describe(value)}`,
  )
}

function checkWorkflow(what: string, value: unknown): WorkflowDefinition {
  if ((value as { kind?: unknown } | undefined)?.kind === 'workflow') {
    return value as WorkflowDefinition
  }
  throw new TypeError(`${what}: needs a workflow, got ${describe(value)}`)
}

/** The end of a rest, or a rejection when the signal aborts first. */
async function restUntil(rest: Rest, signal: AbortSignal | undefined): Promise<void> {
  const stop = (): void => rest.stop()
  signal?.addEventListener('abort', stop, { once: true })
  await rest.ended
  signal?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
}
