import type { ErrorsAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { formatCount, plural } from '../../format/number.ts'
import { hrefOf, place, setQuery } from '../../routing/router.ts'
import { Ago, now } from '../../ui/clock.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Removable } from '../../ui/removable.tsx'
import { Live } from '../../ui/resource.tsx'
import { SplitBar } from '../../ui/split-bar.tsx'
import { apiQuery, readFilters, SINCE } from '../instances/filters.ts'
import { ErrorPage } from './error-page.tsx'
import { reasonOfPause, whatWentWrong } from './message.ts'

type Group = ErrorsAnswer['items'][number]

/** Failures that are of one kind, together; one kind with its instances. */
export function ErrorsScreen() {
  const fingerprint = place.value.query.get('fingerprint')
  return fingerprint === null ? <ErrorList /> : <ErrorPage fingerprint={fingerprint} />
}

function ErrorList() {
  const filters = readFilters(place.value.query)
  const minute = Math.floor(now.value / 60_000) * 60_000
  const { workflow, since } = filters
  return (
    <Page
      title="Errors"
      about="The latest failed and suspended instances, by fingerprint: workflow, name of the error, and its message without numbers, ids, mail addresses and quoted texts"
    >
      <div class="filters" role="search" aria-label="Filter errors">
        <select
          aria-label="Created"
          value={since}
          onChange={({ currentTarget }) =>
            setQuery((to) => {
              if (currentTarget.value === '') to.delete('since')
              else to.set('since', currentTarget.value)
            })
          }
        >
          {SINCE.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        {workflow !== '' && (
          <Removable
            text={`workflow ${workflow}`}
            onRemove={() => setQuery((to) => to.delete('workflow'))}
          />
        )}
      </div>
      <Live<ErrorsAnswer> path={address('errors', apiQuery(filters, minute))} what="Errors">
        {({ items }, busy) => {
          const errors = items.filter((one) => !isPause(one))
          return errors.length === 0 ? (
            <NoErrors isNarrow={workflow !== '' || since !== ''} />
          ) : (
            <div class="card flush">
              <ErrorTable items={errors} busy={busy} />
            </div>
          )
        }}
      </Live>
    </Page>
  )
}

/** Whether its instances only pause because someone wanted it. */
function isPause(group: Group): boolean {
  return group.suspended === group.count && reasonOfPause(group) !== undefined
}

function NoErrors({ isNarrow }: { isNarrow: boolean }) {
  return (
    <Empty title={isNarrow ? 'Nothing that matches has failed' : 'Nothing has failed'}>
      <p>
        Instances that fail, or are suspended because of an error, appear here, those with the same
        error together.{' '}
        {isNarrow ? (
          <a href={hrefOf(['errors'])}>Show all</a>
        ) : (
          'Attempts of activities that failed and are repeated do not: they are on the screens of tasks and instances.'
        )}
      </p>
    </Empty>
  )
}

function hrefTo({ fingerprint }: Group): string {
  return hrefOf(['errors'], new URLSearchParams({ fingerprint }))
}

function ErrorTable({ items, busy }: { items: readonly Group[]; busy: boolean }) {
  const most = Math.max(...items.map(({ count }) => count))
  return (
    <DataTable
      label="Errors"
      rows={items}
      keyOf={({ fingerprint }) => fingerprint}
      hrefOf={hrefTo}
      busy={busy}
      columns={[
        {
          head: 'Error',
          kind: 'grow',
          narrow: 'title',
          cell: (group) => (
            <a class="error-cell" href={hrefTo(group)} tabIndex={-1}>
              <strong>{group.name}</strong>
              <span class="clamp faint">{whatWentWrong(group)}</span>
            </a>
          ),
        },
        {
          head: 'Workflow',
          cell: ({ workflow }) => (
            <span class="cut" title={workflow}>
              {workflow}
            </span>
          ),
        },
        {
          head: 'Share',
          narrow: 'drop',
          cell: ({ count, suspended }) => (
            <SplitBar
              most={most}
              parts={[
                { name: 'failed', tone: 'failed', count: count - suspended },
                { name: 'suspended', tone: 'suspended', count: suspended },
              ]}
            />
          ),
        },
        {
          head: 'Instances',
          kind: 'end',
          cell: ({ count }) => (
            <strong title={plural(count, 'instance')}>{formatCount(count)}</strong>
          ),
        },
        { head: 'Suspended', kind: 'end', cell: ({ suspended }) => <Count n={suspended} /> },
        { head: 'First', kind: 'end', narrow: 'drop', cell: ({ firstAt }) => <Ago at={firstAt} /> },
        { head: 'Latest', kind: 'end', cell: ({ lastAt }) => <Ago at={lastAt} /> },
      ]}
    />
  )
}
