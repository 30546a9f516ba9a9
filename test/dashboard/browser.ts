// A browser for tests: whichever Chromium the machine has. Where there is none, they are skipped, and say so.

import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const PLACES = [
  process.env['HOLDFAST_TEST_BROWSER'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The browser that is installed. */
export const BROWSER = PLACES.find((path) => path !== '' && existsSync(path))

/** Why tests are skipped, for the title of their suite; empty where they run. */
export const WITHOUT_BROWSER =
  BROWSER === undefined
    ? ' (SKIPPED: no Chromium is installed; HOLDFAST_TEST_BROWSER may name one)'
    : ''

export function launch(): Promise<Browser> {
  // Tests may run as root, where the sandbox does not work.
  return chromium.launch({ executablePath: BROWSER!, args: ['--no-sandbox'] })
}

/** A page whose errors are kept: those of scripts, and what the content-security policy forbade. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  readonly errors: readonly string[]
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.goto(url)
  return { page, errors, [Symbol.asyncDispose]: () => context.close() }
}
