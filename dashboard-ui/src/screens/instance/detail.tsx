import { useEffect, useState } from 'preact/hooks'

import type { ApiEvent, Shown } from '../../../../src/dashboard/api.ts'
import { address, get, RequestError } from '../../api/http.ts'
import { fieldsOf } from '../../format/shown.ts'
import { formatAbsolute, formatDuration } from '../../format/time.ts'
import type { Span, TimelineEvent } from '../../timeline/spans.ts'
import { CopyButton } from '../../ui/button.tsx'
import { Failure, Loading } from '../../ui/notice.tsx'
import { ValueView } from '../../ui/value.tsx'
import { InstanceLink } from '../instances/columns.tsx'

/** One event in full, with the command that it belongs to: what went in, and what came out. */
export function EventDetail(props: {
  id: string
  execution: number
  event: TimelineEvent
  span: Span | undefined
}) {
  const { id, execution, event, span } = props
  const seqs = span === undefined ? [event.seq] : [span.firstSeq, ...attempts(span), span.lastSeq]
  return (
    <aside class="detail" aria-label="Event">
      <header>
        <h2>
          {event.type} <span class="faint num">event {event.seq}</span>
        </h2>
        <p class="faint num">{formatAbsolute(event.at)}</p>
        {span?.to !== undefined && (
          <p class="faint num">
            command {span.command}, {span.outcome} after {formatDuration(span.to - span.from)}
          </p>
        )}
      </header>
      {seqs
        .filter((seq) => seq !== undefined)
        .map((seq) => (
          <FullEvent key={seq} id={id} execution={execution} seq={seq} chosen={seq === event.seq} />
        ))}
    </aside>
  )
}

function attempts(span: Span): number[] {
  // Of many, the last ones say enough.
  return span.attempts.slice(-3).map(({ seq }) => seq)
}

function FullEvent(props: { id: string; execution: number; seq: number; chosen: boolean }) {
  const { id, execution, seq } = props
  const [event, setEvent] = useState<ApiEvent>()
  const [error, setError] = useState<RequestError>()
  useEffect(() => {
    const controller = new AbortController()
    // While someone goes through a history, only what they stop at is read.
    const timer = setTimeout(() => {
      get<ApiEvent>(
        address('instance/event', { id, execution, seq, values: 'full' }),
        controller.signal,
      ).then(setEvent, (thrown: unknown) => thrown instanceof RequestError && setError(thrown))
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [id, execution, seq])
  if (error !== undefined) return <Failure error={error} what={`Event ${seq}`} />
  if (event === undefined) return <Loading rows={3} />
  return (
    <section class={`full-event ${props.chosen ? 'chosen' : ''}`}>
      <h3>
        {event.type} <span class="faint num">{event.seq}</span>
      </h3>
      <Fields of={fieldsOf(event.data?.shown)} type={event.type} />
    </section>
  )
}

/** Short fields beside each other, values as trees. */
function Fields({ of, type }: { of: Readonly<Record<string, Shown>>; type: string }) {
  const fields = Object.entries(of).filter(
    ([name, value]) => name !== 'command' && value !== '' && !isUndefined(value),
  )
  if (fields.length === 0) return <p class="faint">Nothing more is recorded.</p>
  return (
    <dl class="fields">
      {fields.map(([name, value]) => (
        <>
          <dt key={name}>
            {name}
            {typeof value === 'object' && value !== null && (
              <CopyButton text={JSON.stringify(value, undefined, 2)} what={name} />
            )}
          </dt>
          <dd>
            {isInstance(type, name) && typeof value === 'string' ? (
              <InstanceLink id={value} />
            ) : (
              <ValueView value={value} />
            )}
          </dd>
        </>
      ))}
    </dl>
  )
}

function isInstance(type: string, field: string): boolean {
  return (
    (field === 'id' && ['child', 'start', 'send', 'read'].includes(type)) || field === 'parentId'
  )
}

function isUndefined(value: Shown): boolean {
  return typeof value === 'object' && value !== null && '$' in value && value.$ === 'undefined'
}
