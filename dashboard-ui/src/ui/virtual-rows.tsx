import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { moveFor } from './rows.ts'

const EXTRA = 8

/** The rows that a scrolled window shows, and a few around them. */
export function visibleRange(
  scrollTop: number,
  height: number,
  rowHeight: number,
  count: number,
): { readonly first: number; readonly end: number } {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - EXTRA)
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + EXTRA)
  return { first: Math.min(first, end), end }
}

/**
 * Many rows of one height, of which only those in sight are in the document. The row that is active can
 * be focused; arrow keys move it.
 */
export function VirtualRows(props: {
  label: string
  count: number
  rowHeight: number
  /** The row that Tab reaches. */
  active: number
  /** Whether the active row was chosen: it is marked then, and kept in sight. */
  chosen: boolean
  onActive: (index: number) => void
  row: (index: number) => ComponentChildren
  class?: string
  head?: ComponentChildren
  columns: number
}) {
  const { count, rowHeight, active, onActive } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const wantsFocus = useRef(false)

  useLayoutEffect(() => {
    const element = box.current!
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // Into sight, wherever the choice was made.
  useEffect(() => {
    if (!props.chosen) return
    const element = box.current!
    const top = active * rowHeight
    const headHeight = element.querySelector<HTMLElement>('.virtual-head')?.offsetHeight ?? 0
    const room = element.clientHeight - headHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room
    if (wantsFocus.current) {
      wantsFocus.current = false
      requestAnimationFrame(() => {
        element.querySelector<HTMLElement>(`[data-row="${active}"]`)?.focus({ preventScroll: true })
      })
    }
  }, [active, props.chosen])

  const move = (to: number): void => {
    wantsFocus.current = true
    onActive(to)
  }
  const state = useRef({ active, count, move })
  state.current = { active, count, move }
  useEffect(() => {
    const element = box.current!
    const onMove = (event: Event): void => {
      const now = state.current
      const to = now.active + (event as CustomEvent<number>).detail
      now.move(Math.max(0, Math.min(now.count - 1, to)))
    }
    element.addEventListener('move-rows', onMove)
    return () => element.removeEventListener('move-rows', onMove)
  }, [])

  const { first, end } = visibleRange(view.top, view.height, rowHeight, count)
  const rows: ComponentChildren[] = []
  for (let i = first; i < end; i++) {
    rows.push(
      <div
        key={i}
        role="row"
        aria-rowindex={i + 1}
        aria-selected={props.chosen && i === active}
        data-row={i}
        tabIndex={i === active ? 0 : -1}
        class={`virtual-row ${props.chosen && i === active ? 'active' : ''}`}
        style={{ transform: `translateY(${i * rowHeight}px)`, height: `${rowHeight}px` }}
        onClick={() => move(i)}
      >
        {props.row(i)}
      </div>,
    )
  }
  return (
    <div
      ref={box}
      class={`virtual ${props.class ?? ''}`}
      role="grid"
      aria-label={props.label}
      aria-rowcount={count}
      aria-colcount={props.columns}
      tabIndex={-1}
      data-rows=""
      onScroll={({ currentTarget }) =>
        setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })
      }
      onKeyDown={(event) => {
        const page = Math.max(1, Math.floor(view.height / rowHeight) - 2)
        const to = moveFor(event.key, active, count, page)
        if (to === undefined || event.target instanceof HTMLInputElement) return
        event.preventDefault()
        move(to)
      }}
    >
      {props.head}
      <div class="virtual-body" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  )
}
