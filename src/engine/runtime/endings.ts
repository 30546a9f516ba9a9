import type { Ending, Iid } from '../../store/workflow-store.ts'

/** Is told that an instance has ended here, or (with `undefined`) that it has left this process. */
export type Told = (end: Ending | undefined) => void

/** Who waits in this process for the end of which instance. */
export class Endings {
  readonly #waiting = new Map<Iid, Set<Told>>()

  /** Waits for news of an instance, also when it is claimed here only later. Call the result to stop. */
  wait(iid: Iid, told: Told): () => void {
    const all = this.#waiting.get(iid) ?? new Set()
    all.add(told)
    this.#waiting.set(iid, all)
    return () => {
      if (all.delete(told) && all.size === 0) this.#waiting.delete(iid)
    }
  }

  /** Tells those who wait. */
  tell(iid: Iid, end: Ending | undefined): void {
    for (const told of this.#waiting.get(iid) ?? []) told(end)
  }
}
