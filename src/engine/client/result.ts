import type { Limit } from '../../base/sync/limit.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { resolveOptions } from '../../base/options.ts'
import type { Ending, Iid } from '../../store/instances.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { ConflictError } from '../core/errors.ts'
import { type ClientCore, hasEnded, removedInstance } from './client-core.ts'
import { WaitExplainer } from './wait-explainer.ts'
import type { Wait } from '../define/instance.ts'
import { pollUntil, type ResolvedWait, WAIT_OPTIONS } from './poll.ts'

/** The instance to wait for. */
interface Target {
  readonly id: string
  /** If the caller knows it. */
  readonly iid?: Iid | undefined
  /** The workflow that the caller expects, if that is not known to be right. */
  readonly workflow?: WorkflowDefinition | undefined
}

/** An instance whose number is known. */
interface Found {
  readonly id: string
  readonly iid: Iid
}

/**
 * Returns the result of an instance, or throws the error it ended with. Waits for a suspended instance,
 * which may be resumed, with a warning in the log and an explanation in the error of a timeout. Waits
 * also for an instance that no runtime has claimed, with the explanation but without the warning.
 */
export async function result(
  core: ClientCore,
  target: Target,
  wait: ResolvedWait,
): Promise<unknown> {
  const { values } = core.setup
  const explainer = new WaitExplainer(core, target.id)
  const stopLooking = explainer.watchDuring(wait)
  let end: Ending
  try {
    end = await core.waits.within(
      `result: instance "${target.id}"`,
      wait,
      (limit) => ending(core, target, explainer, limit),
      target.id,
    )
  } catch (error) {
    throw await explainer.explain(error)
  } finally {
    stopLooking()
  }
  if (end.status === 'completed') return values.value(end.output)
  throw values.error(end.output)
}

/** The same, with unvalidated options. */
export async function resultOf(
  core: ClientCore,
  target: Target,
  given: Wait | undefined,
): Promise<unknown> {
  return result(core, target, resolveOptions('result', given, WAIT_OPTIONS))
}

/** Finds the number of an instance. Throws a `ConflictError` when it runs another workflow. */
async function numberOf(core: ClientCore, { id, workflow }: Target): Promise<Iid> {
  const row = await core.existing('result', id)
  if (workflow !== undefined && row.workflow.name !== workflow.name) {
    throw new ConflictError(
      `result: instance "${id}" runs workflow "${row.workflow.name}", not "${workflow.name}"`,
      id,
    )
  }
  return row.iid
}

/** Waits until an instance has ended. */
async function ending(
  core: ClientCore,
  target: Target,
  explainer: WaitExplainer,
  limit: Limit,
): Promise<Ending> {
  const { clock, runtime } = core.setup
  const iid = target.iid ?? (await numberOf(core, target))
  const wakeUp = new PermitNotify()
  let ended: Ending | undefined
  const isHere = (): boolean => runtime?.owns(iid) === true
  const stop = runtime?.endings.subscribe(iid, (end) => {
    ended ??= end
    wakeUp.notifyOne()
  })
  let stopRemote: (() => void) | undefined
  // An instance in this process notifies when it ends or leaves. Otherwise this polls, after it has
  // subscribed to remote changes, so that no end is missed in between.
  const look = (): Promise<Ending | undefined> | Ending | undefined => {
    if (ended !== undefined || isHere()) return ended
    stopRemote ??= core.changes.subscribe(iid, () => wakeUp.notifyOne())
    return findEnd(core, { id: target.id, iid }, explainer)
  }
  const isHinted = (): boolean => core.changes.isLive
  try {
    return await pollUntil(clock, { look, wakeUp, isNotified: isHere, isHinted }, limit)
  } finally {
    stop?.()
    stopRemote?.()
  }
}

/** Reads the end of an instance from the store. */
async function findEnd(
  core: ClientCore,
  target: Found,
  explainer: WaitExplainer,
): Promise<Ending | undefined> {
  const row = await core.look(target)
  if (row === undefined) throw removedInstance('result', explainer.id)
  explainer.saw(row)
  const { status, output } = row
  if (!hasEnded(row) || output === null) return undefined
  return { status: status as Ending['status'], output }
}
