import { formatCount } from '../format/number.ts'

/** One part of a bar. */
export interface Part {
  readonly name: string
  readonly tone: string
  readonly count: number
}

/** How much there is of each state. It has the length of its sum, among bars of which the longest has `most`. */
export function SplitBar({ parts, most }: { parts: readonly Part[]; most: number }) {
  const present = parts.filter(({ count }) => count > 0)
  const sum = present.reduce((all, { count }) => all + count, 0)
  const label = present.map(({ name, count }) => `${formatCount(count)} ${name}`).join(', ')
  return (
    <span class="split" role="img" aria-label={label === '' ? 'none' : label} title={label}>
      {present.map(({ name, tone, count }) => (
        <i key={name} class={`tone-${tone}`} style={{ flexGrow: count }} />
      ))}
      <i class="rest" style={{ flexGrow: Math.max(0, most - sum) }} />
    </span>
  )
}
