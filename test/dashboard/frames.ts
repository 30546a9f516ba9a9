// How long frames take while someone scrolls and scrubs through a history of 20,000 events.
//
//   npm run build && npx tsx test/dashboard/frames.ts [events]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { launch, openPage } from './browser.ts'
import { frameTimes } from './frame-times.ts'
import { importMany, openShop, sqlitePlace } from './seed.ts'

const STEPS = {
  'doing nothing': `() => {}`,
  'scrolling the history': `() => { document.querySelector('.history-rows').scrollTop += 900 }`,
  'scrolling the timeline': `() => { document.querySelector('.waterfall-rows').scrollTop += 900 }`,
  'moving the scrubber': `(n) => {
    const slider = document.querySelector('.scrubber input')
    slider.value = String((n * 137) % Number(slider.max) + 1)
    slider.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }`,
} as const

const events = Number(process.argv[2] ?? 20_000)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-frames-'))
const shop = await openShop(sqlitePlace(join(folder, 'shop.db')), { only: 'empty' })
const browser = await launch()
try {
  const id = await importMany(shop.runtime, events)
  const { page } = await openPage(browser, shop.address.url)
  for (const [what, step] of Object.entries(STEPS)) {
    const tab = what.includes('timeline') ? 'timeline' : 'history'
    const begun = performance.now()
    await page.goto(`${shop.address.url}instance?id=${id}&tab=${tab}`)
    await page.getByText(`Latest of ${events.toLocaleString('en-US')} events`).waitFor()
    const openedMs = performance.now() - begun
    const frames = await frameTimes(page, step)
    process.stdout.write(`${what}: opened in ${openedMs.toFixed(0)} ms; ${frames}\n`)
  }
} finally {
  await browser.close()
  await shop[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
}
