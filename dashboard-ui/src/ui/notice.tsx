import type { ComponentChildren } from 'preact'

import type { RequestError } from '../api/http.ts'
import { refresh } from '../api/live.ts'
import { formatClock } from '../format/time.ts'
import { Button } from './button.tsx'
import { EnterToken } from './enter-token.tsx'

/** In place of a list that has nothing in it: says why that may be, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** What a reader can do about a request that failed. */
const ADVICE: Partial<Record<RequestError['code'], string>> = {
  unreachable:
    'Is the process that serves the dashboard running? This page goes on by itself once it answers.',
  unavailable: 'The store does not answer. This page goes on by itself once it does.',
  unauthorized: 'Enter it, or open the address that ends with #token=… once more.',
  read_only: 'This dashboard was started without a token, so nothing can be changed through it.',
}

/** What went wrong, and what to do about it. */
export function Failure(props: {
  error: RequestError
  what: string
  /** Reads it again; by default everything that is watched is. */
  onRetry?: () => void
}) {
  const { error, what, onRetry = refresh } = props
  return (
    <div class="notice bad" role="alert">
      <h2>{what} cannot be shown</h2>
      <p>{sentence(error.message)}</p>
      {ADVICE[error.code] && <p class="faint">{ADVICE[error.code]}</p>}
      {error.code === 'unauthorized' ? (
        <EnterToken />
      ) : (
        <Button onClick={onRetry}>Try again</Button>
      )}
    </div>
  )
}

/** Over what is shown though the server has not answered since. */
export function Stale({ error, since }: { error: RequestError; since: number | undefined }) {
  return (
    <p class="stale" role="status">
      Not up to date{since !== undefined && ` since ${formatClock(since)}`}: {error.message}.
    </p>
  )
}

/** Errors of Holdfast begin in lower case and end without a full stop. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Lines in place of what has not arrived yet. */
export function Loading({ rows = 8 }: { rows?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} class="bone" />
      ))}
    </div>
  )
}
