import './calendar.css'

import { useLayoutEffect, useRef, useState } from 'preact/hooks'

import type { InstanceItem } from '../../../../src/dashboard/api.ts'
import { plural } from '../../format/number.ts'
import { StatusShape } from '../../ui/status.tsx'
import type { Calendar, Cell } from './calendar.ts'

type RunCell = Cell<InstanceItem>

const BAD = ['failed', 'suspended', 'terminated', 'cancelled']
const OPEN = ['running', 'scheduled']

/** Runs on a grid of time. Arrow keys go from square to square; pressing one shows its runs. */
export function CalendarGrid(props: {
  of: Calendar<InstanceItem>
  now: number
  chosen: number | undefined
  onChoose: (cell: RunCell) => void
}) {
  const { unit, columns, rows } = props.of
  const [at, setAt] = useState<readonly [row: number, column: number]>(() =>
    currentOf(rows, props.now),
  )
  const table = useRef<HTMLTableElement>(null)
  const move = (row: number, column: number): void => {
    const to = [clamp(row, rows.length), clamp(column, columns.length)] as const
    setAt(to)
    table.current?.querySelector<HTMLElement>(`[data-cell="${to.join(' ')}"]`)?.focus()
  }
  // Where it does not fit, the latest is in sight.
  useLayoutEffect(() => {
    const box = table.current!.parentElement!
    box.scrollLeft = box.scrollWidth
  }, [unit])
  return (
    <div class="calendar-scroll">
      <table
        ref={table}
        class={`calendar ${unit.replace(' ', '-')}`}
        role="grid"
        aria-label={`Runs, a square for ${unit === 'five minutes' ? unit : `each ${unit}`}`}
        onKeyDown={(event) => {
          const by = MOVES[event.key]
          if (by === undefined) return
          event.preventDefault()
          move(at[0] + by[0], at[1] + by[1])
        }}
      >
        <thead aria-hidden="true">
          <tr>
            <td />
            {columns.map((name, i) => (
              <td key={i}>{name}</td>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, cells }, row) => (
            <tr key={name} role="row">
              <th scope="row" role="rowheader">
                {name}
              </th>
              {cells.map((cell, column) => (
                <td key={cell.label} role="gridcell" aria-selected={props.chosen === cell.from}>
                  <button
                    type="button"
                    data-cell={`${row} ${column}`}
                    tabIndex={at[0] === row && at[1] === column ? 0 : -1}
                    class={`square ${lookOf(cell, props.now)}`}
                    aria-label={describeCell(cell)}
                    title={describeCell(cell)}
                    onClick={() => {
                      setAt([row, column])
                      props.onChoose(cell)
                    }}
                  >
                    <Mark of={cell} />
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
}

const clamp = (n: number, count: number): number => Math.max(0, Math.min(count - 1, n))

function currentOf(
  rows: Calendar<InstanceItem>['rows'],
  now: number,
): readonly [row: number, column: number] {
  for (const [row, { cells }] of rows.entries()) {
    const column = cells.findIndex(({ from, to }) => from <= now && now < to)
    if (column !== -1) return [row, column]
  }
  return [0, 0]
}

const count = ({ runs }: RunCell, statuses: readonly string[]): number =>
  runs.filter(({ status }) => statuses.includes(status)).length

function Mark({ of }: { of: RunCell }) {
  if (count(of, BAD) > 0) return <StatusShape of="failed" />
  return count(of, OPEN) > 0 ? <StatusShape of="running" /> : null
}

function lookOf(cell: RunCell, now: number): string {
  const { runs, due, from, to } = cell
  const place = from <= now && now < to ? 'current' : from > now ? 'future' : ''
  if (runs.length === 0) return `${place} ${due > 0 ? 'due' : ''}`
  if (count(cell, BAD) > 0) return `${place} some-bad`
  return `${place} ${runs.length > 12 ? 'many' : runs.length > 1 ? 'several' : 'one'}`
}

/** What a square says to those who do not see it: `2026-11-16: 3 runs, 1 did not complete`. */
export function describeCell(cell: RunCell): string {
  const { label, runs, due } = cell
  const said = [
    runs.length > 0 || due === 0 ? plural(runs.length, 'run') : '',
    count(cell, BAD) > 0 ? `${count(cell, BAD)} did not complete` : '',
    count(cell, OPEN) > 0 ? `${count(cell, OPEN)} not ended` : '',
    due > 0 ? `${due} due` : '',
  ]
  return `${label}: ${said.filter((text) => text !== '').join(', ')}`
}

/** What the squares mean. */
export function CalendarLegend() {
  return (
    <p class="calendar-legend" aria-hidden="true">
      <span>
        <i class="square one" /> <i class="square several" /> <i class="square many" /> completed
      </span>
      <span>
        <i class="square some-bad">
          <StatusShape of="failed" />
        </i>{' '}
        some did not complete
      </span>
      <span>
        <i class="square due" /> due
      </span>
    </p>
  )
}
