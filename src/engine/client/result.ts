import { PermitNotify } from '../../base/notify.ts'
import type { Ending, Iid } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { ConflictError } from '../errors.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { lookUntil, type ResolvedWait, within } from './wait.ts'

/** The result of an instance; throws the error it ended with. */
export async function result(
  core: ClientCore,
  { id, iid }: { readonly id: string; readonly iid: Iid },
  wait: ResolvedWait,
): Promise<unknown> {
  const { clock, values } = core.setup
  const end = await within(clock, `result: instance "${id}"`, wait, (signal) =>
    ending(core, iid, signal),
  )
  if (end.status === 'completed') return values.value(end.output)
  throw values.error(end.output)
}

/** The number of an instance; refuses one of another workflow than the caller takes it for. */
export async function resultOf(
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
  iid: Iid,
  signal: AbortSignal | undefined,
): Promise<Ending> {
  const { clock, runtime } = core.setup
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
    return lookForEnd(core, iid)
  }
  const isHintedAt = (): boolean => core.elsewhere.areTold
  try {
    return await lookUntil(clock, { look, news, isToldOf: isHere, isHintedAt }, signal)
  } finally {
    stop?.()
    stopElsewhere?.()
  }
}

/** The end of an instance as the store has it. */
async function lookForEnd(core: ClientCore, iid: Iid): Promise<Ending | undefined> {
  const row = await core.look(iid)
  if (row === undefined) throw new Error('result: the instance was deleted')
  const { status, output } = row
  if (!hasEnded(row) || output === null) return undefined
  return { status: status as Ending['status'], output }
}
