// Where every part of a runtime reports that there may be work, here or in other processes.

import type { Iid } from '../../../store/instances.ts'
import type { MailHint } from '../../core/local-runtime.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import { Claimer, type ClaimTaker } from './claimer.ts'
import { HintExchange } from './hint-exchange.ts'
import { MailReader, type MailReceiver } from './mail-reader.ts'
import type { Registration } from './registration.ts'

/** Claims instances, reads their mail, and notifies other processes of work for them. */
export class WorkFinder {
  readonly capacity: Capacity
  readonly hints: HintExchange
  readonly claimer: Claimer
  readonly mail: MailReader
  /** Whether an instance is owned here. */
  readonly owns: (iid: Iid) => boolean
  readonly #registration: Registration

  constructor(
    core: RuntimeCore,
    registration: Registration,
    capacity: Capacity,
    instances: LiveInstances,
  ) {
    this.capacity = capacity
    this.hints = new HintExchange(core, registration, capacity, instances)
    this.claimer = new Claimer(core, registration, capacity, instances, this.hints)
    this.mail = new MailReader(core, instances, this.claimer, this.hints)
    this.owns = (iid) => instances.get(iid) !== undefined
    this.#registration = registration
  }

  /** Connects services that are built later and take what the finder finds. */
  reportTo(taker: ClaimTaker, receiver: MailReceiver): void {
    this.claimer.reportTo(taker, this.mail)
    this.mail.reportTo(receiver)
  }

  /** These are due now, because others left them a place under the limit of their workflow. */
  woken(iids: readonly Iid[]): void {
    if (iids.length === 0) return
    this.claimer.hint(iids)
    if (this.capacity.free <= 0) this.hints.announce({ kind: 'due', iids })
  }

  /** There is mail for these instances. The owners of some are known. */
  hint(targets: readonly MailHint[]): void {
    const own = this.#registration.number
    this.mail.look(
      targets.filter(({ owner }) => owner === null || owner === own).map(({ iid }) => iid),
    )
    this.hints.tellMail(targets.map(({ iid }) => iid))
  }

  /** There may be mail for these instances, which any runtime may own. */
  look(iids: readonly Iid[]): void {
    this.mail.look(iids)
    this.hints.tellMail(iids)
  }
}
