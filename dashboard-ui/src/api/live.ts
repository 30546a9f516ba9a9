// What the screen shows, kept current: every part of it watches an address below `api/`, and one stream of
// server-sent events carries the answers of all of them whenever they change. Where the stream cannot be
// held open, the addresses are read again every few seconds.

import { effect, signal, type Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

import type { LiveChange } from '../../../src/dashboard/api.ts'
import { authorization, get, RequestError } from './http.ts'
import { messagesOf } from './event-stream.ts'
import { token } from './token.ts'

/** An answer, as far as it is known. */
export interface Loaded<T> {
  readonly data?: T
  readonly error?: RequestError
  /** Nothing has arrived for this address yet; `data` may be that of the address before. */
  readonly loading: boolean
  /** Since when `data` is not up to date, because the server does not answer. */
  readonly staleSince?: number
}

/** How the stream is doing. */
export const connection = signal<'connecting' | 'live' | 'polling' | 'paused'>('connecting')

/** Whether the reader wants the screen to move. */
export const paused = signal(false)

interface Watched {
  readonly state: Signal<Loaded<unknown>>
  watchers: number
  /** How many changes the stream has brought: an answer that was asked for before one of them is old. */
  changes: number
}

const watched = new Map<string, Watched>()
const RETRY_MS = 3000

/** What costs the store more or changes little is read now and then, apart from the stream. */
const SLOW: ReadonlySet<string> = new Set(['meta', 'instance/output'])
const SLOW_MS = 15_000

const isSlow = (path: string): boolean => SLOW.has(path.split('?', 1)[0]!)

/** The answer of an address, kept current while the component is shown. */
export function useLive<T>(path: string): Loaded<T> {
  const [last] = useState<{ data?: T }>({})
  const [, redraw] = useState(0)
  useEffect(() => {
    const one = watch(path)
    const stop = effect(() => {
      void one.state.value
      redraw((n) => n + 1)
    })
    return () => {
      stop()
      unwatch(path)
    }
  }, [path])
  const state = watched.get(path)?.state.peek() as Loaded<T> | undefined
  if (state?.data !== undefined) last.data = state.data
  // While another page of a list loads, the one before stays.
  return {
    loading: true,
    ...state,
    ...(last.data !== undefined && state?.error === undefined && { data: last.data }),
  }
}

/** Reads everything that is shown again, such as after a change by the reader. */
export function refresh(): void {
  for (const path of watched.keys()) void read(path)
}

function watch(path: string): Watched {
  const known = watched.get(path)
  if (known !== undefined) {
    known.watchers++
    return known
  }
  const one: Watched = { state: signal({ loading: true }), watchers: 1, changes: 0 }
  watched.set(path, one)
  void read(path)
  if (!isSlow(path)) reconnectSoon()
  return one
}

function unwatch(path: string): void {
  const one = watched.get(path)
  if (one === undefined || --one.watchers > 0) return
  watched.delete(path)
  if (!isSlow(path)) reconnectSoon()
}

async function read(path: string): Promise<void> {
  const one = watched.get(path)
  if (one === undefined) return
  const { state, changes } = one
  try {
    const data = await get(path)
    if (one.changes === changes) state.value = { data, loading: false }
  } catch (error) {
    if (one.changes !== changes) return
    fail(state, error instanceof RequestError ? error : new RequestError('internal', String(error)))
  }
}

/** What is shown stays while the server is away; what it refuses is gone. */
function fail(state: Signal<Loaded<unknown>>, error: RequestError): void {
  const keeps = error.code === 'unreachable' || error.code === 'unavailable'
  const { data, staleSince = Date.now() } = state.peek()
  state.value =
    keeps && data !== undefined
      ? { data, error, loading: false, staleSince }
      : { error, loading: false }
}

let stream: AbortController | undefined
let pending: ReturnType<typeof setTimeout> | undefined

/** Opens the stream anew for what is watched now. Screens watch several addresses at once: it waits for all. */
function reconnectSoon(afterMs = 30): void {
  clearTimeout(pending)
  pending = setTimeout(() => void connect(), afterMs)
}

async function connect(): Promise<void> {
  stream?.abort()
  const paths = [...watched.keys()].filter((path) => !isSlow(path))
  if (paused.peek() || document.hidden) {
    connection.value = paused.peek() ? 'paused' : 'connecting'
    return
  }
  if (paths.length === 0) {
    connection.value = 'live'
    return
  }
  const controller = new AbortController()
  stream = controller
  const { signal: ended } = controller
  try {
    const query = new URLSearchParams(paths.map((path) => ['path', path]))
    const response = await fetch(new URL(`api/live?${query}`, document.baseURI), {
      headers: { accept: 'text/event-stream', ...authorization() },
      signal: ended,
    })
    if (!response.ok || response.body === null) throw new Error(`answered ${response.status}`)
    // What is read now and then may be of another server by now.
    if (connection.peek() === 'polling') refresh()
    connection.value = 'live'
    for await (const { event, data } of messagesOf(response.body)) {
      if (event === 'change') take(JSON.parse(data) as LiveChange)
    }
    throw new Error('ended')
  } catch {
    if (ended.aborted) return
    connection.value = 'polling'
    refresh()
    reconnectSoon(RETRY_MS)
  }
}

function take({ path, body, error }: LiveChange): void {
  const one = watched.get(path)
  if (one === undefined) return
  one.changes++
  const { state } = one
  if (error === undefined) state.value = { data: body, loading: false }
  else fail(state, new RequestError(error.code, error.message))
}

/** Stops while nobody looks, and goes on when somebody does. */
export function startLive(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh()
    reconnectSoon(0)
  })
  effect(() => {
    void paused.value
    reconnectSoon(0)
  })
  effect(() => {
    void token()
    refresh()
    reconnectSoon(0)
  })
  setInterval(() => {
    if (document.hidden || paused.peek()) return
    for (const path of watched.keys()) if (isSlow(path)) void read(path)
  }, SLOW_MS)
}
