import { useEffect, useRef, useState } from 'preact/hooks'

import type { ApiEvent, HistoryAnswer } from '../../../../src/dashboard/api.ts'
import { address, get, RequestError } from '../../api/http.ts'
import { fieldsOf } from '../../format/shown.ts'
import { type Span, spansOf, type TimelineEvent } from '../../timeline/spans.ts'

const PAGE = 5000

export interface LoadedHistory {
  readonly events: readonly TimelineEvent[]
  readonly spans: readonly Span[]
  /** More is on its way. */
  readonly loading: boolean
  readonly error?: RequestError
  /** Reads on after an error. */
  readonly retry: () => void
}

const RETRY_MS = 3000

const NOTHING: Omit<LoadedHistory, 'retry'> = { events: [], spans: [], loading: true }

/**
 * The history of an execution with short values, page after page. Whenever it is known to have more events,
 * those are read as well: what is there never changes.
 */
export function useHistory(id: string, execution: number, known: number): LoadedHistory {
  const [loaded, setLoaded] = useState(NOTHING)
  const [tries, setTries] = useState(0)
  const retry = (): void => setTries((n) => n + 1)
  const kept = useRef<{ of: string; events: TimelineEvent[] }>({ of: '', events: [] })
  const of = `${id} ${execution}`
  useEffect(() => {
    if (kept.current.of !== of) {
      kept.current = { of, events: [] }
      setLoaded(NOTHING)
    }
    const { events } = kept.current
    if (events.length > 0 && events.length >= known) return
    const controller = new AbortController()
    let again: ReturnType<typeof setTimeout> | undefined
    const load = async (): Promise<void> => {
      for (;;) {
        const after = events.at(-1)?.seq ?? 0
        const path = address('instance/history', {
          id,
          execution,
          after,
          limit: PAGE,
          values: 'short',
        })
        const answer = await get<HistoryAnswer>(path, controller.signal)
        for (const item of answer.items) {
          if (item.seq > (events.at(-1)?.seq ?? 0)) events.push(timelineEvent(item))
        }
        const loading = answer.next !== undefined
        setLoaded({ events: events.slice(), spans: spansOf(events), loading })
        if (!loading) return
      }
    }
    load().catch((error: unknown) => {
      if (controller.signal.aborted) return
      const failed =
        error instanceof RequestError ? error : new RequestError('internal', String(error))
      setLoaded((before) => ({ ...before, loading: false, error: failed }))
      // As the notice says, the page goes on once there is an answer.
      const mayPass = failed.code === 'unreachable' || failed.code === 'unavailable'
      if (mayPass) again = setTimeout(retry, RETRY_MS)
    })
    return () => {
      controller.abort()
      clearTimeout(again)
    }
  }, [of, known, tries])
  return { ...loaded, retry }
}

function timelineEvent({ seq, type, at, command, name, data }: ApiEvent): TimelineEvent {
  return {
    seq,
    type,
    at: Date.parse(at),
    data: {
      ...(name !== undefined && { name }),
      ...fieldsOf(data?.shown),
      ...(command !== undefined && { command }),
    },
  }
}
