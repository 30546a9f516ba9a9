// Starts instances for a runtime. If it has the code and room, and the instance is due now, it owns the
// instance from the beginning, and commits its start with its first turn. Any other is committed
// unowned; a runtime that has its code claims it when it is due, and when the limit of its workflow admits
// it.
//
//   An id that another transaction has locked delays only its own start: the first turn is dropped,
//   and the start is sent again unowned, apart from all others.

import type { Abortable } from '../../../base/sync/on-abort.ts'
import { Batcher } from '../../../base/sync/batcher.ts'
import type { StartItem, Verdict } from '../../../store/commits.ts'
import { type Iid, type InstanceRow, NO_VERSION } from '../../../store/instances.ts'
import { bytesOfStart, MAX_CALL_BYTES } from '../../../store/sizes.ts'
import { StoreError } from '../../../store/store-error.ts'
import { Blocked } from '../../core/blocked.ts'
import { momentAfter } from '../../core/moments.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import type { Capacity } from './capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Committer, Identity } from './committer.ts'
import type { InstanceScheduler } from './instance-scheduler.ts'
import type { Finder } from './ports.ts'
import { LiveInstance } from '../../instance/live-instance.ts'
import type { IidPool } from '../../core/iid-pool.ts'
import {
  firstEvent,
  type NewInstance,
  startItem,
  type StartOutcome,
  unownedWorkflow,
} from '../../core/start-item.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'

/** The services that starts need. */
export interface StartServices {
  readonly registration: { readonly identity: Identity }
  readonly iids: IidPool
  readonly numbers: WorkflowNumbers
  readonly committer: Committer
  readonly scheduler: InstanceScheduler
  readonly capacity: Capacity
  readonly finder: Finder
  /** Whether code that blocks the event loop ends the process. */
  readonly isKilled: boolean
}

/** Starts instances for one runtime. */
export class Starts {
  readonly #core: RuntimeCore
  readonly #services: StartServices
  /** Workflows that were found not to be registered here. */
  readonly #warned = new Set<string>()
  readonly #blocked: Blocked<StartItem, Verdict>
  readonly #finds: Batcher<string, InstanceRow | undefined>

