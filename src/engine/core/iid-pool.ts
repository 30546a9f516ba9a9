import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'

const BLOCK = 1_000

/** Numbers for new instances, taken from the store in blocks. */
export class IidPool {
  readonly #store: WorkflowStore
  #next = 0
  #end = 0
  #filling: Promise<void> | undefined

  constructor(store: WorkflowStore) {
    this.#store = store
  }

  async take(): Promise<Iid> {
    while (this.#next === this.#end) await (this.#filling ??= this.#fill())
    return this.#next++
  }

  /**
   * Leaves what is left of the block unused: a server that lost its latest writes gives out the same
   * numbers again. Given a number that turned out to be taken, only of the block it came from.
   */
  forget(taken?: Iid): void {
    const isFromBlock = taken === undefined || (taken > this.#end - 1 - BLOCK && taken < this.#end)
    if (isFromBlock) this.#next = this.#end
  }

  async #fill(): Promise<void> {
    try {
      this.#next = await this.#store.reserve(BLOCK)
      this.#end = this.#next + BLOCK
    } finally {
      this.#filling = undefined
    }
  }
}
