// Keys that work everywhere, and those that a screen adds while it is shown.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

export interface Shortcut {
  /** As it is typed: `?`, `g i`, `]`. */
  readonly keys: string
  readonly what: string
  readonly run: () => void
}

const PAIR_MS = 1200

/** Those of the page, then those of the screen. */
export const shortcuts = signal<
  readonly { readonly group: string; readonly items: readonly Shortcut[] }[]
>([])

/** Adds shortcuts while a component is shown. */
export function useShortcuts(group: string, items: readonly Shortcut[]): void {
  useEffect(() => {
    const added = { group, items }
    shortcuts.value = [...shortcuts.value, added]
    return () => {
      shortcuts.value = shortcuts.value.filter((one) => one !== added)
    }
  })
}

let first = ''
let firstAt = 0

/** The shortcut for a key after another; `wait` when it may be the first of two. */
export function matching(
  all: readonly Shortcut[],
  before: string,
  key: string,
): Shortcut | 'wait' | undefined {
  const pair = all.find(({ keys }) => keys === `${before} ${key}`)
  if (before !== '' && pair !== undefined) return pair
  // Those of the screen come last and win.
  const single = all.findLast(({ keys }) => keys === key)
  if (single !== undefined) return single
  return all.some(({ keys }) => keys.startsWith(`${key} `)) ? 'wait' : undefined
}

export function startShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
    const before = event.timeStamp - firstAt < PAIR_MS ? first : ''
    const all = shortcuts.value.flatMap(({ items }) => items)
    const found = matching(all, before, event.key)
    first = found === 'wait' ? event.key : ''
    firstAt = event.timeStamp
    if (found === undefined || found === 'wait') return
    event.preventDefault()
    found.run()
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && ['checkbox', 'range', 'radio'].includes(target.type))
  )
}

/** Moves the focus in the list of the screen. */
export function moveRows(by: number): void {
  document
    .querySelector('main [data-rows]')
    ?.dispatchEvent(new CustomEvent('move-rows', { detail: by }))
}
