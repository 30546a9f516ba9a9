// Keys of starts for the limits of their workflows. The process that starts an instance computes its key,
// unless it has only the contract of the workflow: then the first runtime that has the code does.

import type { Loaded } from '../../../store/claims.ts'
import { type Iid, NO_VERSION } from '../../../store/instances.ts'
import { readEvents } from '../../../store/history.ts'
import { isRejected } from '../../../store/store-error.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import { limitKeyOf } from '../../core/start-item.ts'

const MAX_LOADS = 64

interface Keyed {
  readonly instance: Loaded
  readonly key: string
}

/** Computes keys for the limits of workflows. */
export class LimitKeys {
  readonly #core: RuntimeCore

  constructor(core: RuntimeCore) {
    this.#core = core
  }

  /** Computes and records the keys of these instances. Returns whether any can be judged now. */
  async compute(iids: readonly Iid[]): Promise<boolean> {
    const { store } = this.#core
    const some = iids.slice(0, MAX_LOADS)
    const loaded = await store.load(some.map((iid) => ({ iid, after: 0 })))
    const keyed: Keyed[] = []
    for (const instance of loaded) {
      try {
        const key = this.#keyOf(instance)
        if (key !== undefined) keyed.push({ instance, key })
      } catch (error) {
        await this.#suspend(instance, error)
      }
    }
    return keyed.length > 0 && this.#record(keyed)
  }

  /** Returns whether any was recorded. A key that the store rejects must not stop the others. */
  async #record(keyed: readonly Keyed[]): Promise<boolean> {
    try {
      await this.#core.store.setLimitKeys(keyed.map(({ instance: { iid }, key }) => ({ iid, key })))
      return true
    } catch (error) {
      if (!isRejected(error)) throw error
      if (keyed.length === 1) {
        await this.#suspend(keyed[0]!.instance, error)
        return false
      }
    }
    let hasRecorded = false
    for (const one of keyed) hasRecorded = (await this.#record([one])) || hasRecorded
    return hasRecorded
  }

  /** `undefined` if the code here has no keys: another runtime has, or none any more. */
  #keyOf({ workflow, history }: Loaded): string | undefined {
    const { registry, values } = this.#core
    const { name, version } = workflow
    const definition =
      version === NO_VERSION
        ? registry.latest(name)
        : (registry.workflow(workflow) ?? registry.latest(name))
    const [first] = history.length === 0 ? [] : readEvents(history[0]!.events)
    if (definition === undefined || first?.type !== 'started') return undefined
    return limitKeyOf(definition, values, first.input)
  }

  /** Otherwise it would be tried again and again. */
  async #suspend({ id, workflow, execution }: Loaded, error: unknown): Promise<void> {
    const { store, values, log } = this.#core
    log.error(
      { instanceId: id, workflow: workflow.name, execution, err: error },
      'the key for the limit of this workflow could not be computed; the instance is suspended',
    )
    await store.suspend([id], values.encodeError(error))
  }
}
