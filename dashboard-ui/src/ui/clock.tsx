import { signal } from '@preact/signals'

import { formatAbsolute, formatDuration, formatRelative } from '../format/time.ts'

/** The moment, by the clock of the server, once a second. */
export const now = signal(Date.now())
let offset = 0

/** Follows the server's clock: the reader's may be wrong by minutes. */
export function setServerTime(at: string): void {
  offset = Date.parse(at) - Date.now()
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now() + offset
  }, 1000)
}

/** How long ago something was, with the whole moment as its title. */
export function Ago({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="faint">–</span>
  const ms = Date.parse(at)
  return (
    <time class="num" dateTime={at} title={formatAbsolute(ms)}>
      {formatRelative(ms, now.value)}
    </time>
  )
}

/** How long something took, or has taken so far. */
export function Took({ from, to }: { from: string; to: string | undefined }) {
  const end = to === undefined ? Math.max(now.value, Date.parse(from)) : Date.parse(to)
  return <span class="num">{formatDuration(end - Date.parse(from))}</span>
}
