// A shop with a browser in front of it, for the tests of one file.

import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'

import { BROWSER, launch, openPage, type WatchedPage, WITHOUT_BROWSER } from './browser.ts'
import { openPlace, STORES } from './places.ts'
import { openShop, type Place, type Shop } from './seed.ts'

/** What a test in a browser has. */
export interface Visitor {
  readonly shop: Shop
  readonly place: Place
  /** Opens a screen; without the token, nothing can be changed. */
  readonly visit: (
    path: string,
    options?: BrowserContextOptions & { token?: false },
  ) => Promise<WatchedPage>
}

/** Describes what is seen of a shop, on each store. */
export function describeVisits(
  name: string,
  tests: (visitor: () => Visitor) => void,
  options: { readonly only?: 'empty' } = {},
): void {
  describe.skipIf(BROWSER === undefined).each(STORES)(
    `${name}, on %s${WITHOUT_BROWSER}`,
    (kind) => {
      const close: (() => PromiseLike<void>)[] = []
      let browser: Browser
      let visitor: Omit<Visitor, 'visit'>
      beforeAll(async () => {
        const place = await openPlace(kind)
        close.push(() => place[Symbol.asyncDispose]())
        const shop = await openShop(place, options)
        close.push(() => shop[Symbol.asyncDispose]())
        browser = await launch()
        close.push(() => browser.close())
        visitor = { shop, place }
      })
      afterAll(async () => {
        for (const one of close.toReversed()) await one()
      })
      tests(() => ({
        ...visitor,
        async visit(path, { token, ...rest } = {}) {
          const { url, urlWithToken } = visitor.shop.address
          const fragment = token === false ? '' : new URL(urlWithToken).hash
          const opened = await openPage(browser, `${url}${path}${fragment}`, rest)
          onTestFinished(() => opened[Symbol.asyncDispose]())
          opened.page.setDefaultTimeout(15_000)
          return opened
        },
      }))
    },
  )
}
