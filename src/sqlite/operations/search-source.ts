import type { InstanceQuery } from '../../store/admin-store.ts'
import { MAX_FEW } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Value } from '../connect/driver.ts'
import type { Transaction } from '../file/database.ts'
import { labelKey } from './labels.ts'
import { type Bound, ENDS, filterOf } from './search-filter.ts'

/** Where the instances come from that a query may find. */
export interface Source {
  /** The table that has their age. */
  readonly name: 'instances' | 'labels' | 'unsuccessful'
  /** How a statement reads it. */
  readonly table: string
  /** The same with the rows of the instances, for the filter. */
  readonly rows: string
  /** The condition that makes it one part. Parts are ordered by age, unless there are few rows. */
  readonly condition: string
  /** The values of the condition, for each part. */
  readonly parts: readonly (readonly Value[])[]
  /** What to compare the rows with. */
  readonly filter: Bound
  /** Whether it has few rows, in no order. */
  readonly isFew: boolean
}

/** The source that restricts a query most; `undefined` if nothing can match. */
export function sourceOf(tx: Transaction, query: InstanceQuery): Source | undefined {
  if (query.parent !== null) return childrenOf(tx, query, query.parent)
  const label = rarest(tx, query)
  const isRare = label !== undefined && label.count < MAX_FEW
  const few = isRare ? undefined : fewOf(tx, query)
  if (few !== undefined) return few
  const { statuses } = query
  const isUnsuccessful =
    statuses !== null && statuses.every((status) => ENDS.includes(status) && status !== 'completed')
  if (label !== undefined && (isRare || !isUnsuccessful)) {
    return {
      ...joined('labels', filterOf(query, { workflow: false, statuses: false })),
      condition: 'labels.label = ?',
      parts: [[label.key]],
    }
  }
  const workflows = workflowsOf(tx, query)
  if (workflows.length === 0) return undefined
  if (isUnsuccessful) {
    return {
      ...joined('unsuccessful', filterOf(query, { workflow: true, statuses: true })),
      condition: 'unsuccessful.any_version = ? and unsuccessful.status = ?',
      parts: workflows.flatMap((workflow) => statuses.map((status) => [workflow, status])),
    }
  }
  return {
    ...ownRows('instances indexed by instances_by_workflow'),
    condition: 'instances.any_version = ?',
    parts: workflows.map((workflow) => [workflow]),
    filter: filterOf(query, { workflow: true, statuses: false }),
    isFew: false,
  }
}

/** Rows of a table that lead to those of the instances. */
function joined(
  name: 'labels' | 'unsuccessful',
  filter: Bound,
): Pick<Source, 'name' | 'table' | 'rows' | 'filter' | 'isFew'> {
  const isPlain = filter.sql === ''
  const rows = isPlain ? name : `${name} cross join instances on instances.iid = ${name}.iid`
  return { name, table: name, rows, filter, isFew: false }
}

function ownRows(table: string): Pick<Source, 'name' | 'table' | 'rows'> {
  return { name: 'instances', table, rows: table }
}

function childrenOf(tx: Transaction, query: InstanceQuery, parent: string): Source | undefined {
  const row = tx.sql('select iid from instances where id = ?').get(parent) as
    | { iid: Iid }
    | undefined
  if (row === undefined) return undefined
  const { sql, values } = filterOf(query, { workflow: false, statuses: false })
  return {
    ...ownRows('instances indexed by instances_by_parent'),
    condition: 'instances.parent_iid = ?',
    parts: [[row.iid]],
    filter: { sql: ` and instances.on_close <> 'independent'${sql}`, values },
    isFew: false,
  }
}

/** The workflows that a query may find instances of, without their versions. */
function workflowsOf(tx: Transaction, { workflow, version }: InstanceQuery): readonly number[] {
  const rows = tx.sql(WORKFLOWS).all(workflow, workflow, version, version) as { workflow: number }[]
  return rows.map((row) => row.workflow)
}

const WORKFLOWS = `
select workflow from workflows as named
where version = '' and (? is null or name = ?)
  and (? is null or exists (
    select 1 from workflows where workflows.name = named.name and workflows.version = ?
  ))`

const COUNT_LABEL = `
select count(*) as count from (select 1 from labels where label = ? limit ${MAX_FEW})`

/** Of several labels, one that fewer instances have. */
function rarest(
  tx: Transaction,
  { labels }: InstanceQuery,
): { key: string; count: number } | undefined {
  const counted = labels.map(([name, value]) => {
    const key = labelKey(name, value)
    const { count } = tx.sql(COUNT_LABEL).get(key) as { count: number }
    return { key, count }
  })
  return counted.toSorted((a, b) => a.count - b.count)[0]
}

/** Instances in a source that has no order by age, if it restricts the query to a few. */
function fewOf(tx: Transaction, query: InstanceQuery): Source | undefined {
  for (const { sql, values } of unorderedOf(query)) {
    const isMore = tx.sql(`${sql} limit 1 offset ${MAX_FEW}`).get(...values) !== undefined
    if (isMore) continue
    const rows = tx.sql(sql).all(...values) as { iid: Iid }[]
    return {
      ...ownRows('json_each(?) as few cross join instances on instances.iid = few.value'),
      condition: 'instances.any_version is not null',
      parts: [[JSON.stringify(rows.map(({ iid }) => iid))]],
      filter: filterOf(query, { workflow: false, statuses: false }),
      isFew: true,
    }
  }
  return undefined
}

function unorderedOf({ statuses, idPrefix }: InstanceQuery): readonly Bound[] {
  const sources: Bound[] = []
  if (statuses !== null && statuses.every((status) => !ENDS.includes(status))) {
    const held = statuses.every((status) => status === 'suspended')
    sources.push({
      sql: `select iid from runs${held ? ' where held = 1' : ''}`,
      values: [],
    })
  }
  if (idPrefix !== null) {
    sources.push({
      // By the index of ids alone, which has the numbers, too.
      sql: 'select iid from instances where id >= ? and id <= ?',
      values: [idPrefix, idPrefix + LAST_CHARACTER.repeat(MAX_ID_LENGTH)],
    })
  }
  return sources
}

// SQLite compares bytes, and no text in UTF-8 comes after this character.
const LAST_CHARACTER = '\u{10FFFF}'
const MAX_ID_LENGTH = 500
