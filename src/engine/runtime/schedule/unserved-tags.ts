import type { CommandEvent } from '../../../store/history.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import { serves } from '../../define/served-tags.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

// A runtime that is started at the same time may serve it.
const LOOK_AFTER_MS = 3_000

/** Warns, once for each tag, of activities that are left to others while no live runtime serves it. */
export class UnservedTags {
  readonly #core: RuntimeCore
  /** Tags that were warned of, or are about to be checked. */
  readonly #seen = new Set<string>()

  constructor(core: RuntimeCore) {
    this.#core = core
  }

  /** An activity whose tag is not served here is left to others. */
  watch(instance: LiveInstance, event: Extract<CommandEvent, { type: 'activity' }>): void {
    if (this.#seen.has(event.tag)) return
    this.#seen.add(event.tag)
    const { alarms, time } = this.#core
    alarms.set({ ring: () => void this.#look(instance, event) }, time.now() + LOOK_AFTER_MS)
  }

  async #look(
    instance: LiveInstance,
    event: Extract<CommandEvent, { type: 'activity' }>,
  ): Promise<void> {
    const { name: activity, tag, command } = event
    const isWaiting = await this.#isWaiting(instance.iid, command, tag).catch(() => false)
    // The next call checks it again.
    if (!isWaiting) return void this.#seen.delete(tag)
    this.#core.log.warn(
      { ...instanceKeys(instance), activity, ...(tag !== '' && { tag }) },
      tag === ''
        ? 'no live runtime runs activities without a tag; this one waits for a runtime that does'
        : 'no live runtime serves this tag; the activity waits for a runtime that does',
    )
  }

  async #isWaiting(iid: number, command: number, tag: string): Promise<boolean> {
    const { tasks, runtimes } = await this.#core.store.whereabouts(iid)
    const task = tasks.find((one) => one.command === command)
    if (task === undefined || task.owner !== null) return false
    return !runtimes.some((one) => one.serves === null || serves(one.serves, tag))
  }
}
