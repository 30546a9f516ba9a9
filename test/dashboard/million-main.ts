// How long the list of instances takes in a browser when the store has a million of them:
//
//   npm run build && npx tsx test/dashboard/million-main.ts [--store postgres|sqlite] [--instances 1000000]

import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { dashboard } from 'holdfast/dashboard'
import { openMillion, order, type Place } from '../hygiene/million.ts'
import { atPlace } from '../hygiene/million-place.ts'
import { launch, openPage } from './browser.ts'
import { frameTimes } from './frame-times.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    instances: { type: 'string', default: '1000000' },
  },
})
const count = Number(values.instances)
const PAGES = 20

await atPlace(values.store, run)

async function run(place: Place): Promise<void> {
  await using runtime = await openMillion(place, count)
  await using shown = dashboard(runtime)
  const { url } = await shown.listen({ port: 0 })
  const browser = await launch()
  try {
    const { page, errors } = await openPage(browser, url)
    for (const [what, query, first] of [
      ['all', '', 'old-'],
      ['failed, 1 in 100', '?status=failed', 'old-'],
      ['a rare workflow, 1 in 1000', '?workflow=rare', 'old-'],
      ['a label, 1 in 1000', '?label=tenant%3Dt7', 'old-'],
      ['an id', '?id=old-77', 'old-77'],
    ] as const) {
      const ms = await timed(async () => {
        await page.goto(`${url}instances${query}`)
        await rows(page, first).first().waitFor()
      })
      say(`${what}: shown after ${ms} ms`)
    }
    await page.goto(`${url}instances`)
    const times: number[] = []
    for (let i = 0; i < PAGES; i++) {
      const last = await rows(page, 'old-').first().textContent()
      times.push(
        await timed(async () => {
          await page.getByRole('button', { name: 'Next' }).click()
          await rows(page, 'old-').filter({ hasNotText: last! }).first().waitFor()
        }),
      )
    }
    times.sort((a, b) => a - b)
    say(`${PAGES} pages on: median ${times[PAGES / 2]} ms, longest ${times.at(-1)} ms`)

    await page.goto(`${url}instances`)
    await rows(page, 'old-').first().waitFor()
    const starts = setInterval(() => void runtime.start(order, 1), 20)
    try {
      const step = `() => { document.querySelector('main, html').scrollBy(0, 7) }`
      say(`scrolling beside 50 starts a second: ${await frameTimes(page, step)}`)
    } finally {
      clearInterval(starts)
    }
    if (errors.length > 0) say(`errors: ${errors.join('; ')}`)
  } finally {
    await browser.close()
  }
}

function rows(page: Page, hasText: string) {
  return page.getByRole('table', { name: 'Instances' }).getByRole('row').filter({ hasText })
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return Math.round(performance.now() - from)
}

function say(line: string): void {
  process.stdout.write(`${values.store}, ${count} instances, ${line}\n`)
}
