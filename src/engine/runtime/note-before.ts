import type { Logger } from '../../base/log.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { instanceKeys } from '../log-keys.ts'
import type { Copy } from './copy.ts'
import type { Departures } from './departures.ts'

/** What noting works with. */
export interface NoteHost {
  readonly store: Pick<WorkflowStore, 'aboutTo'>
  readonly log: Logger
  readonly departures: Departures
  runtimeNumber(): number
  /** The store may count other instances as owned than this process knows of. */
  reconcile(): void
}

/**
 * Notes what is about to be done with an instance that owners died with; whether it may be done. A
 * store that cannot be asked says no: the instance is read again by whoever owns it then.
 */
export async function noteBefore(host: NoteHost, copy: Copy, doing: string): Promise<boolean> {
  const { store, log, departures } = host
  const { iid, epoch } = copy
  // It may have been released meanwhile, and even be owned again: then this is about the past.
  const drop = (reason: string): void => {
    if (copy.epoch === epoch && copy.state !== 'released') departures.drop(copy, reason)
  }
  try {
    if (await store.aboutTo(host.runtimeNumber(), iid, epoch, doing)) return true
    drop('it was taken away')
  } catch (error) {
    log.warn({ ...instanceKeys(copy), err: error }, 'what is about to be done could not be noted')
    drop('the store does not answer')
    host.reconcile()
  }
  return false
}
