// What the benchmarks do with numbers.

import type { Row } from './table.ts'

/** The value below which this share of all values lies. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** A whole number for people. */
export function rounded(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** A row with a limit, and whether it was kept. */
export function judged(
  what: string,
  figure: { readonly value: number; readonly digits?: number; readonly unit?: string },
  limit: { readonly least: number } | { readonly most: number },
): Row {
  const { value, digits = 0, unit = '' } = figure
  const [words, bound, kept] =
    'least' in limit
      ? ['at least', limit.least, value >= limit.least]
      : ['at most', limit.most, value <= limit.most]
  return {
    what,
    value: `${decimal(value, digits)}${unit}`,
    target: `${words} ${bound.toLocaleString('en')}${unit}: ${kept ? 'met' : 'MISSED'}`,
  }
}

function decimal(value: number, digits: number): string {
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}
