import type { Logger } from '../../../base/log.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { Eviction } from './eviction.ts'

/** What noting works with. */
export interface NoteHost {
  readonly store: Pick<WorkflowStore, 'aboutTo'>
  readonly log: Logger
  readonly eviction: Eviction
  runtimeNumber(): number
  /** The store may count other instances as owned than this process knows of. */
  reconcile(): void
}

/**
 * Notes what is about to be done with an instance that owners died with; whether it may be done. A
 * store that cannot be asked says no: the instance is read again by whoever owns it then.
 */
export async function noteBefore(
  host: NoteHost,
  instance: LiveInstance,
  doing: string,
): Promise<boolean> {
  const { store, log, eviction } = host
  const { iid, epoch } = instance
  // It may have been released meanwhile, and even be owned again: then this is about the past.
  const drop = (reason: string): void => {
    if (instance.epoch === epoch && instance.state !== 'released') eviction.drop(instance, reason)
  }
  try {
    if (await store.aboutTo(host.runtimeNumber(), iid, epoch, doing)) return true
    drop('it was taken away')
  } catch (error) {
    log.warn(
      { ...instanceKeys(instance), err: error },
      'what is about to be done could not be noted',
    )
    drop('the store does not answer')
    host.reconcile()
  }
  return false
}
