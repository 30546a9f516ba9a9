// Where a moment is on the time axis. A workflow may work for two seconds and sleep for two days: with
// `collapse`, a stretch without any event takes no more than a twelfth of the axis.

/** A stretch that is drawn shorter than it was. */
export interface Break {
  readonly from: number
  readonly to: number
  /** Its middle, from 0 to 1. */
  readonly x: number
}

export interface TimeScale {
  readonly from: number
  readonly to: number
  /** The place of a moment, from 0 to 1. Outside of the range it is clamped. */
  x(at: number): number
  /** The moment at a place. */
  at(x: number): number
  readonly breaks: readonly Break[]
}

/** A scale over all moments, in ascending order. `to` may be later than the last of them. */
export function timeScale(
  moments: readonly number[],
  to: number,
  options: { collapse: boolean },
): TimeScale {
  const from = moments[0] ?? to
  const end = Math.max(to, moments.at(-1) ?? to, from + 1)
  const gaps = gapsOf(moments, end)
  const lengths = gaps.map((gap) => gap.to - gap.from)
  const shortened = cap(lengths)
  // What is a little too long stays as it is: a true axis is worth more than an even one.
  const isUneven = longestOf(lengths) > 4 * shortened
  const longest = options.collapse && isUneven ? shortened : Infinity
  const knots: { at: number; units: number }[] = [{ at: from, units: 0 }]
  let units = 0
  for (const gap of gaps) {
    units += Math.min(gap.to - gap.from, longest)
    knots.push({ at: gap.to, units })
  }
  const place = (at: number): number => between(knots, 'at', 'units', at) / units
  return {
    from,
    to: end,
    x: place,
    at: (x) => between(knots, 'units', 'at', x * units),
    breaks: gaps
      .filter((gap) => gap.to - gap.from > longest)
      .map((gap) => ({ ...gap, x: (place(gap.from) + place(gap.to)) / 2 })),
  }
}

/** Without a spread: there may be more gaps than a call takes arguments. */
function longestOf(lengths: readonly number[]): number {
  return lengths.reduce((most, length) => Math.max(most, length), 0)
}

interface Gap {
  readonly from: number
  readonly to: number
}

function gapsOf(moments: readonly number[], end: number): Gap[] {
  const gaps: Gap[] = []
  let before = moments[0] ?? end - 1
  for (const at of [...moments, end]) {
    if (at <= before) continue
    gaps.push({ from: before, to: at })
    before = at
  }
  return gaps
}

/**
 * The longest that a gap is drawn: the largest length that takes no more than its part of the axis, once
 * all gaps that are longer are drawn as long as that.
 */
function cap(lengths: readonly number[]): number {
  const sorted = lengths.toSorted((a, b) => b - a)
  // Of few gaps, each may take more.
  const parts = Math.min(12, sorted.length / 2)
  let rest = sorted.reduce((sum, length) => sum + length, 0)
  for (const [longer, length] of sorted.entries()) {
    if (length * parts <= rest + longer * length) {
      return longer < parts ? rest / (parts - longer) : length
    }
    rest -= length
  }
  return sorted.at(-1) ?? 0
}

type Knot = { at: number; units: number }

/** Linear between the two knots around a value. */
function between(
  knots: readonly Knot[],
  by: keyof Knot,
  wanted: keyof Knot,
  value: number,
): number {
  let low = 0
  let high = knots.length - 1
  if (value <= knots[low]![by]) return knots[low]![wanted]
  if (value >= knots[high]![by]) return knots[high]![wanted]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (knots[middle]![by] <= value) low = middle
    else high = middle
  }
  const [a, b] = [knots[low]!, knots[high]!]
  const part = (value - a[by]) / (b[by] - a[by] || 1)
  return a[wanted] + part * (b[wanted] - a[wanted])
}

/** Where the axis is labelled: at quarters at most, each so much of the axis from the next and from the end. */
export function ticksOf(scale: TimeScale, room: number): readonly number[] {
  const count = Math.max(1, Math.min(4, Math.floor(1 / room)))
  const places: number[] = []
  for (let i = 0; i < count; i++) {
    const at = scale.at(i / count)
    // Within a stretch that is drawn shorter, a moment would seem to be later than it is.
    const inside = scale.breaks.find(({ from, to }) => from < at && at < to)
    const place = inside === undefined ? i / count : scale.x(inside.to)
    const before = places.at(-1)
    if (before === undefined || (place - before >= room && place <= 1 - room)) places.push(place)
  }
  return places
}

/** The end of the axis that a label keeps a distance from, and the distance. */
export type LabelPlace = { readonly left: number } | { readonly right: number }

/** Where the label of a bar is, which takes so much of the axis: behind it, before it, or else over it. */
export function labelPlace(bar: { from: number; to: number }, room: number): LabelPlace {
  if (1 - bar.to >= room) return { left: bar.to }
  if (bar.from >= room) return { right: 1 - bar.from }
  return { right: Math.max(0, Math.min(1 - bar.to, 1 - room)) }
}
