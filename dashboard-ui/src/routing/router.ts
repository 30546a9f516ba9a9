// Where the reader is: a path below <base href> and a query, as one signal. Links are real links; a
// plain click is answered here, and everything else (new tab, download) is left to the browser.

import { computed, signal } from '@preact/signals'

/** The folder that the dashboard is mounted in, with a slash at its end. */
export const BASE = new URL(document.baseURI).pathname

interface Place {
  /** Decoded segments below the base: `['instances', 'order-17']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

/** The place that is shown. */
export const place = signal<Place>(read())

/** The first segment: the screen. */
export const screen = computed(() => place.value.path[0] ?? '')

function read(): Place {
  const { pathname, search } = location
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : ''
  const path = below.split('/').filter((part) => part !== '')
  return { path: path.map(decode), query: new URLSearchParams(search) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The address of a place. */
export function hrefOf(path: readonly string[], query?: URLSearchParams): string {
  const text = query?.toString() ?? ''
  return `${BASE}${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Goes to an address of the dashboard. */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') {
    history.replaceState({ scroll: scrollY } satisfies Left, '')
    history.pushState(null, '', href)
  } else history.replaceState(history.state, '', href)
  const before = place.value.path.join('/')
  place.value = read()
  if (place.value.path.join('/') !== before) scrollTo(0, 0)
}

/** Changes the query of the place that is shown. */
export function setQuery(
  change: (query: URLSearchParams) => void,
  how: 'push' | 'replace' = 'push',
): void {
  const query = new URLSearchParams(place.value.query)
  change(query)
  go(hrefOf(place.value.path, query), how)
}

/** What the browser keeps of a place that was left. */
interface Left {
  readonly scroll: number
}

const SCROLL_MS = 3000

/** Scrolls as far as it was once the page is long enough: what it shows has to arrive first. */
function scrollSoon(to: number): void {
  if (to === 0) return
  const over = new AbortController()
  const { signal: ended } = over
  const observer = new ResizeObserver(() => {
    scrollTo(0, to)
    if (Math.abs(scrollY - to) < 2) over.abort()
  })
  ended.addEventListener('abort', () => observer.disconnect())
  observer.observe(document.body)
  // Not against the reader, who may be elsewhere by then.
  for (const event of ['wheel', 'pointerdown', 'keydown', 'popstate']) {
    addEventListener(event, () => over.abort(), { signal: ended, once: true })
  }
  setTimeout(() => over.abort(), SCROLL_MS)
}

/** Answers the back button and plain clicks on links of the dashboard. */
export function startRouting(): void {
  addEventListener('popstate', ({ state }) => {
    place.value = read()
    scrollSoon((state as Left | null)?.scroll ?? 0)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element).closest?.('a')
    if (link === null || link === undefined || link.target !== '' || link.download !== '') return
    const to = new URL(link.href)
    if (to.origin !== location.origin || !to.pathname.startsWith(BASE)) return
    if (to.pathname === location.pathname && to.hash !== '') return
    event.preventDefault()
    go(to.pathname + to.search)
  })
}
