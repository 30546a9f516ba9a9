import { formatClock, formatDuration } from '../../format/time.ts'
import type { TimelineEvent } from '../../timeline/spans.ts'
import { VirtualRows } from '../../ui/virtual-rows.tsx'
import { eventTone, summaryOf } from './summary.ts'

const ROW = 30

/** Every event of an execution, in order. */
export function HistoryList(props: {
  events: readonly TimelineEvent[]
  seq: number
  isLatest: boolean
  onMove: (seq: number | undefined) => void
}) {
  const { events, seq } = props
  const from = events[0]?.at ?? 0
  return (
    <VirtualRows
      label="History"
      class="history-rows"
      count={events.length}
      rowHeight={ROW}
      columns={4}
      active={props.isLatest ? 0 : seq - 1}
      chosen={!props.isLatest}
      onActive={(i) => props.onMove(events[i]!.seq)}
      head={
        <div class="virtual-head history-head" aria-hidden="true">
          <span class="end">Event</span>
          <span class="end">After</span>
          <span>Type</span>
          <span>Detail</span>
        </div>
      }
      row={(i) => <Row event={events[i]!} from={from} later={!props.isLatest && i >= seq} />}
    />
  )
}

function Row({ event, from, later }: { event: TimelineEvent; from: number; later: boolean }) {
  const summary = summaryOf(event)
  return (
    <span class={`history-row ${later ? 'later' : ''}`} role="presentation">
      <span role="gridcell" class="end num faint">
        {event.seq}
      </span>
      <span role="gridcell" class="end num faint" title={formatClock(event.at)}>
        +{formatDuration(event.at - from)}
      </span>
      <span role="gridcell" class={`event-type tone-${eventTone(event)}`}>
        {event.type}
      </span>
      <span role="gridcell" class="cut mono">
        {summary}
      </span>
    </span>
  )
}
