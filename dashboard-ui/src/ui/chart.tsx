import { formatClock } from '../format/time.ts'

/** One series of a chart. */
export interface Series {
  readonly name: string
  readonly tone: string
  readonly values: readonly (number | undefined)[]
}

const WIDTH = 600
const HEIGHT = 120

/**
 * Bars that stand on each other, one for each moment. A table beside it says the same to those who cannot
 * see it.
 */
export function StackedBars(props: {
  label: string
  at: readonly number[]
  series: readonly Series[]
  format: (value: number) => string
}) {
  const { at, series } = props
  const totals = at.map((_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
  const top = Math.max(1, ...totals)
  const step = WIDTH / Math.max(1, at.length)
  const gap = Math.min(2, step * 0.25)
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={props.label}
      >
        <line class="grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        <line class="grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
        {at.map((_, i) => {
          let below = 0
          return series.map(({ name, tone, values }) => {
            const value = values[i] ?? 0
            if (value === 0) return null
            const height = Math.max(1, (value / top) * (HEIGHT - 2))
            below += height
            return (
              <rect
                key={`${i} ${name}`}
                class={`bar tone-${tone}`}
                x={i * step + gap / 2}
                y={HEIGHT - below}
                width={step - gap}
                height={height}
              />
            )
          })
        })}
      </svg>
      <Axis at={at} top={props.format(top)} />
      <Legend series={series} />
    </figure>
  )
}

/** Lines over time; a moment without a value leaves a gap. */
export function Lines(props: {
  label: string
  at: readonly number[]
  series: readonly Series[]
  format: (value: number) => string
}) {
  const { at, series } = props
  const known = series.flatMap(({ values }) => values.filter((value) => value !== undefined))
  const top = Math.max(1, ...known)
  const step = WIDTH / Math.max(1, at.length)
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={props.label}
      >
        <line class="grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        <line class="grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
        {series.map(({ name, tone, values }) => (
          <path
            key={name}
            class={`line tone-${tone} ${name}`}
            d={pathOf(
              values,
              (i) => (i + 0.5) * step,
              (value) => HEIGHT - (value / top) * (HEIGHT - 4),
            )}
          />
        ))}
      </svg>
      <Axis at={at} top={props.format(top)} />
      <Legend series={series} />
    </figure>
  )
}

/** A path through the values that are known. A value between two gaps becomes a short stroke. */
export function pathOf(
  values: readonly (number | undefined)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  let path = ''
  for (const [i, value] of values.entries()) {
    if (value === undefined) continue
    const point = `${x(i).toFixed(1)} ${y(value).toFixed(1)}`
    const continues = i > 0 && values[i - 1] !== undefined
    path += continues ? `L${point}` : `M${point}${values[i + 1] === undefined ? 'h3' : ''}`
  }
  return path
}

function Axis({ at, top }: { at: readonly number[]; top: string }) {
  return (
    <div class="axis num" aria-hidden="true">
      <span class="axis-top">{top}</span>
      <span>{at[0] === undefined ? '' : formatClock(at[0]).slice(0, 5)}</span>
      <span>{at.length === 0 ? '' : formatClock(at.at(-1)!).slice(0, 5)}</span>
    </div>
  )
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <figcaption class="legend">
      {series.map(({ name, tone }) => (
        <span key={name} class={`tone-${tone}`}>
          <i class={name} />
          {name}
        </span>
      ))}
    </figcaption>
  )
}
