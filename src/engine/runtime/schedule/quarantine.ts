import { instanceKeys } from '../../core/log-keys.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { TAKEN_OVER } from '../core/reasons.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Identity } from './committer.ts'
import type { Eviction } from './eviction.ts'
import type { Finder } from './ports.ts'

/**
 * Instances that runtimes died with run only after the store has noted what is about to run, so that
 * the next owner knows what to blame.
 */
export class Quarantine {
  readonly #core: RuntimeCore
  readonly #registration: { readonly identity: Identity }
  readonly #eviction: Eviction
  readonly #finder: Finder

  constructor(
    core: RuntimeCore,
    registration: { readonly identity: Identity },
    eviction: Eviction,
    finder: Finder,
  ) {
    this.#core = core
    this.#registration = registration
    this.#eviction = eviction
    this.#finder = finder
  }

  /**
   * Records in the store what is about to run. Returns whether it may run: not if the store does not
   * answer. Then the instance is evicted, and its owner reads it again.
   */
  async mayRun(instance: LiveInstance, doing: string): Promise<boolean> {
    const { store, log } = this.#core
    const { iid, epoch } = instance
    // It may have been released meanwhile, and even be claimed again: then this answer is outdated.
    const evict = (reason: string): void => {
      if (instance.epoch !== epoch || instance.phase.is === 'released') return
      this.#eviction.evict(instance, reason)
    }
    try {
      if (await store.aboutTo(this.#registration.identity.runtime, iid, epoch, doing)) return true
      evict(TAKEN_OVER)
    } catch (error) {
      log.warn(
        { ...instanceKeys(instance), err: error },
        'could not record what is about to run; reloading the instance',
      )
      evict('the store does not answer')
      this.#finder.claimer.reconcile()
    }
    return false
  }
}
