import {
  type HistoryReader,
  RECENT_INSTANCES,
  type RecordedInstance,
  withoutRepeats,
} from '../../store/history-reader.ts'
import { connectionsFor } from '../connect/connections.ts'
import type { PostgresSettings } from '../connect/options.ts'
import { quoted } from '../connect/schema-name.ts'
import { listOf } from '../wire/lists.ts'

/**
 * Reads histories from the tables themselves, not by procedures: the schema may be older than this
 * code, and must not be migrated by a tool that only reads. The columns it reads never change.
 */
export function postgresHistoryReader(settings: PostgresSettings): HistoryReader {
  const connections = connectionsFor(settings)
  const schema = quoted(settings.schema)

  const select = (text: string, values: readonly unknown[]): Promise<readonly unknown[]> =>
    connections.session('read histories', async (session) => {
      await session.query({ text: 'begin transaction read only' })
      try {
        const { rows } = await session.query({ text, values })
        return rows
      } finally {
        await session.query({ text: 'rollback' })
      }
    })
  const instances = async (
    text: string,
    values: readonly unknown[],
  ): Promise<readonly RecordedInstance[]> =>
    withoutRepeats(((await select(text, values)) as InstanceAsText[]).map(withNumber))

  const unfinished = (order: 'asc' | 'desc', limit: string): string => `(
    select i.iid, i.id, i.workflow, i.execution
    from ${schema}.runs as r
    join ${schema}.instances as i on i.iid = r.iid
    where r.workflow = $1
    order by r.iid ${order}
    limit ${limit}
  )`

  return {
    async workflows() {
      const rows = await select(
        `select w.workflow, w.name, w.version, coalesce(u.count, 0)::integer as unfinished
         from ${schema}.workflows as w
         left join (
           select workflow, count(*) from ${schema}.runs group by workflow
         ) as u on u.workflow = w.workflow
         order by w.name, w.workflow`,
        [],
      )
      return rows as Awaited<ReturnType<HistoryReader['workflows']>>
    },

    unfinished: (workflow, limit) =>
      instances(`${unfinished('desc', '$2')} union all ${unfinished('asc', '$3')}`, [
        workflow,
        Math.ceil(limit / 2),
        Math.floor(limit / 2),
      ]),

    finished: (workflows, limit) =>
      instances(
        `select iid, id, workflow, execution
         from (
           select iid, id, workflow, execution,
             row_number() over (partition by workflow order by iid desc) as place
           from (
             select iid, id, workflow, execution, finished_at
             from ${schema}.instances
             order by iid desc
             limit ${RECENT_INSTANCES}
           ) as recent
           where finished_at is not null and workflow = any($1::integer[])
         ) as placed
         where place <= $2
         order by iid desc`,
        [listOf(workflows), limit],
      ),

    async turns(iid, execution) {
      const rows = await select(
        `select execution, turn, at::float8 as at, first, count, events
         from ${schema}.history
         where iid = $1 and execution = $2
         order by turn`,
        [iid, execution],
      )
      return rows as Awaited<ReturnType<HistoryReader['turns']>>
    },

    close: () => connections.close(),
  }
}

/** As the driver returns it: a bigint as text. */
interface InstanceAsText extends Omit<RecordedInstance, 'iid'> {
  readonly iid: string
}

function withNumber(row: InstanceAsText): RecordedInstance {
  return { ...row, iid: Number(row.iid) }
}
