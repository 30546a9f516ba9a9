// Removes instances with their descendants, and histories of earlier executions.

import { flag, number, option, resolveOptions } from '../../base/options.ts'
import type { Removal } from '../../store/admin-store.ts'
import type { Iid, InstanceRow } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import type { DeleteOptions, PruneOptions, Which } from '../define/admin.ts'
import { ConflictError } from '../core/errors.ts'
import { resend } from '../core/resend.ts'
import { terminateRows } from './admin-verbs.ts'
import type { ClientCore } from './client-core.ts'
import { rowsOf } from './bulk.ts'
import { checkDate, ENDED, isQuery, refuseUndefined, UNFINISHED, whichOf } from './filters.ts'
import { BULK, pagesOf } from './listing.ts'

/** How many trees one transaction removes that a filter has found: each may be large. */
const TREES = 50

/** How often a tree is terminated again because something in it was started meanwhile. */
const MAX_ROUNDS = 10

/** Removes instances with their descendants; returns how many instances. */
export async function remove(
  core: ClientCore,
  which: Which,
  given: DeleteOptions | undefined,
): Promise<number> {
  const { force } = resolveOptions('admin.delete', given, { force: flag(false) })
  // By ids, all are meant; a filter means what can be removed.
  const isByIds = Array.isArray(which)
  const statuses = force || isByIds ? [...ENDED, ...UNFINISHED] : ENDED
  const how = { force, together: isByIds }
  const atOnce = isByIds ? BULK : TREES
  let count = 0
  let kept: InstanceRow[] = []
  const removePart = async (rows: readonly InstanceRow[]): Promise<number> => {
    const done = await removeSome(core, rows, how)
    count += done.count
    // A child goes with its parent. What was started independently has to be tried again after it.
    if (force) kept.push(...done.wanted.filter(({ parent }) => parent?.onClose === 'independent'))
    return done.count
  }
  for await (const rows of rowsOf(core, 'delete', which, statuses)) {
    for (let i = 0; i < rows.length; i += atOnce) await removePart(rows.slice(i, i + atOnce))
  }
  for (let isProgress = true; isProgress && kept.length > 0;) {
    const again = kept
    kept = []
    isProgress = false
    for (let i = 0; i < again.length; i += atOnce) {
      if ((await removePart(again.slice(i, i + atOnce))) > 0) isProgress = true
    }
  }
  return count
}

interface How {
  readonly force: boolean
  /** All of them or none. */
  readonly together: boolean
}

interface Removed {
  readonly count: number
  /** Left, because what started them runs. */
  readonly wanted: readonly InstanceRow[]
}

async function removeSome(
  core: ClientCore,
  rows: readonly InstanceRow[],
  { force, together }: How,
): Promise<Removed> {
  let count = 0
  let left = rows
  const wanted: InstanceRow[] = []
  for (let round = 1; left.length > 0; round++) {
    const removals = await removeTrees(core, left, together)
    count += removals.reduce((sum, removal) => sum + removal.count, 0)
    const refused = (verdict: Removal['verdict']): readonly InstanceRow[] =>
      left.filter((_, i) => removals[i]?.verdict === verdict)
    const running = refused('running')
    const isForced = force && running.length > 0 && round <= MAX_ROUNDS
    const doomed = isForced ? await treesOf(core, running, refused('wanted')) : NONE
    // Before anything is terminated for a removal that cannot be.
    const stay = refused('wanted').filter(({ iid }) => !doomed.roots.has(iid))
    wanted.push(...stay)
    if (together && stay.length > 0 && (isForced || running.length === 0)) throw isWanted(stay[0]!)
    if (!isForced) {
      if (together && running.length > 0) throw isRunning(running[0]!, force)
      break
    }
    await terminateAll(core, [...doomed.members])
    left = together ? left : left.filter(({ iid }) => doomed.roots.has(iid))
  }
  return { count, wanted }
}

interface Trees {
  readonly roots: ReadonlySet<Iid>
  readonly members: ReadonlySet<Iid>
}

const NONE: Trees = { roots: new Set(), members: new Set() }

