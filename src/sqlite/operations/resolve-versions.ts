import { latestOf } from '../../base/versions.ts'
import type { ClaimRequest } from '../../store/claims.ts'
import { type Iid, NO_VERSION } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// A version is named by the first claim.
const UNNAMED = `
select runs.workflow as workflow, name
from runs join workflows on workflows.workflow = runs.workflow
where iid = ? and epoch = 0 and version = '${NO_VERSION}'`

// The runtime that asks is alive, whatever its lease says.
const SERVED = `
select workflows.workflow as workflow, version
from workflows
where name = ? and version <> '${NO_VERSION}'
  and exists (
    select 1 from runtimes, json_each(runtimes.workflows) as served
    where state = 'alive'
      and (lease_until > ? or runtime = ?)
      and served.value = workflows.workflow
  )`

interface Served {
  readonly workflow: number
  readonly version: string
}

/**
 * Gives the latest version that a live runtime has to those of these instances whose start named
 * none. Returns those of them that the runtime has not got the code of.
 */
export function resolveVersions(
  tx: Transaction,
  { runtime, workflows }: ClaimRequest,
  iids: readonly Iid[],
): readonly Iid[] {
  const latest = new Map<string, number | undefined>()
  const passed: Iid[] = []
  for (const iid of iids) {
    const unnamed = tx.sql(UNNAMED).get(iid) as { name: string } | undefined
    if (unnamed === undefined) continue
    const { name } = unnamed
    if (!latest.has(name)) {
      const served = tx.sql(SERVED).all(name, tx.now, runtime) as unknown as Served[]
      latest.set(name, latestOf(served)?.workflow)
    }
    const workflow = latest.get(name)
    if (workflow === undefined) continue
    tx.sql('update runs set workflow = ? where iid = ?').run(workflow, iid)
    tx.sql('update instances set workflow = ? where iid = ?').run(workflow, iid)
    if (!workflows.includes(workflow)) passed.push(iid)
  }
  return passed
}
