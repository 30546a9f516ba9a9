import type { ComponentChildren } from 'preact'

import { go } from '../routing/router.ts'
import { useRovingRows } from './rows.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** `end` for figures; `grow` for the text that takes what is left. */
  readonly kind?: 'end' | 'grow' | 'fit'
  /** `title`: heads the row on a narrow screen. `drop`: left out there; `wide`: only on wide ones. */
  readonly narrow?: 'title' | 'drop' | 'wide'
}

export interface Selection {
  has(key: string): boolean
  toggle(key: string): void
  readonly all: boolean
  toggleAll(): void
}

/**
 * A list as a table, and on a narrow screen as cards. Roles are written out because cards are laid out by
 * a grid, which takes the roles of a table away.
 */
export function DataTable<Row>(props: {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** What Enter and a click on a row open. */
  hrefOf?: (row: Row) => string
  selection?: Selection | undefined
  busy?: boolean
}) {
  const { columns, rows, keyOf, hrefOf, selection } = props
  const roving = useRovingRows(rows.length)
  const open = (row: Row): void => {
    if (hrefOf !== undefined) go(hrefOf(row))
  }
  return (
    <div class="table-scroll">
      <table
        class={`table ${hrefOf ? 'opens' : ''} ${props.busy ? 'busy' : ''}`}
        role="table"
        aria-label={props.label}
        aria-busy={props.busy ?? false}
      >
        <thead role="rowgroup">
          <tr role="row">
            {selection && (
              <th role="columnheader" class="fit">
                <input
                  type="checkbox"
                  aria-label="Select all on this page"
                  checked={selection.all}
                  onChange={() => selection.toggleAll()}
                />
              </th>
            )}
            {columns.map(({ head, kind, narrow }) => (
              <th
                key={head}
                role="columnheader"
                scope="col"
                class={`${kind ?? ''} ${narrow ?? ''}`}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" onKeyDown={roving.onKeyDown} {...roving.container}>
          {rows.map((row, i) => {
            const key = keyOf(row)
            const selected = selection?.has(key) ?? false
            return (
              <tr
                key={key}
                role="row"
                data-row={i}
                tabIndex={i === roving.active ? 0 : -1}
                aria-selected={selection ? selected : undefined}
                class={selected ? 'selected' : ''}
                onFocus={() => i === roving.active || roving.focus(i)}
                onClick={({ target, defaultPrevented }) => {
                  if (defaultPrevented || getSelection()?.type === 'Range') return
                  if ((target as Element).closest('a, button, input, label, summary') === null)
                    open(row)
                }}
                onKeyDown={(event) => {
                  if (event.target !== event.currentTarget) return
                  if (event.key === 'Enter') open(row)
                  if (event.key === 'x' && selection) selection.toggle(key)
                }}
              >
                {selection && (
                  <td role="cell" class="fit check">
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={`Select ${key}`}
                      checked={selected}
                      onChange={() => selection.toggle(key)}
                    />
                  </td>
                )}
                {columns.map(({ head, kind, narrow, cell }) => (
                  <td
                    key={head}
                    role="cell"
                    data-head={head}
                    class={`${kind ?? ''} ${narrow ?? ''}`}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
