import { useEffect, useState } from 'preact/hooks'

import type { WorkflowsAnswer } from '../../../../src/dashboard/api.ts'
import { useLive } from '../../api/live.ts'
import { Removable } from '../../ui/removable.tsx'
import { STATUSES, StatusShape, toneOf } from '../../ui/status.tsx'
import { type Filters, isNarrow, readFilters, SINCE, type Since, withLabel } from './filters.ts'

const TYPING_MS = 250

/** The filter, as fields. */
export function FilterBar(props: { filters: Filters; onChange: (filters: Filters) => void }) {
  const { filters, onChange } = props
  const change = (part: Partial<Filters>): void => onChange({ ...filters, ...part })
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter instances"
      onSubmit={(e) => e.preventDefault()}
    >
      <IdField value={filters.idPrefix} onChange={(idPrefix) => change({ idPrefix })} />
      <WorkflowField filters={filters} onChange={change} />
      <select
        aria-label="Created"
        value={filters.since}
        onChange={({ currentTarget }) => change({ since: currentTarget.value as Since })}
      >
        {SINCE.map(({ value, name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="Order"
        value={filters.order}
        onChange={({ currentTarget }) =>
          change({ order: currentTarget.value === 'oldest' ? 'oldest' : 'newest' })
        }
      >
        <option value="newest">Newest first</option>
        <option value="oldest">Oldest first</option>
      </select>
      <LabelField labels={filters.labels} onChange={(labels) => change({ labels })} />
      <div class="status-filter" role="group" aria-label="Status">
        {STATUSES.map((status) => {
          const on = filters.statuses.includes(status)
          return (
            <button
              key={status}
              type="button"
              class={`toggle tone-${toneOf(status)}`}
              aria-pressed={on}
              onClick={() =>
                change({
                  statuses: on
                    ? filters.statuses.filter((one) => one !== status)
                    : STATUSES.filter((one) => one === status || filters.statuses.includes(one)),
                })
              }
            >
              <StatusShape of={status} />
              {status}
            </button>
          )
        })}
      </div>
      {filters.parentId !== '' && (
        <Removable
          text={`child of ${filters.parentId}`}
          onRemove={() => change({ parentId: '' })}
        />
      )}
      {filters.version !== '' && (
        <Removable text={`version ${filters.version}`} onRemove={() => change({ version: '' })} />
      )}
      {filters.labels.map((label) => (
        <Removable
          key={label}
          text={label}
          onRemove={() => change({ labels: filters.labels.filter((one) => one !== label) })}
        />
      ))}
      {isNarrow(filters) && (
        <button
          type="button"
          class="link"
          onClick={() => onChange({ ...readFilters(new URLSearchParams()), order: filters.order })}
        >
          Clear
        </button>
      )}
      {filters.leftOut.length > 0 && (
        <p class="left-out" role="status">
          Not applied, because it is no filter: {filters.leftOut.join(', ')}
        </p>
      )}
    </form>
  )
}

/** The beginning of an id; applied when typing pauses. */
function IdField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      type="search"
      class="mono id-field"
      aria-label="Id begins with"
      placeholder="Id begins with…"
      spellcheck={false}
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  )
}

function WorkflowField(props: { filters: Filters; onChange: (part: Partial<Filters>) => void }) {
  const { workflow } = props.filters
  const { data } = useLive<WorkflowsAnswer>('workflows')
  const names = new Set(data?.items.map(({ name }) => name))
  if (workflow !== '') names.add(workflow)
  return (
    <select
      aria-label="Workflow"
      value={workflow}
      onChange={({ currentTarget }) =>
        props.onChange({ workflow: currentTarget.value, version: '' })
      }
    >
      <option value="">All workflows</option>
      {[...names].toSorted().map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

function LabelField(props: {
  labels: readonly string[]
  onChange: (labels: readonly string[]) => void
}) {
  const [typed, setTyped] = useState('')
  return (
    <input
      type="text"
      class="mono label-field"
      aria-label="Label, as name=value"
      placeholder="label=value"
      spellcheck={false}
      value={typed}
      onInput={({ currentTarget }) => {
        currentTarget.setCustomValidity('')
        setTyped(currentTarget.value)
      }}
      onKeyDown={(event) => {
        const label = typed.trim()
        if (event.key !== 'Enter' || label === '') return
        event.preventDefault()
        if (label.indexOf('=') < 1) {
          event.currentTarget.setCustomValidity('Write a label as name=value')
          event.currentTarget.reportValidity()
          return
        }
        setTyped('')
        props.onChange(withLabel(props.labels, label))
      }}
    />
  )
}
