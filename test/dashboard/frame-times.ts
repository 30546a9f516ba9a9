import type { Page } from 'playwright-core'

/** Runs in the page: does something in each frame, and measures the time from one to the next. */
const MEASURE = `(step, frames) => new Promise((resolve) => {
  const times = []
  let before
  const frame = (at) => {
    if (before !== undefined) times.push(at - before)
    before = at
    if (times.length === frames) { resolve(times); return }
    step(times.length)
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})`

/** Measures 240 frames of a page in each of which `step` runs, the text of a function. */
export async function frameTimes(page: Page, step: string): Promise<string> {
  const times = (await page.evaluate(`(${MEASURE})(${step}, 240)`)) as number[]
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number): string =>
    `${sorted[Math.floor((sorted.length - 1) * part)]!.toFixed(1)} ms`
  const late = times.filter((ms) => ms > 33.4).length
  return `frames median ${at(0.5)}, p95 ${at(0.95)}, longest ${at(1)}; ${late} of ${times.length} over 33 ms`
}
