import { useMemo, useRef } from 'preact/hooks'

import type { CountAnswer, InstancesAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { useLive } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { formatCount } from '../../format/number.ts'
import { useShortcuts } from '../../keyboard/shortcuts.ts'
import { go, hrefOf, place } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { now } from '../../ui/clock.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty, Failure, Loading, Stale } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { useSelection } from '../../ui/selection.ts'
import { BulkBar } from './bulk-bar.tsx'
import { INSTANCE_COLUMNS, instanceHref } from './columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { apiQuery, type Filters, isNarrow, readFilters, writeFilters } from './filters.ts'

const PAGE = 100

/** All instances, by a filter that stands in the address. */
export function InstancesScreen() {
  const { query } = place.value
  const filters = useMemo(() => readFilters(query), [query])
  const after = query.get('after') ?? undefined
  // The minute is enough for relative times, and keeps the address of the list the same.
  const minute = Math.floor(now.value / 60_000) * 60_000
  const asked = apiQuery(filters, minute)
  const listed = useLive<InstancesAnswer>(
    address('instances', { ...asked, order: filters.order, limit: PAGE, after }),
  )
  const counted = useLive<CountAnswer>(address('instances/count', asked))
  const chosen = useSelection(
    listed.data?.items.map(({ id }) => id) ?? [],
    `${writeFilters(filters)}`,
  )
  const canChange = useCanChange()
  const paging = usePaging(filters, after, listed.data?.next)
  useShortcuts('Instances', [
    { keys: 'x', what: 'Select the row', run: () => {} },
    { keys: 'n', what: 'Next page', run: paging.next ?? nothing },
    { keys: 'b', what: 'Page before', run: paging.before ?? nothing },
  ])
  return (
    <Page title="Instances" about={<Counted answer={counted.data} narrow={isNarrow(filters)} />}>
      <FilterBar filters={filters} onChange={(to) => go(hrefOf(['instances'], writeFilters(to)))} />
      <div class="card">
        {listed.error !== undefined &&
          (listed.data === undefined ? (
            <Failure error={listed.error} what="Instances" />
          ) : (
            <Stale error={listed.error} since={listed.staleSince} />
          ))}
        {listed.data === undefined && listed.error === undefined && <Loading rows={12} />}
        {listed.data?.items.length === 0 && (
          <NoInstances filters={filters} isFirst={after === undefined} />
        )}
        {listed.data !== undefined && listed.data.items.length > 0 && (
          <>
            <DataTable
              label="Instances"
              columns={INSTANCE_COLUMNS}
              rows={listed.data.items}
              keyOf={({ id }) => id}
              hrefOf={instanceHref}
              busy={listed.loading}
              selection={canChange ? chosen.selection : undefined}
            />
            <div class="paging">
              <span>
                {formatCount(listed.data.items.length)} shown, {filters.order} first
              </span>
              <span class="actions">
                {after !== undefined && <Button onClick={paging.first}>First page</Button>}
                <Button icon="back" disabled={!paging.before} onClick={paging.before}>
                  Before
                </Button>
                <Button disabled={!paging.next} onClick={paging.next}>
                  Next
                </Button>
              </span>
            </div>
          </>
        )}
      </div>
      {canChange && chosen.keys.length > 0 && (
        <BulkBar
          ids={chosen.keys}
          filters={filters}
          matching={counted.data}
          onDone={chosen.clear}
        />
      )}
    </Page>
  )
}

const nothing = (): void => {}

function Counted({ answer, narrow }: { answer: CountAnswer | undefined; narrow: boolean }) {
  if (answer === undefined) return <>Counting…</>
  const number = `${answer.isMore ? 'More than ' : ''}${formatCount(answer.count)}`
  const noun = answer.count === 1 ? 'instance' : 'instances'
  return <>{`${number} ${noun}${narrow ? ' by this filter' : ''}`}</>
}

interface Paging {
  readonly first: () => void
  readonly next: (() => void) | undefined
  readonly before: (() => void) | undefined
}

/** Pages know only the one after them, so the way here is remembered. */
function usePaging(filters: Filters, after: string | undefined, next: string | undefined): Paging {
  const before = useRef(new Map<string, string | undefined>())
  const show = (cursor: string | undefined): void => {
    const query = writeFilters(filters)
    if (cursor !== undefined) query.set('after', cursor)
    go(hrefOf(['instances'], query))
  }
  return {
    first: () => show(undefined),
    next:
      next === undefined
        ? undefined
        : () => {
            before.current.set(next, after)
            show(next)
          },
    before: after === undefined ? undefined : () => show(before.current.get(after)),
  }
}

function NoInstances({ filters, isFirst }: { filters: Filters; isFirst: boolean }) {
  if (isNarrow(filters) || !isFirst) {
    return (
      <Empty title="No instance matches this filter">
        <p>
          Ended instances are removed after their retention.{' '}
          <a href={hrefOf(['instances'])}>Show all</a>
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="This store has no instances yet">
      <p>Start one from your code, and it appears here at once:</p>
      <pre>{`await client.start(order, { item: 'book' }, { id: 'order-1' })`}</pre>
      <p>If you expected some, check that this dashboard and your program open the same store.</p>
    </Empty>
  )
}
