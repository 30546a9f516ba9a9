import type { SchedulesAnswer } from '../../../../src/dashboard/api.ts'
import { formatCount, plural } from '../../format/number.ts'
import { hrefOf, place } from '../../routing/router.ts'
import { Ago } from '../../ui/clock.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { SchedulePage } from './schedule-page.tsx'
import { stateOf, whenOf } from './when.ts'

type Schedule = SchedulesAnswer['items'][number]

/** What starts by itself, when next, and what became of the last ones. */
export function SchedulesScreen() {
  const name = place.value.query.get('name')
  return name === null ? <ScheduleList /> : <SchedulePage key={name} name={name} />
}

function ScheduleList() {
  return (
    <Page title="Schedules" about="Workflows that start by a cron pattern or an interval">
      <Live<SchedulesAnswer> path="schedules" what="Schedules">
        {({ items }, busy) =>
          items.length === 0 ? (
            <Empty title="This store has no schedules">
              <p>
                Set one from your code. The same call again changes nothing, so call it at every
                start:
              </p>
              <pre>{`await holdfast.schedule('nightly-report', { cron: '0 3 * * *' }, report, 'sales')
await holdfast.schedule('sync', { every: '10m', overlap: 'skip' }, sync, undefined)`}</pre>
            </Empty>
          ) : (
            <div class="card flush">
              <ScheduleTable items={items} busy={busy} />
            </div>
          )
        }
      </Live>
    </Page>
  )
}

function hrefTo({ name }: { readonly name: string }): string {
  return hrefOf(['schedules'], new URLSearchParams({ name }))
}

function ScheduleTable({ items, busy }: { items: readonly Schedule[]; busy: boolean }) {
  return (
    <DataTable
      label="Schedules"
      rows={items}
      keyOf={({ name }) => name}
      hrefOf={hrefTo}
      busy={busy}
      columns={[
        { head: 'State', kind: 'fit', cell: (item) => <StatusMark of={stateOf(item)} /> },
        {
          head: 'Schedule',
          narrow: 'title',
          kind: 'grow',
          cell: (item) => (
            <a class="strong cut" href={hrefTo(item)} tabIndex={-1} title={item.name}>
              {item.name}
            </a>
          ),
        },
        {
          head: 'When',
          cell: (item) => (
            <span class="when">
              <code>{whenOf(item)}</code>
              {item.cron !== undefined && item.timezone !== undefined && (
                <span class="faint"> {item.timezone}</span>
              )}
            </span>
          ),
        },
        { head: 'Workflow', cell: ({ workflow }) => <span class="cut">{workflow}</span> },
        { head: 'Next', kind: 'end', cell: ({ nextRuns }) => <Ago at={nextRuns[0]} /> },
        { head: 'Last', kind: 'end', cell: ({ lastRun }) => <Ago at={lastRun?.at} /> },
        {
          head: 'Running',
          kind: 'end',
          narrow: 'drop',
          cell: ({ running }) => <Count n={running.length} />,
        },
        {
          head: 'Started',
          kind: 'end',
          narrow: 'drop',
          cell: ({ started }) => formatCount(started),
        },
        {
          head: 'Left out',
          kind: 'end',
          narrow: 'drop',
          cell: ({ skipped, missed }) => (
            <span title={`${plural(skipped.count, 'time')} skipped, ${missed.count} missed`}>
              <Count n={skipped.count + missed.count} />
            </span>
          ),
        },
      ]}
    />
  )
}
