// The token that lets the reader change things. It arrives in the fragment of the address, which browsers
// send to nobody, and is kept for this tab alone.

import { signal } from '@preact/signals'

const KEY = 'holdfast-token'

const kept = signal(sessionStorage.getItem(KEY) ?? undefined)

/** The token of this tab. Effects that read it run again when it changes. */
export function token(): string | undefined {
  return kept.value
}

/** Remembers a token. */
export function setToken(value: string): void {
  sessionStorage.setItem(KEY, value)
  kept.value = value
}

/** The token in what someone pasted: itself, or an address that ends with it. */
export function tokenIn(pasted: string): string {
  const text = pasted.trim()
  const at = text.indexOf('#')
  const given = at === -1 ? null : new URLSearchParams(text.slice(at + 1)).get('token')
  return given ?? text
}

/**
 * Takes the token out of the address, so that it is not copied or kept in the list of visited pages: now, and
 * when such an address is opened in a tab that shows the pages already, which loads nothing.
 */
export function startToken(): void {
  take()
  addEventListener('hashchange', take)
}

function take(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return
  history.replaceState(history.state, '', location.pathname + location.search)
  setToken(given)
}
