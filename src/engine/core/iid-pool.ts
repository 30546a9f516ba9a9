import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'

const BLOCK = 1_000

/** Numbers for new instances, reserved in the store in blocks. */
export class IidPool {
  readonly #store: WorkflowStore
  #next = 0
  #end = 0
  #filling: Promise<void> | undefined

  constructor(store: WorkflowStore) {
    this.#store = store
  }

  /** The next number of the block; `undefined` when none is left. */
  next(): Iid | undefined {
    return this.#next === this.#end ? undefined : this.#next++
  }

  /** The next number. Reserves another block first if none is left. */
  async take(): Promise<Iid> {
    while (this.#next === this.#end) await (this.#filling ??= this.#fill())
    return this.#next++
  }

  /**
   * Discards the rest of the block, because a server that lost its latest writes reserves the same
   * numbers again. With `taken`, a number that is in use already, discards only the block it is from.
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
