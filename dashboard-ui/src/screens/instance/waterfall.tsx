import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import { plural } from '../../format/number.ts'
import { formatAbsolute, formatDuration } from '../../format/time.ts'
import { labelPlace, ticksOf, type TimeScale, timeScale } from '../../timeline/scale.ts'
import { type Span, spanAsOf, type TimelineEvent } from '../../timeline/spans.ts'
import { Icon } from '../../ui/icon.tsx'
import { Empty } from '../../ui/notice.tsx'
import { VirtualRows } from '../../ui/virtual-rows.tsx'
import { iconOf } from './summary.ts'

const ROW = 28

/** What labels take, about, in pixels. */
const TICK = 76
const LETTER = 6.5
const MARGIN = 14

/** Every command as a bar on the time axis: when it was issued, its attempts, and how it ended. */
export function Waterfall(props: {
  events: readonly TimelineEvent[]
  spans: readonly Span[]
  seq: number
  isLatest: boolean
  until: number
  onMove: (seq: number | undefined) => void
}) {
  const { events, spans, seq } = props
  const [collapse, setCollapse] = useState(true)
  const [width, setWidth] = useState(600)
  const scale = useMemo(
    () =>
      timeScale(
        events.map(({ at }) => at),
        props.until,
        { collapse },
      ),
    [events, props.until, collapse],
  )
  if (spans.length === 0) {
    return (
      <Empty title="Nothing on the timeline">
        <p>Activities, timers, messages and children that the workflow asks for appear here.</p>
      </Empty>
    )
  }
  const cursor = props.isLatest ? undefined : events[seq - 1]?.at
  const active = props.isLatest ? 0 : Math.max(0, activeSpan(spans, seq))
  return (
    <div class="waterfall">
      <div class="waterfall-bar">
        <span class="faint">
          {plural(spans.length, 'command')} over {formatDuration(scale.to - scale.from)}
        </span>
        <label class="check-label">
          <input
            type="checkbox"
            checked={collapse}
            onChange={({ currentTarget }) => setCollapse(currentTarget.checked)}
          />
          Shorten long waits
        </label>
      </div>
      <VirtualRows
        label="Timeline"
        class="waterfall-rows"
        count={spans.length}
        rowHeight={ROW}
        columns={2}
        active={active}
        chosen={!props.isLatest}
        onActive={(i) => props.onMove(spans[i]!.lastSeq ?? spans[i]!.firstSeq)}
        head={<Axis scale={scale} width={width} onWidth={setWidth} />}
        row={(i) => <Row span={spans[i]!} seq={seq} scale={scale} width={width} cursor={cursor} />}
      />
    </div>
  )
}

/** The span that an event belongs to, or the last one that began before it. */
function activeSpan(spans: readonly Span[], seq: number): number {
  const exact = spans.findIndex((span) => span.lastSeq === seq || span.firstSeq === seq)
  if (exact !== -1) return exact
  return spans.findLastIndex((span) => span.firstSeq <= seq)
}

const percent = (x: number): string => `${(x * 100).toFixed(3)}%`

function Axis(props: { scale: TimeScale; width: number; onWidth: (width: number) => void }) {
  const { scale, width, onWidth } = props
  const track = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    const element = track.current!
    const observer = new ResizeObserver(() => onWidth(Math.max(1, element.clientWidth)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <div class="virtual-head waterfall-head" aria-hidden="true">
      <span>Command</span>
      <span class="track" ref={track}>
        {ticksOf(scale, TICK / width).map((x) => (
          <span key={x} class="tick num" style={{ left: percent(x) }}>
            {formatDuration(scale.at(x) - scale.from)}
          </span>
        ))}
        {scale.breaks.slice(0, 8).map((one) => (
          <span
            key={one.from}
            class="axis-break"
            style={{ left: percent(one.x) }}
            title={`${formatDuration(one.to - one.from)} without an event, drawn shorter`}
          >
            ⋯
          </span>
        ))}
      </span>
    </div>
  )
}

function Row(props: {
  span: Span
  seq: number
  scale: TimeScale
  width: number
  cursor: number | undefined
}) {
  const { scale, width, cursor } = props
  const span = spanAsOf(props.span, props.seq)
  const { kind, name } = props.span
  const end = span?.to ?? cursor ?? scale.to
  return (
    <>
      <span role="gridcell" class={`waterfall-name ${span === undefined ? 'later' : ''}`}>
        <Icon name={iconOf(kind)} />
        <span class="hidden-text">{kind}</span>
        <span class="cut">{name === '' ? kind : name}</span>
        {span !== undefined && span.attempts.length > 0 && (
          <span class="badge tone-failed" title="Failed attempts">
            ×{span.attempts.length}
          </span>
        )}
      </span>
      <span role="gridcell" class="track">
        {span !== undefined && <Bars span={span} end={end} scale={scale} width={width} />}
        {cursor !== undefined && <i class="cursor" style={{ left: percent(scale.x(cursor)) }} />}
      </span>
    </>
  )
}

function Bars(props: { span: Span; end: number; scale: TimeScale; width: number }) {
  const { span, end, scale, width } = props
  const pieces = []
  let from = span.from
  for (const { seq, attempt, at, retryAt } of span.attempts) {
    pieces.push(
      <Bar
        key={seq}
        look="attempt"
        from={from}
        to={at}
        scale={scale}
        title={`attempt ${attempt} failed`}
      />,
      <Bar key={`${seq} wait`} look="delay" from={at} to={Math.min(retryAt, end)} scale={scale} />,
    )
    from = Math.min(Math.max(at, retryAt), end)
  }
  const took = formatDuration(end - span.from)
  const title = `${span.kind} ${span.name}: ${span.outcome === 'open' ? 'open for' : span.outcome} ${took}, from ${formatAbsolute(span.from)}`
  const text = span.outcome === 'open' ? `${took} …` : took
  const said = span.outcome === 'failed' || span.outcome === 'dropped' ? ` ${span.outcome}` : ''
  const bar = { from: scale.x(span.from), to: scale.x(end) }
  const place = labelPlace(bar, ((text.length + said.length) * LETTER + MARGIN) / width)
  const isOver = 'right' in place && place.right < 1 - bar.from
  return (
    <>
      {pieces}
      <Bar look={`${span.outcome} ${span.kind}`} from={from} to={end} scale={scale} title={title} />
      <span
        class={`took num ${isOver ? 'over' : ''}`}
        style={'left' in place ? { left: percent(place.left) } : { right: percent(place.right) }}
      >
        {text}
        {span.outcome === 'failed' ? <strong class="bad">{said}</strong> : said}
      </span>
    </>
  )
}

function Bar(props: { look: string; from: number; to: number; scale: TimeScale; title?: string }) {
  const { from, to, scale } = props
  const left = scale.x(from)
  return (
    <i
      class={`span-bar ${props.look}`}
      title={props.title}
      style={{ left: percent(left), width: percent(Math.max(0, scale.x(to) - left)) }}
    />
  )
}
