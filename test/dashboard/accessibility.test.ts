// Every screen, light and dark, wide and narrow: no serious finding of axe, no error of a script, nothing
// that the content-security policy had to stop, and nothing wider than the page.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { BROWSER, launch, openPage, WITHOUT_BROWSER } from './browser.ts'
import { openPlace } from './places.ts'
import { openShop, type Shop } from './seed.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const SCREENS = [
  'instances',
  'instance?id=order-1001',
  'instance?id=order-1001&tab=history&event=4',
  'instance?id=order-1001&tab=state',
  'instance?id=order-1001&tab=tree',
  'instance?id=order-1003',
  'overview',
  'workflows',
  'tasks',
  'runtimes?id=1',
  'schedules',
  'schedules?name=heartbeat',
  'outbox',
  'outbox?topic=invoices',
  'queues',
  'queues?name=mail',
  'errors',
]

describe.skipIf(BROWSER === undefined)(`every screen${WITHOUT_BROWSER}`, () => {
  let browser: Browser
  let shop: Shop
  const close: (() => PromiseLike<void>)[] = []

  beforeAll(async () => {
    const place = await openPlace('sqlite')
    close.push(() => place[Symbol.asyncDispose]())
    shop = await openShop(place)
    close.push(() => shop[Symbol.asyncDispose]())
    browser = await launch()
    close.push(() => browser.close())
  })

  afterAll(async () => {
    for (const one of close.toReversed()) await one()
  })

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
  ] as const)('is accessible and whole: %s, %d px', async (colorScheme, width) => {
    const { url, urlWithToken } = shop.address
    await using opened = await openPage(browser, urlWithToken, {
      colorScheme,
      viewport: { width, height: 800 },
    })
    const { page, errors } = opened
    const problems: string[] = []

    for (const path of SCREENS) {
      await page.goto(new URL(path, url).href)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('[role=status][aria-label=Loading]').first().waitFor({ state: 'detached' })
      const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
      if (wide > 0) problems.push(`${path}: ${wide} px wider than the page`)
      await page.evaluate(AXE)
      const { violations } = (await page.evaluate('axe.run()')) as AxeResults
      for (const { id, impact, nodes } of violations) {
        if (impact !== 'serious' && impact !== 'critical') continue
        problems.push(
          `${path}: ${id}: ${nodes
            .map(({ html }) => html.slice(0, 120))
            .slice(0, 3)
            .join(' | ')}`,
        )
      }
    }

    expect(problems).toEqual([])
    expect(errors).toEqual([])
  })
})