  constructor(core: RuntimeCore, services: StartServices) {
    const { store, clock, log, random } = core
    this.#core = core
    this.#services = services
    this.#finds = new Batcher((ids) => store.find(ids))
    this.#blocked = new Blocked(
      {
        clock,
        log,
        what: 'start',
        random,
        idOf: ({ id }) => id,
        bytesOf: bytesOfStart,
        send: (items) => this.#sendAgain(items),
        isLocked: (verdict) => verdict === 'locked',
        isUntried: (verdict) => verdict === 'untried',
        // The store recognises a start that comes twice.
        isKeptAfter: (error) => error instanceof StoreError && error.retryable,
      },
      MAX_CALL_BYTES,
    )
  }

  /** How many starts another transaction blocks. */
  get blocked(): number {
    return this.#blocked.size
  }

  /** Takes back the starts that instances asked for: the instances may be gone. */
  forgetChildren(): void {
    this.#blocked.forget(({ parent }) => parent !== null, closedError)
  }

  /** Rejects all starts that still wait, and sends nothing more. */
  close(): void {
    this.#blocked.close(closedError())
  }

  /**
   * Starts an instance; resolves when that is committed, or when its id turns out to be taken. The signal
   * takes back a start that another transaction blocks.
   */
  async start(start: NewInstance, signal?: Abortable): Promise<StartOutcome> {
    const { committer, iids, numbers, scheduler, capacity, isKilled } = this.#services
    if (committer.crowded) await committer.room()
    const iid = start.iid ?? iids.next() ?? (await iids.take())
    const isSuspended = isKilled && (await this.#isSuspended(start.id))
    if (this.#core.closing.aborted)
      throw new StoreError('closed', 'start', 'the runtime is closing')
    const { definition, id, input, parent, labels, messages, priority, delayMs } = start
    const isLater = start.iid !== undefined || delayMs > 0
    const hasCode = definition.run !== undefined && numbers.of(definition) !== undefined
    const isElsewhere = !hasCode || this.#blocked.has(id) || isSuspended
    // Which instances of a workflow with a limit may run, only the store can tell.
    const isLimited = definition.limit !== undefined
    if (isLater || isElsewhere || isLimited || capacity.free <= 0) {
      return this.#startUnowned(start, iid, signal)
    }
    const run = scheduler.execution(definition, id)
    const started = firstEvent(start)
    const facts = { iid, id, definition, run, input, started, parent, execution: 1 }
    const instance = new LiveInstance(facts)
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      const settle = (end: Verdict | Error): void =>
        end instanceof Error ? reject(end) : resolve(end)
      instance.startWith({ labels, messages, ...(priority !== 0 && { priority }), settle })
      scheduler.begin(instance)
    })
    if (verdict === 'locked') return this.#startUnowned(start, iid, signal, true)
    if (verdict === 'done') this.#core.meter?.started(definition.name)
    return { iid, verdict }
  }

  /**
   * An instance takes its first turn before the store checks its id. If that turn blocked the event loop,
   * and the next process starts the instance again, it would end that process as well.
   */
  async #isSuspended(id: string): Promise<boolean> {
    return (await this.#finds.call(id))?.status === 'suspended'
  }

  async #startUnowned(
    start: NewInstance,
    iid: Iid,
    signal: Abortable | undefined,
    wasLocked = false,
  ): Promise<StartOutcome> {
    const { time } = this.#core
    const { numbers } = this.#services
    const { delayMs } = start
    const definition = unownedWorkflow(start)
    const known = numbers.of(definition)
    if (known === undefined) this.#warnUnregistered(definition)
    const workflow = known ?? (await numbers.ask(definition.name, definition.version))
    const at = time.now()
    const wakeAt = momentAfter(at, delayMs)
    const item = startItem(start, { iid, workflow, at, wakeAt })
    let verdict: Verdict = 'locked'
    if (!wasLocked && !this.#blocked.has(item.id)) verdict = await this.#commit(item)
    if (verdict === 'locked') {
      // The next owner of its parent starts it.
      if (start.parent !== null && this.#core.closing.aborted) throw closedError()
      verdict = await this.#blocked.wait(item, signal)
    }
    if (known !== undefined) this.#claim(iid, start, wakeAt)
    if (verdict === 'done') {
      this.#core.meter?.started(definition.name)
      this.#tellStart(iid, known !== undefined)
    }
    return { iid, verdict }
  }

  /** Under a limit it is named, so that it need not wait until many others have been judged. */
  #claim(iid: Iid, { definition, delayMs }: NewInstance, wakeAt: number): void {
    const { claimer } = this.#services.finder
    if (definition.limit !== undefined && delayMs === 0) claimer.hint([iid])
    else claimer.claimAt(wakeAt)
  }

  #commit(start: StartItem): Promise<Verdict> {
    const { committer } = this.#services
    return new Promise((resolve, reject) => {
      committer.add({
        start,
        settle: (result) => (result instanceof Error ? reject(result) : resolve(result)),
      })
      committer.flush()
    })
  }

  /** The store refuses a start that an instance asked for, unless this runtime still owns it. */
  async #sendAgain(items: readonly StartItem[]): Promise<readonly Verdict[]> {
    const { store } = this.#core
    const verdicts = new Map<StartItem, Verdict>()
    for (const hasParent of [false, true]) {
      const some = items.filter(({ parent }) => (parent !== null) === hasParent)
      if (some.length === 0) continue
      const runtime = hasParent ? { runtime: this.#services.registration.identity.runtime } : {}
      const answers = await store.start(some, { ...runtime, wereLocked: true })
      some.forEach((item, i) => verdicts.set(item, answers[i]!))
    }
    return items.map((item) => verdicts.get(item)!)
  }

  /** An unowned instance is for other runtimes, unless there is room for it here. */
  #tellStart(iid: Iid, isKnown: boolean): void {
    const { capacity, finder } = this.#services
    if (!isKnown || capacity.free <= 0) finder.hints.announce({ kind: 'due', iids: [iid] })
  }

  #warnUnregistered({ name, version }: WorkflowDefinition): void {
    if (this.#warned.has(`${name} ${version}`)) return
    this.#warned.add(`${name} ${version}`)
    this.#core.log.warn(
      { workflow: name, ...(version !== NO_VERSION && { version }) },
      'this workflow is not registered here: its instances wait for a runtime that registers it',
    )
  }
}

function closedError(): StoreError {
  return new StoreError('closed', 'start', 'the runtime is closed')
}
