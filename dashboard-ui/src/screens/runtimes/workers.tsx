import type { RuntimesAnswer } from '../../../../src/dashboard/api.ts'
import { Ago } from '../../ui/clock.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { StatusMark } from '../../ui/status.tsx'

/** What the state of notifications means for latency. */
const NOTIFICATIONS: Readonly<Record<string, string>> = {
  connecting: 'notifications: connecting, meanwhile the store is polled',
  listening: 'notifications arrive',
  deaf: 'notifications do not arrive, so the store is polled',
  off: 'notifications are turned off, so the store is polled',
  closed: 'notifications: closed',
}

/** The background loops of the process that serves the dashboard, those in trouble first. */
export function Workers({ here }: { here: RuntimesAnswer['here'] }) {
  if (here === undefined) {
    return (
      <Empty title="The workers of a runtime are known to its own process alone">
        <p>This dashboard runs in a process without a runtime. In your program, give it yours:</p>
        <pre>{`await using holdfast = await open('file:app.db', { register: order })
const { url } = await dashboard(holdfast).listen()`}</pre>
      </Empty>
    )
  }
  const { workers, hints, pid } = here
  return (
    <Section
      title="Workers of this process"
      flush
      aside={
        <span>
          pid {pid} · {NOTIFICATIONS[hints.state]}
          {hints.interruptions > 0 && `, interrupted ${hints.interruptions} times`}
        </span>
      }
    >
      {hints.lastError !== undefined && <p class="bad worker-trouble">{hints.lastError}</p>}
      <DataTable
        label="Workers of this process"
        rows={workers.toSorted((a, b) => b.failures - a.failures)}
        keyOf={({ name }) => name}
        columns={[
          { head: 'State', kind: 'fit', cell: ({ state }) => <StatusMark of={state} /> },
          { head: 'Worker', kind: 'fit', narrow: 'title', cell: ({ name }) => <code>{name}</code> },
          {
            head: 'Last error',
            kind: 'grow',
            cell: ({ lastError }) =>
              lastError !== undefined && (
                <span class="clamp bad" title={lastError}>
                  {lastError}
                </span>
              ),
          },
          {
            head: 'Failures in a row',
            kind: 'end',
            cell: ({ failures }) => <Count n={failures} bad />,
          },
          { head: 'Last pass', kind: 'end', cell: ({ lastRunAt }) => <Ago at={lastRunAt} /> },
          { head: 'Next', kind: 'end', cell: ({ nextWakeAt }) => <Ago at={nextWakeAt} /> },
        ]}
      />
    </Section>
  )
}
