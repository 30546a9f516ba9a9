import type { ComponentChildren } from 'preact'

import type { ApiQueueMessage } from '../../../../src/dashboard/api.ts'
import { formatCount } from '../../format/number.ts'
import { preview } from '../../format/shown.ts'
import { hrefOf, place } from '../../routing/router.ts'
import { Ago } from '../../ui/clock.tsx'
import { DataTable, type Selection } from '../../ui/data-table.tsx'
import { DetailsDialog } from '../../ui/details.tsx'
import { ValueView } from '../../ui/value.tsx'

/** Opens it over the list. */
function hrefTo({ id }: ApiQueueMessage): string {
  const query = new URLSearchParams(place.value.query)
  query.set('message', String(id))
  return hrefOf(['queues'], query)
}

/** Messages in a list. */
export function MessageTable(props: {
  items: readonly ApiQueueMessage[]
  busy: boolean
  selection: Selection | undefined
}) {
  return (
    <DataTable
      label="Messages"
      rows={props.items}
      keyOf={({ id }) => String(id)}
      hrefOf={hrefTo}
      busy={props.busy}
      selection={props.selection}
      columns={[
        {
          head: 'Id',
          kind: 'fit',
          narrow: 'title',
          cell: (message) => (
            <a class="mono" href={hrefTo(message)} tabIndex={-1}>
              {message.id}
            </a>
          ),
        },
        {
          head: 'Data',
          kind: 'grow',
          cell: ({ data, error }) =>
            error === undefined ? (
              <span class="cut mono">{data && preview(data.shown, 200)}</span>
            ) : (
              <span class="cut bad">{error}</span>
            ),
        },
        {
          head: 'Last failure',
          kind: 'grow',
          cell: ({ reason }) =>
            reason !== undefined && (
              <span class="clamp bad" title={reason}>
                {reason}
              </span>
            ),
        },
        { head: 'Attempts', kind: 'end', cell: ({ attempt }) => formatCount(attempt) },
        { head: 'Pushed', kind: 'end', cell: ({ pushedAt }) => <Ago at={pushedAt} /> },
      ]}
    />
  )
}

/** One message, whole. */
export function MessageDialog(props: {
  message: ApiQueueMessage
  onClose: () => void
  actions: ComponentChildren
}) {
  const { id, attempt, pushedAt, data, reason, error } = props.message
  return (
    <DetailsDialog
      title={`Message ${id}`}
      onClose={props.onClose}
      actions={props.actions}
      details={[
        ['Last failure', reason],
        ['Cannot be read', error],
        ['Attempts', formatCount(attempt)],
        ['Pushed', <Ago key="pushed" at={pushedAt} />],
      ]}
    >
      {data && (
        <section>
          <h3>Data</h3>
          <div class="value-box" tabIndex={0} role="region" aria-label="Data">
            <ValueView value={data.shown} />
          </div>
          {data.truncated && <p class="faint">It is longer: this is its beginning.</p>}
        </section>
      )}
    </DetailsDialog>
  )
}
