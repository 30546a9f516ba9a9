import { existsSync } from 'node:fs'
import {
  type HistoryReader,
  RECENT_INSTANCES,
  type RecordedInstance,
  type RecordedWorkflow,
  withoutRepeats,
} from '../store/history-reader.ts'
import type { TurnRow } from '../store/commits.ts'
import { StoreError } from '../store/store-error.ts'
import { type Driver, openDriver, type Value } from './connect/driver.ts'
import { claimLibrary } from './connect/library-of-file.ts'
import type { SqliteSettings } from './connect/options.ts'
import { untilFree } from './file/busy.ts'
import { openError } from './file/file-place.ts'
import { checkHolds } from './schema/migrate.ts'

const WORKFLOWS = `
select w.workflow, w.name, w.version,
  (select count(*) from runs as r where r.workflow = w.workflow) as unfinished
from workflows as w
order by w.name, w.workflow`

const unfinished = (order: 'asc' | 'desc'): string => `
select * from (
  select i.iid, i.id, i.workflow, i.execution
  from runs as r
  join instances as i on i.iid = r.iid
  where r.workflow = ?
  order by r.iid ${order}
  limit ?
)`

const UNFINISHED = `${unfinished('desc')} union all ${unfinished('asc')}`

const FINISHED = `
select iid, id, workflow, execution
from (
  select iid, id, workflow, execution,
    row_number() over (partition by workflow order by iid desc) as place
  from (
    select iid, id, workflow, execution, finished_at
    from instances
    order by iid desc
    limit ${RECENT_INSTANCES}
  )
  where finished_at is not null and workflow in (select value from json_each(?))
)
where place <= ?
order by iid desc`

const TURNS = `
select execution, turn, at, first, count, events
from history
where iid = ? and execution = ?
order by turn`

/** Reads histories through a connection of its own, which cannot write and migrates nothing. */
export function sqliteHistoryReader(settings: SqliteSettings): HistoryReader {
  const { path, driver, busyMs } = settings
  if (path === ':memory:') {
    throw new TypeError(
      'a store in memory can be read only by the client that opened it; pass exports of its instances',
    )
  }
  let opened: Driver | undefined
  const connection = (): Driver => {
    if (opened !== undefined) return opened
    claimLibrary(settings)
    if (!existsSync(path)) {
      throw new StoreError('misconfigured', OPERATION, `there is no file ${path}`)
    }
    let connected: Driver | undefined
    try {
      connected = untilFree(OPERATION, busyMs, () => openDriver(path, driver, 'read-only'))
      checkHolds(connected, settings)
      return (opened = connected)
    } catch (error) {
      connected?.close()
      throw openError(path, error)
    }
  }
  // Async, so that errors reject.
  const select = async (text: string, ...values: Value[]): Promise<unknown[]> =>
    untilFree(OPERATION, busyMs, () =>
      connection()
        .prepare(text)
        .all(...values),
    )
  const instances = async (
    text: string,
    ...values: Value[]
  ): Promise<readonly RecordedInstance[]> =>
    withoutRepeats((await select(text, ...values)) as RecordedInstance[])

  return {
    workflows: () => select(WORKFLOWS) as Promise<RecordedWorkflow[]>,
    unfinished(workflow, limit) {
      const newest = Math.ceil(limit / 2)
      return instances(UNFINISHED, workflow, newest, workflow, limit - newest)
    },
    finished: (workflows, limit) => instances(FINISHED, JSON.stringify(workflows), limit),
    turns: (iid, execution) => select(TURNS, iid, execution) as Promise<TurnRow[]>,
    async close() {
      opened?.close()
      opened = undefined
    },
  }
}

const OPERATION = 'read histories'
