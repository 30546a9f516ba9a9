import type { NewTopic, TopicRow } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { perPrefix } from './tables.ts'

const SQL = perPrefix((t) => ({
  all: `select topic, name, first, partitions from ${t.topics} order by topic`,
  find: `select topic, name, first, partitions from ${t.topics} where name = ?`,
  add: `
    insert into ${t.topics} (name, first, partitions)
    values (?, (select coalesce(max(partition) + 1, 0) from ${t.partitions}), ?)`,
  addPartition: `insert into ${t.partitions} (partition, topic) values (?, ?)`,
}))

/** Registers topics that are unknown, and answers each as it is stored. */
export function registerTopics(
  tx: Transaction,
  prefix: string,
  topics: readonly NewTopic[],
): readonly TopicRow[] {
  const { find, add, addPartition } = SQL(prefix)
  return topics.map(({ name, partitions }) => {
    const known = tx.sql(find).get(name) as TopicRow | undefined
    if (known !== undefined) return { ...known }
    tx.sql(add).run(name, partitions)
    const row = tx.sql(find).get(name) as TopicRow
    const insert = tx.sql(addPartition)
    for (let i = 0; i < partitions; i++) insert.run(row.first + i, row.topic)
    return { ...row }
  })
}

/** All topics that there are. */
export function allTopics(tx: Transaction, prefix: string): readonly TopicRow[] {
  return tx.sql(SQL(prefix).all).all() as TopicRow[]
}