/** The trees of instances, and of those that are wanted only by a member of one of these. */
async function treesOf(
  core: ClientCore,
  running: readonly InstanceRow[],
  wanted: readonly InstanceRow[],
): Promise<Trees> {
  const { store, clock } = core.setup
  const options = { fromRoot: false, limit: 2 ** 31 - 1 }
  const roots = new Set<Iid>()
  const members = new Set<Iid>()
  let rest = wanted
  for (let next = running; next.length > 0;) {
    for (const { iid } of next) {
      roots.add(iid)
      for (const member of await resend(clock, () => store.admin.tree(iid, options))) {
        members.add(member)
      }
    }
    next = rest.filter(({ parent }) => members.has(parent!.iid))
    rest = rest.filter(({ iid }) => !next.some((row) => row.iid === iid))
  }
  return { roots, members }
}

/** Where another transaction has locked one of the trees, it is waited for. */
async function removeTrees(
  core: ClientCore,
  rows: readonly InstanceRow[],
  together: boolean,
): Promise<readonly Removal[]> {
  const { store, clock } = core.setup
  const iids = rows.map(({ iid }) => iid)
  const isSplit = ({ code }: StoreError): boolean => code === 'locked' && !together
  try {
    const send = (): Promise<readonly Removal[]> => store.admin.removeTrees(iids, { together })
    return await resend(clock, send, (error) => !isSplit(error))
  } catch (error) {
    if (!(error instanceof StoreError) || !isSplit(error)) throw error
  }
  // One by one, so that the others need not wait for it.
  const removals: Removal[] = []
  for (const iid of iids) {
    removals.push(...(await resend(clock, () => store.admin.removeTrees([iid], { together }))))
  }
  return removals
}

/** Ends those of the instances that have not ended. */
async function terminateAll(core: ClientCore, iids: readonly Iid[]): Promise<void> {
  const { store, clock } = core.setup
  for (let i = 0; i < iids.length; i += BULK) {
    const rows = await resend(clock, () => store.look(iids.slice(i, i + BULK)))
    await terminateRows(
      core,
      rows.filter((row) => row !== undefined),
      'deleted',
      'info',
    )
  }
}

function isRunning({ id }: InstanceRow, force: boolean): ConflictError {
  return new ConflictError(
    force
      ? `admin.delete: instance "${id}" has descendants that are started again and again; ` +
          'terminate what starts them first'
      : `admin.delete: instance "${id}" or one of its descendants has not ended; wait for its end, or ` +
          'pass { force: true } to terminate it first',
    id,
  )
}

function isWanted({ id, parent }: InstanceRow): ConflictError {
  return new ConflictError(
    `admin.delete: instance "${id}" was started by "${parent?.id ?? ''}", which has not ended and may ` +
      'look for it; delete that one, and its children go with it',
    id,
  )
}

const PRUNE = {
  which: option((value: unknown) => value as Which, undefined),
  keepExecutions: number({ min: 0, max: 2 ** 31 - 1, integer: true }, 1),
  finishedBefore: option(checkDate, null),
}

/** Removes histories of earlier executions; returns of how many executions. */
export async function prune(core: ClientCore, given: PruneOptions | undefined): Promise<number> {
  const { which = {}, keepExecutions, finishedBefore } = resolveOptions('admin.prune', given, PRUNE)
  refuseUndefined('admin.prune', given)
  // The current one always stays.
  const keep = Math.max(1, keepExecutions)
  const { store, clock } = core.setup
  let count = 0
  for await (const rows of prunable(core, which, keep)) {
    const iids = rows.map(({ iid }) => iid)
    const request = { iids, keep, endedUntil: finishedBefore }
    count += await resend(clock, () => store.admin.prune(request))
  }
  return count
}

function prunable(
  core: ClientCore,
  which: Which,
  keep: number,
): AsyncIterable<readonly InstanceRow[]> {
  const meant = whichOf('admin.prune', which)
  return isQuery(meant)
    ? pagesOf(core, { ...meant, minExecution: keep + 1 })
    : rowsOf(core, 'prune', meant, [...ENDED, ...UNFINISHED])
}
