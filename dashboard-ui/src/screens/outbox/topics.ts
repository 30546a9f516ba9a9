import type { OutboxAnswer } from '../../../../src/dashboard/api.ts'

type Partition = OutboxAnswer['partitions'][number]

/** All partitions of a topic together. */
export interface TopicRow {
  readonly topic: string
  readonly partitions: readonly Partition[]
  readonly depth: number
  readonly lag: number
  readonly oldestMs: number
  /** Pending dead letters. */
  readonly dead: number
}

/** Groups partitions by topic: those with the longest wait first. */
export function topicsOf({ partitions, dead }: OutboxAnswer): readonly TopicRow[] {
  const letters = new Map(dead.map(({ topic, count }) => [topic, count]))
  const topics = new Map<string, Partition[]>()
  for (const { topic } of dead) topics.set(topic, [])
  for (const partition of partitions) {
    const known = topics.get(partition.topic)
    if (known === undefined) topics.set(partition.topic, [partition])
    else known.push(partition)
  }
  return [...topics]
    .map(([topic, all]) => ({
      topic,
      partitions: all.toSorted((a, b) => a.partition - b.partition),
      ...totalsOf(all),
      dead: letters.get(topic) ?? 0,
    }))
    .toSorted((a, b) => b.oldestMs - a.oldestMs || a.topic.localeCompare(b.topic))
}

/** How much is on its way, and for how long the oldest has been. */
export function totalsOf(
  partitions: readonly Pick<Partition, 'depth' | 'lag' | 'oldestMs'>[],
): Pick<Partition, 'depth' | 'lag' | 'oldestMs'> {
  return {
    depth: partitions.reduce((sum, { depth }) => sum + depth, 0),
    lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
    oldestMs: Math.max(0, ...partitions.map(({ oldestMs }) => oldestMs)),
  }
}
