import { notify } from '../../../base/sync/notify.ts'
import type { Loaded } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import type { Claimer } from './claimer.ts'
import type { HintExchange } from './hint-exchange.ts'

const MAX_AT_ONCE = 200

/** Where mail goes. */
export interface MailReceiver {
  deliver(instance: LiveInstance, loaded: Loaded): void
}

/** Reads the inbox of instances that something was sent to; claims those that are not owned here. */
export class MailReader {
  readonly #core: RuntimeCore
  readonly #instances: LiveInstances
  readonly #claimer: Claimer
  readonly #hints: HintExchange
  readonly #wake = notify()
  readonly #wanted = new Set<Iid>()
  #receiver!: MailReceiver

  constructor(core: RuntimeCore, instances: LiveInstances, claimer: Claimer, hints: HintExchange) {
    this.#core = core
    this.#instances = instances
    this.#claimer = claimer
    this.#hints = hints
  }

  reportTo(receiver: MailReceiver): void {
    this.#receiver = receiver
  }

  /** There may be mail for these. */
  look(iids: Iterable<Iid>): void {
    for (const iid of iids) this.#wanted.add(iid)
    if (this.#wanted.size > 0) this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 50, max: 5_000 }
    return worker('mail', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    const iids = [...this.#wanted].slice(0, MAX_AT_ONCE)
    const owned: LiveInstance[] = []
    const others: Iid[] = []
    for (const iid of iids) {
      const instance = this.#instances.get(iid)
      if (instance === undefined) others.push(iid)
      else if (instance.isStarted) owned.push(instance)
      // It is being started: its inbox is read once the start is committed.
      else instance.inbox.expectEarlyMail()
    }
    for (const iid of iids) this.#wanted.delete(iid)
    if (others.length > 0) this.#claimer.hint(others)
    if (owned.length > 0) await this.#read(owned)
    return this.#wanted.size > 0 ? proceed() : idle()
  }

  async #read(instances: readonly LiveInstance[]): Promise<void> {
    const { store } = this.#core
    const ended = instances.map((instance) => instance.inbox.reading())
    try {
      const loaded = await store.load(instances.map(({ iid, turn }) => ({ iid, after: turn })))
      const byIid = new Map(loaded.map((instance) => [instance.iid, instance]))
      for (const instance of instances) {
        const read = byIid.get(instance.iid)
        if (read !== undefined) this.#deliver(this.#heirOf(instance), read)
      }
    } catch (error) {
      for (const { iid } of instances) this.#wanted.add(iid)
      throw error
    } finally {
      for (const end of ended) end()
    }
  }

  #deliver(instance: LiveInstance, loaded: Loaded): void {
    this.#receiver.deliver(instance, loaded)
    if (instance.hasNews()) this.#hints.found(1)
  }

  // An instance that continues as new again and again would never get its mail otherwise. The next
  // execution knows the same rows; an instance that was claimed again does not.
  #heirOf(instance: LiveInstance): LiveInstance {
    const current = this.#instances.get(instance.iid)
    return current?.inbox.isSameAs(instance.inbox) === true ? current : instance
  }
}
