import type { OutboxAnswer } from '../../../../src/dashboard/api.ts'
import { formatCount, plural } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import { hrefOf } from '../../routing/router.ts'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Section } from '../../ui/page.tsx'
import { SplitBar } from '../../ui/split-bar.tsx'
import type { TopicRow } from './topics.ts'

type Partition = OutboxAnswer['partitions'][number]

/** The address of a topic. */
export function topicHref(topic: string): string {
  return hrefOf(['outbox'], new URLSearchParams({ topic }))
}

/** Topics, each with a bar for every partition. */
export function TopicTable({ rows, busy }: { rows: readonly TopicRow[]; busy: boolean }) {
  const fullest = Math.max(1, ...rows.flatMap((row) => row.partitions.map(({ depth }) => depth)))
  return (
    <Section title="Topics" flush>
      <DataTable
        label="Topics"
        rows={rows}
        keyOf={({ topic }) => topic}
        hrefOf={({ topic }) => topicHref(topic)}
        busy={busy}
        columns={[
          {
            head: 'Topic',
            narrow: 'title',
            cell: ({ topic }) => (
              <a class="strong cut" href={topicHref(topic)} tabIndex={-1} title={topic}>
                {topic}
              </a>
            ),
          },
          {
            head: 'Partitions',
            kind: 'grow',
            cell: ({ partitions }) => <Strip of={partitions} fullest={fullest} />,
          },
          { head: 'Not delivered', kind: 'end', cell: ({ depth }) => <Count n={depth} /> },
          { head: 'Lag', kind: 'end', cell: ({ lag }) => <Count n={lag} /> },
          { head: 'Oldest', kind: 'end', cell: (row) => <Oldest of={row} /> },
          { head: 'Dead letters', kind: 'end', cell: ({ dead }) => <Count n={dead} bad /> },
        ]}
      />
    </Section>
  )
}

/** The partitions of one topic. */
export function PartitionTable({ rows, busy }: { rows: readonly Partition[]; busy: boolean }) {
  const most = Math.max(1, ...rows.map(({ depth }) => depth))
  return (
    <Section title="Partitions" flush>
      <DataTable
        label="Partitions"
        rows={rows}
        keyOf={({ partition }) => String(partition)}
        busy={busy}
        columns={[
          {
            head: 'Partition',
            kind: 'fit',
            narrow: 'title',
            cell: ({ partition }) => <span class="num">{partition}</span>,
          },
          {
            head: 'Depth',
            kind: 'grow',
            narrow: 'drop',
            cell: ({ depth, lag }) => (
              <SplitBar
                most={most}
                parts={[
                  { name: 'could be delivered now', tone: 'running', count: lag },
                  { name: 'wait', tone: 'waiting', count: depth - lag },
                ]}
              />
            ),
          },
          { head: 'Not delivered', kind: 'end', cell: ({ depth }) => <Count n={depth} /> },
          { head: 'Lag', kind: 'end', cell: ({ lag }) => <Count n={lag} /> },
          { head: 'Oldest', kind: 'end', cell: (row) => <Oldest of={row} /> },
        ]}
      />
    </Section>
  )
}

function Oldest({ of: { depth, oldestMs } }: { of: Pick<Partition, 'depth' | 'oldestMs'> }) {
  if (depth === 0) return <span class="faint">–</span>
  return <span class="num">{formatDuration(oldestMs)}</span>
}

function Strip({ of, fullest }: { of: readonly Partition[]; fullest: number }) {
  const used = of.filter(({ depth }) => depth > 0).length
  const label = `${plural(of.length, 'partition')}, ${used === 0 ? 'all' : of.length - used} empty`
  return (
    <span class="partitions" role="img" aria-label={label}>
      {of.map(({ partition, depth }) => (
        <i
          key={partition}
          class={depth === 0 ? 'none' : ''}
          title={`partition ${partition}: ${formatCount(depth)} not delivered`}
          style={{ height: `${Math.round((depth / fullest) * 100)}%` }}
        />
      ))}
    </span>
  )
}
