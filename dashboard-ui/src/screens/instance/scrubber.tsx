import type { AsOf } from '../../timeline/as-of.ts'
import { formatCount, plural } from '../../format/number.ts'
import { formatAbsolute, formatDuration } from '../../format/time.ts'
import { Button } from '../../ui/button.tsx'

/** Goes through a history: everything below shows the instance as it was after the chosen event. */
export function Scrubber(props: {
  count: number
  /** The chosen event; the last one when none is. */
  seq: number
  isLatest: boolean
  asOf: AsOf | undefined
  startedAt: number
  onMove: (seq: number | undefined) => void
}) {
  const { count, seq, isLatest, asOf, onMove } = props
  if (count === 0) return null
  const to = (next: number): void => onMove(next >= count ? undefined : Math.max(1, next))
  return (
    <div class={`scrubber ${isLatest ? '' : 'past'}`} role="group" aria-label="As of event">
      <Button
        kind="quiet"
        icon="back"
        aria-label="Event before"
        title="Event before ([)"
        onClick={() => to(seq - 1)}
      />
      <input
        type="range"
        min={1}
        max={count}
        value={seq}
        aria-label="As of event"
        aria-valuetext={`Event ${seq} of ${count}${asOf ? `, ${asOf.event.type}` : ''}`}
        onInput={({ currentTarget }) => to(Number(currentTarget.value))}
      />
      <Button
        kind="quiet"
        icon="next"
        aria-label="Event after"
        title="Event after (])"
        onClick={() => to(seq + 1)}
      />
      <span class="scrubber-where num">
        {isLatest ? (
          `Latest of ${plural(count, 'event')}`
        ) : (
          <>
            As of event <strong>{formatCount(seq)}</strong> of {formatCount(count)}
          </>
        )}
        {asOf && (
          <span class="faint" title={formatAbsolute(asOf.event.at)}>
            {' '}
            +{formatDuration(asOf.event.at - props.startedAt)}
          </span>
        )}
      </span>
      {!isLatest && (
        <Button onClick={() => onMove(undefined)} title="Latest (Escape)">
          Latest
        </Button>
      )}
    </div>
  )
}
