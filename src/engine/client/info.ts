import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { describeInstance, type Place } from './describe-instance.ts'
import type { InstanceInfo } from './instance.ts'

/** How an instance is doing; `undefined` when nothing was started under the id. */
export async function info(core: ClientCore, id: string): Promise<InstanceInfo | undefined> {
  const row = await core.find(id)
  return row === undefined || row.status === 'absent' ? undefined : infoOf(core, row)
}

/** How an instance is doing, from its row and what more there is to read. */
export async function infoOf(core: ClientCore, row: InstanceRow): Promise<InstanceInfo> {
  const { store, values, clock } = core.setup
  const [loaded] = hasEnded(row) ? [] : await store.load([{ iid: row.iid, after: 0 }])
  return describeInstance(row, loaded, {
    values,
    now: clock.date().getTime(),
    place: placeOf(core, row),
  })
}

/** Whether this process could take up an instance. */
export function placeOf({ setup }: ClientCore, { workflow }: InstanceRow): Place {
  if (setup.registry === undefined) return 'runs nothing'
  const { name, version } = workflow
  const known =
    version === NO_VERSION ? setup.registry.latest(name) : setup.registry.workflow(workflow)
  return known === undefined ? 'lacks code' : 'has code'
}
