// How a runtime starts instances. One whose code is here, that is due now and has room here is owned
// from the beginning: it is recorded with its first turn. Any other is recorded as nobody's, and
// claimed by whoever has its code, when it is due.

import type { Logger } from '../../base/log.ts'
import type { Verdict } from '../../store/commits.ts'
import type { News } from '../../store/hints.ts'
import { type Iid, NO_VERSION } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import { momentAfter } from '../context/moments.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import type { Committer } from './committer.ts'
import type { Conductor } from './conductor.ts'
import { newCopy } from './copy.ts'
import type { IidPool } from './iid-pool.ts'
import { firstEvent, type NewInstance, startItem, unownedWorkflow } from './start-item.ts'
import type { StoreClock } from './store-clock.ts'
import type { WorkflowNumbers } from './workflow-numbers.ts'

/** What became of a start. */
export interface Started {
  readonly iid: Iid
  readonly verdict: Verdict
}

/** What starts are made with. */
export interface StartsHost {
  readonly log: Logger
  readonly time: StoreClock
  readonly iids: IidPool
  readonly numbers: WorkflowNumbers
  readonly committer: Committer
  readonly conductor: Conductor
  /** How many more instances may be worked on. */
  freeInstances(): number
  isClosing(): boolean
  /** Something is due at this moment of store time and nobody owns it. */
  claimAt(at: number): void
  /** Tells other processes. */
  tell(news: News): void
}

/** Starts instances for one runtime. */
export class Starts {
  readonly #host: StartsHost
  /** Workflows that were found not to be registered here. */
  readonly #warned = new Set<string>()

  constructor(host: StartsHost) {
    this.#host = host
  }

  /** Starts an instance; resolves when it is recorded, or when its id turns out to be taken. */
  async start(start: NewInstance): Promise<Started> {
    const { committer, iids, numbers, conductor } = this.#host
    await committer.room()
    const iid = start.iid ?? (await iids.take())
    if (this.#host.isClosing()) throw new StoreError('closed', 'start', 'the runtime is closing')
    const { definition, id, input, parent, delayMs } = start
    const isLater = start.iid !== undefined || delayMs > 0
    const hasCode = definition.run !== undefined && numbers.of(definition) !== undefined
    if (isLater || !hasCode || this.#host.freeInstances() <= 0) {
      return this.#startUnowned(start, iid)
    }
    const run = conductor.execution(definition, id)
    const started = firstEvent(start)
    const copy = newCopy({ iid, id, definition, run, input, started, parent })
    return new Promise((resolve, reject) => {
      copy.onStarted = (verdict) =>
        verdict instanceof Error ? reject(verdict) : resolve({ iid, verdict })
      conductor.begin(copy, start)
    })
  }

  async #startUnowned(start: NewInstance, iid: Iid): Promise<Started> {
    const { time, numbers, committer } = this.#host
    const { delayMs } = start
    const definition = unownedWorkflow(start)
    const known = numbers.of(definition)
    if (known === undefined) this.#warnUnregistered(definition)
    const workflow = known ?? (await numbers.ask(definition.name, definition.version))
    const at = time.now()
    const wakeAt = momentAfter(at, delayMs)
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      committer.add({
        start: startItem(start, { iid, workflow, at, wakeAt }),
        settle: (result) => (result instanceof Error ? reject(result) : resolve(result)),
      })
      committer.flush()
    })
    if (known !== undefined) this.#host.claimAt(wakeAt)
    if (verdict === 'done') this.#tellStart(iid, known !== undefined)
    return { iid, verdict }
  }

  /** An instance that nobody owns is for others, unless there is room for it here. */
  #tellStart(iid: Iid, isKnown: boolean): void {
    if (!isKnown || this.#host.freeInstances() <= 0) this.#host.tell({ kind: 'due', iids: [iid] })
  }

  #warnUnregistered({ name, version }: WorkflowDefinition): void {
    if (this.#warned.has(`${name} ${version}`)) return
    this.#warned.add(`${name} ${version}`)
    this.#host.log.warn(
      { workflow: name, ...(version !== NO_VERSION && { version }) },
      'this workflow is not registered here: its instances wait for a runtime that registers it',
    )
  }
}
