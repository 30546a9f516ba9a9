/** `1,204,311`, the same for every reader, so that figures can be compared and searched for. */
export function formatCount(n: number): string {
  return n.toLocaleString('en-US')
}

/** At most four characters: `999`, `1.2k`, `38k`, `1.2M`. */
export function formatCompact(n: number): string {
  if (n < 999.5) return String(Math.round(n))
  for (const [unit, size] of [
    ['k', 1e3],
    ['M', 1e6],
  ] as const) {
    const units = n / size
    if (units < 9.95) return `${units.toFixed(1)}${unit}`
    if (units < 999.5) return `${Math.round(units)}${unit}`
  }
  return `${(n / 1e9).toFixed(1)}G`
}

/** `312 B`, `4.1 KB`, `18 MB`. */
export function formatBytes(n: number): string {
  if (n < 1024) return `${n} B`
  let units = n / 1024
  for (const unit of ['KB', 'MB', 'GB']) {
    if (units < 9.95) return `${units.toFixed(1)} ${unit}`
    if (units < 1023.5) return `${Math.round(units)} ${unit}`
    units /= 1024
  }
  return `${units.toFixed(1)} TB`
}

/** Per second: `0`, `0.4/s`, `12/s`, `3.1k/s`. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 0.05) return '<0.1/s'
  if (perSecond < 9.95) return `${perSecond.toFixed(1)}/s`
  return `${formatCompact(perSecond)}/s`
}

/** `1 instance`, `3 instances`. */
export function plural(n: number, noun: string, nouns = `${noun}s`): string {
  return `${formatCount(n)} ${n === 1 ? noun : nouns}`
}
