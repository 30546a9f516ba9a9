import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Loaded, Wanted } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

const MOST_AT_ONCE = 200

/** What the reader needs of its runtime. */
export interface MailHost {
  readonly clock: Clock
  readonly log: Logger
  /** An owned copy. */
  instance(iid: Iid): LiveInstance | undefined
  load(wanted: readonly Wanted[]): Promise<readonly Loaded[]>
  deliver(instance: LiveInstance, loaded: Loaded): void
  /** It has mail, but is not owned here. */
  claim(iids: readonly Iid[]): void
}

/** Reads the mail of instances that somebody sent something to. */
export class MailReader {
  readonly #host: MailHost
  readonly #wake = notify()
  readonly #wanted = new Set<Iid>()

  constructor(host: MailHost) {
    this.#host = host
  }

  /** There may be mail for these. */
  look(iids: Iterable<Iid>): void {
    for (const iid of iids) this.#wanted.add(iid)
    if (this.#wanted.size > 0) this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#host
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 50, max: 5_000 }
    return worker('mail', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    const iids = [...this.#wanted].slice(0, MOST_AT_ONCE)
    const owned: LiveInstance[] = []
    const others: Iid[] = []
    for (const iid of iids) {
      const instance = this.#host.instance(iid)
      if (instance === undefined) others.push(iid)
      else if (instance.turn > 0) owned.push(instance)
      // It is being started, and looked at again when that is recorded.
      else instance.hasMail = true
    }
    for (const iid of iids) this.#wanted.delete(iid)
    if (others.length > 0) this.#host.claim(others)
    if (owned.length > 0) await this.#read(owned)
    return this.#wanted.size > 0 ? proceed() : idle()
  }

  async #read(instances: readonly LiveInstance[]): Promise<void> {
    const ended = instances.map((instance) => instance.known.reading())
    try {
      const loaded = await this.#host.load(instances.map(({ iid, turn }) => ({ iid, after: turn })))
      const byIid = new Map(loaded.map((instance) => [instance.iid, instance]))
      for (const instance of instances) {
        const read = byIid.get(instance.iid)
        if (read !== undefined) this.#host.deliver(this.#heirOf(instance), read)
      }
    } catch (error) {
      for (const { iid } of instances) this.#wanted.add(iid)
      throw error
    } finally {
      for (const end of ended) end()
    }
  }

  // One that continues as new without a pause would never be told anything otherwise. The next
  // execution knows the same rows; a copy that was claimed anew does not.
  #heirOf(instance: LiveInstance): LiveInstance {
    const current = this.#host.instance(instance.iid)
    return current?.known === instance.known ? current : instance
  }
}
