import { useState } from 'preact/hooks'

import type { More, Shown, ShownTag, Value } from '../../../src/dashboard/api.ts'
import { isMore, isTag, plainKey, preview } from '../format/shown.ts'

/** A value of a user as a tree that can be opened and closed. Texts only: nothing of it becomes markup. */
export function ValueView({ value, open = 2 }: { value: Shown; open?: number }) {
  return (
    <div class="value">
      <Node value={value} open={open} />
    </div>
  )
}

/** The same, or a word where there is none. */
export function OptionalValue({ value, none }: { value: Value | undefined; none: string }) {
  if (value === undefined) return <p class="faint">{none}</p>
  return <ValueView value={value.shown} />
}

type Entry = readonly [key: string | undefined, value: Shown]

function Node({ value, open, name }: { value: Shown; open: number; name?: string | undefined }) {
  const inside = entriesOf(value)
  const label = name !== undefined && <span class="key">{name}: </span>
  if (inside === undefined) {
    return (
      <div class="leaf">
        {label}
        <Leaf value={value} />
      </div>
    )
  }
  return <Branch {...inside} open={open} label={label} summary={preview(value, 70)} />
}

function Branch(props: {
  brackets: readonly [string, string]
  entries: readonly Entry[]
  open: number
  label: preact.ComponentChildren
  summary: string
}) {
  const [isOpen, setOpen] = useState(props.open > 0)
  const [most, setMost] = useState(100)
  const [before, after] = props.brackets
  if (props.entries.length === 0) {
    return (
      <div class="leaf">
        {props.label}
        <span class="punct">
          {before}
          {after}
        </span>
      </div>
    )
  }
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {props.label}
        {isOpen ? <span class="punct">{before}</span> : <span class="faint">{props.summary}</span>}
      </summary>
      {isOpen && (
        <div class="inside">
          {props.entries.slice(0, most).map(([key, item], i) => (
            <Node key={key ?? i} name={key} value={item} open={props.open - 1} />
          ))}
          {props.entries.length > most && (
            <button type="button" class="link" onClick={() => setMost(most + 500)}>
              {props.entries.length - most} more
            </button>
          )}
        </div>
      )}
      {isOpen && <span class="punct">{after}</span>}
    </details>
  )
}

function entriesOf(
  value: Shown,
): { entries: readonly Entry[]; brackets: readonly [string, string] } | undefined {
  if (value === null || typeof value !== 'object') return undefined
  if (!isTag(value)) {
    return Array.isArray(value)
      ? { brackets: ['[', ']'], entries: indexed(value as readonly Shown[]) }
      : { brackets: ['{', '}'], entries: named(Object.entries(value as Record<string, Shown>)) }
  }
  if (value.$ === 'object') return { brackets: ['{', '}'], entries: named(value.v) }
  if (value.$ === 'set') return { brackets: ['Set {', '}'], entries: indexed(value.v) }
  if (value.$ === 'map') {
    return {
      brackets: ['Map {', '}'],
      entries: value.v.map((one) =>
        isMore(one) ? [undefined, one] : [preview(one[0], 60), one[1]],
      ),
    }
  }
  if (value.$ !== 'error') return undefined
  return {
    brackets: [`${value.name}: ${value.message} {`, '}'],
    entries: entriesOf(value.v)?.entries ?? [],
  }
}

const indexed = (items: readonly Shown[]): Entry[] => items.map((item) => [undefined, item])
const named = (fields: readonly (readonly [string, Shown] | More)[]): Entry[] =>
  fields.map((field) => (isMore(field) ? [undefined, field] : [plainKey(field[0]), field[1]]))

function Leaf({ value }: { value: Shown }) {
  if (typeof value === 'string') return <span class="string">{JSON.stringify(value)}</span>
  if (value === null || typeof value !== 'object') {
    return <span class={value === null ? 'nothing' : 'literal'}>{String(value)}</span>
  }
  return <TagLeaf tag={value as ShownTag} />
}

function TagLeaf({ tag }: { tag: ShownTag }) {
  if (tag.$ === 'undefined') return <span class="nothing">undefined</span>
  if (tag.$ === 'more') return <span class="faint">{preview(tag)}</span>
  if (tag.$ === 'text') {
    return (
      <span class="string">
        {JSON.stringify(tag.v)} <span class="faint">… {tag.length} characters</span>
      </span>
    )
  }
  if (tag.$ === 'bytes') {
    return (
      <span class="literal">
        {tag.v.slice(0, 64)} <span class="faint">{tag.length} bytes</span>
      </span>
    )
  }
  return <span class="literal">{preview(tag)}</span>
}
