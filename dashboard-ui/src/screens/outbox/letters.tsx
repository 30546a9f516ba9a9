import type { ComponentChildren } from 'preact'

import type { ApiDeadLetter } from '../../../../src/dashboard/api.ts'
import { formatCount } from '../../format/number.ts'
import { preview } from '../../format/shown.ts'
import { hrefOf, place } from '../../routing/router.ts'
import { Ago } from '../../ui/clock.tsx'
import { DataTable, type Selection } from '../../ui/data-table.tsx'
import { DetailsDialog } from '../../ui/details.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { ValueView } from '../../ui/value.tsx'

/** Opens it over the list. */
function hrefTo({ id }: ApiDeadLetter): string {
  const query = new URLSearchParams(place.value.query)
  query.set('letter', id)
  return hrefOf(['outbox'], query)
}

/** Dead letters in a list. */
export function LetterTable(props: {
  items: readonly ApiDeadLetter[]
  busy: boolean
  selection: Selection | undefined
}) {
  return (
    <DataTable
      label="Dead letters"
      rows={props.items}
      keyOf={({ id }) => id}
      hrefOf={hrefTo}
      busy={props.busy}
      selection={props.selection}
      columns={[
        {
          head: 'Topic',
          narrow: 'title',
          cell: (letter) => (
            <a class="cut" href={hrefTo(letter)} tabIndex={-1}>
              {letter.message.topic} <span class="faint num">{letter.message.partition}</span>
            </a>
          ),
        },
        {
          head: 'Key',
          cell: ({ message }) =>
            message.key === '' ? (
              <span class="faint">none</span>
            ) : (
              <code class="cut">{message.key}</code>
            ),
        },
        {
          head: 'Reason',
          kind: 'grow',
          cell: ({ reason }) => (
            <span class="clamp bad" title={reason}>
              {reason}
            </span>
          ),
        },
        {
          head: 'Payload',
          kind: 'grow',
          narrow: 'drop',
          cell: ({ message }) => (
            <span class="cut mono faint">{preview(message.payload.shown, 160)}</span>
          ),
        },
        { head: 'Attempts', kind: 'end', cell: ({ message }) => formatCount(message.attempt) },
        { head: 'Failed', kind: 'end', cell: ({ failedAt }) => <Ago at={failedAt} /> },
      ]}
    />
  )
}

/** One dead letter, whole. */
export function LetterDialog(props: {
  letter: ApiDeadLetter
  onClose: () => void
  actions: ComponentChildren
}) {
  const { message, status, reason, failedAt, completedAt, deadline } = props.letter
  const headers = Object.entries(message.headers)
  return (
    <DetailsDialog
      title={`Message ${message.id}`}
      onClose={props.onClose}
      actions={props.actions}
      details={[
        ['State', <StatusMark key="state" of={status} />],
        ['Reason', <span key="reason">{reason}</span>],
        ['Topic', `${message.topic}, partition ${message.partition}, number ${message.seq}`],
        ['Key', message.key === '' ? 'none' : <code key="key">{message.key}</code>],
        ['Attempts', formatCount(message.attempt)],
        ['Enqueued', <Ago key="enqueued" at={message.enqueuedAt} />],
        ['Failed', <Ago key="failed" at={failedAt} />],
        ['Completed', completedAt && <Ago at={completedAt} />],
        ['Taken until', deadline && <Ago at={deadline} />],
        ...headers.map(([name, value]) => [name, <code key={name}>{value}</code>] as const),
      ]}
    >
      <section>
        <h3>Payload</h3>
        <div class="value-box" tabIndex={0} role="region" aria-label="Payload">
          <ValueView value={message.payload.shown} />
        </div>
        {message.payload.truncated && <p class="faint">It is longer: this is its beginning.</p>}
      </section>
    </DetailsDialog>
  )
}
