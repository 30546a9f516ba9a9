import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Committer } from './committer.ts'
import type { LiveInstances } from './live-instances.ts'

/** How many instances a runtime may own at once, and how many of those slots are free. */
export class Capacity {
  readonly #core: RuntimeCore
  readonly #committer: Committer
  readonly #instances: LiveInstances
  readonly #max: number

  constructor(core: RuntimeCore, committer: Committer, instances: LiveInstances, max: number) {
    this.#core = core
    this.#committer = committer
    this.#instances = instances
    this.#max = max
  }

  /** How many more instances it may take on. None while commits pile up or memory is full. */
  get free(): number {
    if (this.#core.closing.aborted || this.#committer.crowded || this.#instances.heavy) return 0
    return this.#max - this.#instances.owned
  }

  /** Whether more than half of the slots are in use: then instances that only wait are released. */
  get isCrowded(): boolean {
    return this.free < this.#max / 2
  }
}
