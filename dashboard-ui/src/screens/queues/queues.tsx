import type { QueuesAnswer } from '../../../../src/dashboard/api.ts'
import { hrefOf, place } from '../../routing/router.ts'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { SplitBar } from '../../ui/split-bar.tsx'
import { QueuePage } from './queue-page.tsx'

type Queue = QueuesAnswer['items'][number]

/** Durable queues that this dashboard was given; one of them with its messages. */
export function QueuesScreen() {
  const name = place.value.query.get('name')
  return name === null ? <QueueList /> : <QueuePage key={name} name={name} />
}

function QueueList() {
  return (
    <Page title="Queues" about="Durable queues on the disk of this process">
      <Live<QueuesAnswer> path="queues" what="Queues">
        {({ items }, busy) =>
          items.length === 0 ? (
            <Empty title="This dashboard was given no queues">
              <p>A queue is a file of its own, so the dashboard has to know which ones to show:</p>
              <pre>{`const emails = await openQueue('emails.db')
const { url } = await dashboard(holdfast, { queues: { emails } }).listen()`}</pre>
            </Empty>
          ) : (
            <div class="card flush">
              <QueueTable items={items} busy={busy} />
            </div>
          )
        }
      </Live>
    </Page>
  )
}

function hrefTo({ name }: { readonly name: string }): string {
  return hrefOf(['queues'], new URLSearchParams({ name }))
}

function QueueTable({ items, busy }: { items: readonly Queue[]; busy: boolean }) {
  const most = Math.max(1, ...items.map(({ counts }) => counts.total))
  return (
    <DataTable
      label="Queues"
      rows={items}
      keyOf={({ name }) => name}
      hrefOf={hrefTo}
      busy={busy}
      columns={[
        {
          head: 'Queue',
          narrow: 'title',
          cell: (item) => (
            <a class="strong cut" href={hrefTo(item)} tabIndex={-1} title={item.name}>
              {item.name}
            </a>
          ),
        },
        {
          head: 'Messages',
          kind: 'grow',
          narrow: 'drop',
          cell: ({ counts }) => (
            <SplitBar
              most={most}
              parts={[
                { name: 'ready', tone: 'running', count: counts.ready },
                { name: 'in flight', tone: 'completed', count: counts.inFlight },
                { name: 'delayed', tone: 'waiting', count: counts.delayed },
                { name: 'dead', tone: 'failed', count: counts.dead },
              ]}
            />
          ),
        },
        { head: 'Ready', kind: 'end', cell: ({ counts }) => <Count n={counts.ready} /> },
        { head: 'In flight', kind: 'end', cell: ({ counts }) => <Count n={counts.inFlight} /> },
        { head: 'Delayed', kind: 'end', cell: ({ counts }) => <Count n={counts.delayed} /> },
        { head: 'Dead', kind: 'end', cell: ({ counts }) => <Count n={counts.dead} bad /> },
        { head: 'Total', kind: 'end', cell: ({ counts }) => <Count n={counts.total} /> },
      ]}
    />
  )
}
