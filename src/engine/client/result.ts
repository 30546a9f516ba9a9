import type { Limit } from '../../base/sync/limit.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { resolveOptions } from '../../base/options.ts'
import type { Ending, Iid } from '../../store/instances.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { ConflictError } from '../core/errors.ts'
import { type ClientCore, hasEnded, removedInstance } from './client-core.ts'
import { Standstill } from './standstill.ts'
import type { Wait } from '../define/instance.ts'
import { lookUntil, type ResolvedWait, WAIT_OPTIONS } from './wait.ts'

/** The instance whose result is waited for. */
interface Sought {
  readonly id: string
  /** Where the caller knows it. */
  readonly iid?: Iid | undefined
  /** What the caller takes it for, where it is not known to be that. */
  readonly workflow?: WorkflowDefinition | undefined
}

/** An instance whose number is known. */
interface Found {
  readonly id: string
  readonly iid: Iid
}

/**
 * The result of an instance; throws the error it ended with. One that is set aside may go on when it
 * is resumed, and is waited for: who waits is told so, by a line in the log and when the time is up.
 * So is one that nobody has taken up, but for the line: somebody may be about to.
 */
export async function result(
  core: ClientCore,
  sought: Sought,
  wait: ResolvedWait,
): Promise<unknown> {
  const { values } = core.setup
  const { id, workflow } = sought
  const standstill = new Standstill(core, id)
  const find = async (limit: Limit): Promise<Ending> => {
    const iid = sought.iid ?? (await numberOf(core, id, workflow))
    return ending(core, { id, iid }, standstill, limit)
  }
  const stopLooking = standstill.lookWithin(wait)
  let end: Ending
  try {
    end = await core.waits.within(`result: instance "${id}"`, wait, find)
  } catch (error) {
    throw standstill.explain(error)
  } finally {
    stopLooking()
  }
  if (end.status === 'completed') return values.value(end.output)
  throw values.error(end.output)
}

/** The same, with options as the caller gives them. */
export async function resultOf(
  core: ClientCore,
  sought: Sought,
  given: Wait | undefined,
): Promise<unknown> {
  return result(core, sought, resolveOptions('result', given, WAIT_OPTIONS))
}

/** The number of an instance; refuses one of another workflow than the caller takes it for. */
async function numberOf(
  core: ClientCore,
  id: string,
  workflow: WorkflowDefinition | undefined,
): Promise<Iid> {
  const row = await core.existing('result', id)
  if (workflow !== undefined && row.workflow.name !== workflow.name) {
    throw new ConflictError(
      `result: instance "${id}" is of workflow "${row.workflow.name}", not of "${workflow.name}"`,
      id,
    )
  }
  return row.iid
}

async function ending(
  core: ClientCore,
  sought: Found,
  standstill: Standstill,
  limit: Limit,
): Promise<Ending> {
  const { clock, runtime } = core.setup
  const { iid } = sought
  const news = new PermitNotify()
  let ended: Ending | undefined
  const isHere = (): boolean => runtime?.owns(iid) === true
  const stop = runtime?.endings.wait(iid, (end) => {
    ended ??= end
    news.notifyOne()
  })
  let stopElsewhere: (() => void) | undefined
  // What runs here tells when it ends, or leaves. Otherwise somebody has to look: once it is known
  // elsewhere that somebody waits, so that no end is missed between the two.
  const look = async (): Promise<Ending | undefined> => {
    if (ended !== undefined || isHere()) return ended
    stopElsewhere ??= core.elsewhere.wait(iid, () => news.notifyOne())
    return lookForEnd(core, sought, standstill)
  }
  const isHintedAt = (): boolean => core.elsewhere.areTold
  try {
    return await lookUntil(clock, { look, news, isToldOf: isHere, isHintedAt }, limit)
  } finally {
    stop?.()
    stopElsewhere?.()
  }
}

/** The end of an instance as the store has it. */
async function lookForEnd(
  core: ClientCore,
  sought: Found,
  standstill: Standstill,
): Promise<Ending | undefined> {
  const row = await core.look(sought)
  if (row === undefined) throw removedInstance('result', standstill.id)
  standstill.saw(row)
  const { status, output } = row
  if (!hasEnded(row) || output === null) return undefined
  return { status: status as Ending['status'], output }
}
