import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** One row at a time can be focused by Tab; arrow keys, and j and k from anywhere, go from row to row. */
export interface RovingRows {
  readonly active: number
  /** For the element around the rows. */
  readonly container: {
    readonly ref: (element: HTMLElement | null) => void
    readonly 'data-rows': ''
  }
  /** Makes a row the one that Tab reaches. */
  readonly focus: (index: number) => void
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/** How far a key moves within `count` rows; `undefined` for other keys. */
export function moveFor(key: string, index: number, count: number, page = 10): number | undefined {
  const last = count - 1
  switch (key) {
    case 'ArrowDown':
      return Math.min(index + 1, last)
    case 'ArrowUp':
      return Math.max(index - 1, 0)
    case 'PageDown':
      return Math.min(index + page, last)
    case 'PageUp':
      return Math.max(index - page, 0)
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return undefined
  }
}

/** Rows of which all are in the document, each with `data-row`. */
export function useRovingRows(count: number, onFocus?: (index: number) => void): RovingRows {
  const [active, setActive] = useState(0)
  const element = useRef<HTMLElement | null>(null)
  const current = useRef({ active, count })
  current.current = { active: Math.min(active, Math.max(0, count - 1)), count }

  const focus = useCallback((index: number) => {
    setActive(index)
    onFocus?.(index)
    // At once: the next key may come before the next frame.
    const row = element.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)
    row?.focus({ preventScroll: true })
    row?.scrollIntoView({ block: 'nearest' })
  }, [])

  useEffect(() => {
    const move = (event: Event): void => {
      const { active: from, count: rows } = current.current
      const inside = element.current?.contains(document.activeElement) ?? false
      const by = (event as CustomEvent<number>).detail
      if (rows > 0) focus(inside ? Math.max(0, Math.min(rows - 1, from + by)) : from)
    }
    element.current?.addEventListener('move-rows', move)
    const at = element.current
    return () => at?.removeEventListener('move-rows', move)
  })

  return {
    active: current.current.active,
    container: { ref: (at) => void (element.current = at), 'data-rows': '' },
    focus,
    onKeyDown(event) {
      if (event.target instanceof HTMLInputElement || event.altKey || event.metaKey) return
      const to = moveFor(event.key, current.current.active, current.current.count)
      if (to === undefined) return
      event.preventDefault()
      focus(to)
    },
  }
}
