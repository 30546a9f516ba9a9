import { hrefOf } from '../../routing/router.ts'
import { Chip } from '../../ui/chip.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Section } from '../../ui/page.tsx'
import { runtimeHref } from '../runtimes/runtimes.tsx'
import type { SessionRow } from './sessions.ts'

/** Sessions, and the runtime that each is tied to. */
export function SessionTable({ rows }: { rows: readonly SessionRow[] }) {
  return (
    <Section title="Sessions" flush aside="of the tasks below">
      <DataTable
        label="Sessions"
        rows={rows}
        keyOf={({ session }) => session}
        hrefOf={hrefTo}
        columns={[
          {
            head: 'Session',
            narrow: 'title',
            cell: (row) => (
              <a class="mono cut" href={hrefTo(row)} tabIndex={-1} title={row.session}>
                {row.session}
              </a>
            ),
          },
          {
            head: 'Runtime',
            cell: ({ runtime }) =>
              runtime === undefined ? (
                <span class="faint">none yet</span>
              ) : (
                <a href={runtimeHref({ id: runtime })} tabIndex={-1}>
                  runtime {runtime}
                </a>
              ),
          },
          {
            head: 'Activities',
            kind: 'grow',
            cell: ({ activities }) => (
              <span class="chips">
                {activities.map((name) => (
                  <Chip key={name} text={name} />
                ))}
              </span>
            ),
          },
          { head: 'Waiting', kind: 'end', cell: ({ waiting }) => <Count n={waiting} /> },
          { head: 'Delayed', kind: 'end', cell: ({ delayed }) => <Count n={delayed} /> },
          { head: 'Running', kind: 'end', cell: ({ running }) => <Count n={running} /> },
        ]}
      />
    </Section>
  )
}

function hrefTo({ session }: SessionRow): string {
  return hrefOf(['tasks'], new URLSearchParams({ session }))
}
