import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import type { Whereabouts } from '../../store/whereabouts.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { describeInstance, type Place } from './describe-instance.ts'
import type { InstanceInfo } from '../define/instance.ts'

/** Returns a snapshot of an instance; `undefined` when no instance has the id. */
export async function info(core: ClientCore, id: string): Promise<InstanceInfo | undefined> {
  const row = await core.find(id)
  return row === undefined || row.status === 'unstarted' ? undefined : infoOf(core, row)
}

const NOWHERE: Whereabouts = { owner: null, tasks: [], runtimes: [], limit: null }

/** Builds the snapshot of an instance from its row. */
export async function infoOf(core: ClientCore, row: InstanceRow): Promise<InstanceInfo> {
  const { store, values, clock, runtime } = core.setup
  const { iid } = row
  const [[loaded], whereabouts] = hasEnded(row)
    ? [[], NOWHERE]
    : await Promise.all([store.load([{ iid, after: 0 }]), store.whereabouts(iid)])
  return describeInstance(row, loaded, {
    values,
    now: runtime?.storeNow() ?? clock.date().getTime(),
    place: placeOf(core, row),
    whereabouts,
    attemptAt: (command) => runtime?.attemptAt?.(iid, command),
  })
}

/**
 * Builds the snapshot of an instance from its row alone, for lists: without what it waits for, which only
 * its history tells.
 */
export function describeRow(core: ClientCore, row: InstanceRow): InstanceInfo {
  const { values, clock, runtime } = core.setup
  return describeInstance(row, undefined, {
    values,
    now: runtime?.storeNow() ?? clock.date().getTime(),
    // Does not look for a runtime that could run it.
    place: 'has code',
    whereabouts: NOWHERE,
  })
}

/** Whether this process could run an instance. */
function placeOf({ setup }: ClientCore, { workflow }: InstanceRow): Place {
  if (setup.registry === undefined) return 'runs nothing'
  const { name, version } = workflow
  const known =
    version === NO_VERSION ? setup.registry.latest(name) : setup.registry.workflow(workflow)
  return known === undefined ? 'lacks code' : 'has code'
}
