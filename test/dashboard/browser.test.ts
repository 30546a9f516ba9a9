// The built dashboard in a browser, by roles and names, on both stores.

import { readFileSync } from 'node:fs'
import { dashboard } from 'holdfast/dashboard'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'

import { BROWSER, launch, openPage, WITHOUT_BROWSER } from './browser.ts'
import { openPlace, STORES } from './places.ts'
import { importMany, openShop, type Shop, TOKEN } from './seed.ts'
import { count, report } from './shop.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

/** The rows of a table, without its head. */
function rows(page: Page, table: string): Locator {
  const all = page.getByRole('table', { name: table }).getByRole('row')
  return all.filter({ has: page.getByRole('cell') })
}

/** A script that gives a page another clipboard. */
function clipboard(value: string): string {
  return `Object.defineProperty(navigator, 'clipboard', { configurable: true, value: ${value} })`
}

describe.skipIf(BROWSER === undefined).each(STORES)(
  `the dashboard on %s${WITHOUT_BROWSER}`,
  (kind) => {
    let browser: Browser
    let shop: Shop
    let close: (() => PromiseLike<void>)[] = []

    beforeAll(async () => {
      const place = await openPlace(kind)
      close.push(() => place[Symbol.asyncDispose]())
      shop = await openShop(place)
      close.push(() => shop[Symbol.asyncDispose]())
      browser = await launch()
      close.push(() => browser.close())
    })

    afterAll(async () => {
      for (const one of close.toReversed()) await one()
      close = []
    })

    /** A page below the dashboard, by default with the token. */
    async function visit(path: string, options: { token?: false } = {}): Promise<Page> {
      const { url, urlWithToken } = shop.address
      const opened = await openPage(browser, options.token === false ? url : urlWithToken)
      onTestFinished(() => opened[Symbol.asyncDispose]())
      await opened.page.getByRole('heading', { name: 'Instances' }).waitFor()
      if (path !== '') await opened.page.goto(new URL(path, url).href)
      return opened.page
    }

    test('a filter by status is in the address, and survives a reload', async () => {
      const page = await visit('')

      await page.getByRole('button', { name: 'failed' }).click()
      await page.waitForURL('**/instances?status=failed')
      await page.reload()

      const failed = rows(page, 'Instances')
      await failed.first().waitFor()
      await expect.poll(() => failed.count()).toBe(8)
      for (const row of await failed.all()) expect(await row.textContent()).toContain('failed')

      const label = page.getByRole('textbox', { name: 'Label, as name=value' })
      await label.fill('tenant')
      await label.press('Enter')
      const said = label.evaluate(
        (field) => (field as unknown as { validationMessage: string }).validationMessage,
      )
      expect(await said).toBe('Write a label as name=value')
      for (const text of ['tenant=acme', 'tenant=globex']) {
        await label.fill(text)
        await label.press('Enter')
        await page.getByRole('button', { name: `Remove ${text}` }).waitFor()
      }
      expect(new URL(page.url()).searchParams.getAll('label')).toEqual(['tenant=globex'])
    })

    test('a filter that matches nothing, or is none, says so', async () => {
      const page = await visit('instances?status=bogus&label=n%3D1&label=n%3D2')

      await page.getByText('it is no filter: status=bogus').waitFor()
      const refused = page.getByText('no instance has two values of one label')
      await refused.waitFor()
      expect(await rows(page, 'Instances').count()).toBe(0)
    })

    test('where the script does not load, the page says so', async () => {
      const page = await visit('')
      const fallback = page.getByText('did not load')
      expect(await fallback.count()).toBe(0)
      await page.route('**/assets/*', (route) => route.fulfill({ status: 403, json: {} }))

      await page.reload()

      await fallback.waitFor()
      expect(await page.locator('body').textContent()).toContain('pass on the header Host')
    })

    test('an instance that is started appears without a reload', async () => {
      const page = await visit('instances?id=appears')
      await page.getByText('No instance matches this filter').waitFor()

      await shop.runtime.start(report, 'x', { id: 'appears-1' })

      const shown = page.getByRole('link', { name: 'appears-1' })
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })

    test('an instance is exported, also where reading needs the token', async () => {
      const closed = dashboard(shop.runtime, { token: TOKEN, tokenFor: 'everything' })
      onTestFinished(() => closed[Symbol.asyncDispose]())
      const { url, urlWithToken } = await closed.listen({ port: 0 })
      const { page, ...opened } = await openPage(browser, url)
      onTestFinished(() => opened[Symbol.asyncDispose]())
      await page.getByRole('heading', { name: 'This dashboard needs its token' }).waitFor()
      expect(await page.getByRole('button', { name: 'Enter the token' }).count()).toBe(1)
      await page.goto(urlWithToken)
      await page.getByRole('heading', { name: 'Instances' }).waitFor()
      await page.goto(`${url}instance?id=order-1000`)

      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export' }).click()
      const file = await saved

      expect(file.suggestedFilename()).toBe('order-1000.json')
      const text = readFileSync(await file.path(), 'utf8')
      expect(JSON.parse(text)).toMatchObject({ holdfast: 1, id: 'order-1000' })

      // What was shown stays while the server is away, under a line that says so.
      await page.goto(`${url}instances?id=order-100`)
      await rows(page, 'Instances').first().waitFor()
      const before = await rows(page, 'Instances').count()
      await closed[Symbol.asyncDispose]()
      await page.getByText('Not up to date since').waitFor()
      expect(await rows(page, 'Instances').count()).toBe(before)
      expect(await page.getByText('cannot be shown').count()).toBe(0)
    })

    test('a token can be entered, and one that is wrong is refused', async () => {
      const page = await visit('instance?id=order-2001', { token: false })
      const enter = async (token: string): Promise<void> => {
        await page.getByLabel('Token', { exact: true }).fill(token)
        await page.getByRole('button', { name: 'Use it' }).click()
      }

      await page.getByRole('button', { name: 'Enter the token' }).click()
      await enter('wrong-wrong-wrong-€')
      await page.getByRole('alert').getByText('That is not the token').waitFor()
      expect(await page.getByText('read-only, no token').count()).toBe(1)
      expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0)
      await enter(` ${shop.address.urlWithToken} `)

      await page.getByRole('button', { name: 'Suspend' }).waitFor()
      expect(await page.getByRole('button', { name: 'Enter the token' }).count()).toBe(0)
    })

    test('the address with the token takes effect in a tab that shows the pages already', async () => {
      const page = await visit('instance?id=order-2001', { token: false })
      const open = async (token: string): Promise<void> => {
        await page.goto(`${shop.address.url}instance?id=order-2001#token=${token}`)
        await expect.poll(() => page.url()).not.toContain(token)
      }
      await page.getByText('read-only, no token').waitFor()

      await open('wrong-wrong-wrong-wrong')
      await page.getByText('read-only, wrong token').waitFor()
      await open(TOKEN)

      await page.getByText('read and write').waitFor()
      await page.getByRole('button', { name: 'Suspend' }).waitFor()
    })

    test('pages follow each other by cursor, and lead back', async () => {
      const many = Array.from({ length: 130 }, (_, i) => `paged-${1000 + i}`)
      await Promise.all(many.map((id) => shop.runtime.start(report, 'y', { id })))
      const page = await visit('instances?id=paged-')

      await page.getByText('100 shown').waitFor()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByText('30 shown').waitFor()
      const second = await rows(page, 'Instances').count()
      await page.getByRole('button', { name: 'Before' }).click()

      expect(second).toBe(30)
      await page.getByText('100 shown').waitFor()
      const link = rows(page, 'Instances').nth(90).getByRole('link')
      await link.scrollIntoViewIfNeeded()
      const scrolled = Number(await page.evaluate('scrollY'))
      expect(scrolled).toBeGreaterThan(1000)
      await link.click()
      await page.getByRole('tab', { name: 'Timeline' }).waitFor()
      await page.goBack()
      await expect.poll(() => page.evaluate('scrollY')).toBe(scrolled)
    })

    test('selected instances are suspended and resumed', async () => {
      const page = await visit('instances?id=order-2&status=running&status=suspended')

      await page.getByRole('checkbox', { name: 'Select order-2001' }).check()
      await page.getByRole('checkbox', { name: 'Select order-2003' }).check()
      const bar = page.getByRole('region', { name: 'Selected instances' })
      await bar.getByRole('button', { name: 'Suspend' }).click()
      await page.getByRole('dialog').getByLabel('Reason (optional)').fill('lunch')
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()

      const info = async (): Promise<string> =>
        (await shop.runtime.get('order-2003').info())!.status
      await expect.poll(info).toBe('suspended')
      await page
        .getByRole('row', { name: /order-2003/ })
        .getByText('suspended')
        .first()
        .waitFor()
      await shop.runtime.admin.resume(['order-2001', 'order-2003'])
      await expect.poll(info).toBe('running')
    })

    test('a change of all that match names how many it would reach', async () => {
      const page = await visit('instances?id=order-3')
      const bar = page.getByRole('region', { name: 'Selected instances' })
      // More than are counted for the list.
      await page.route('**/api/live*', (route) => route.abort())
      await page.route('**/api/instances/count*', (route) =>
        route.fulfill({ json: { count: 10_000, isMore: true } }),
      )
      await page.reload()

      await page.getByRole('checkbox', { name: 'Select order-3000' }).check()
      await bar.getByRole('button', { name: 'All of more than 10,000 that match' }).click()
      await bar.getByRole('button', { name: 'Resume' }).click()

      const dialog = page.getByRole('dialog', { name: 'Resume 1 instance?' })
      await dialog.waitFor()
      expect(await bar.getByText('All of more than 10,000 that match').isVisible()).toBe(true)

      // One that takes long is shown above every screen until it ends.
      let job = { job: 'j', verb: 'resume', state: 'running', seen: 50, total: 8000, refused: [] }
      const stopped: unknown[] = []
      await page.route('**/api/instances/resume', (route) => route.fulfill({ json: job }))
      await page.route('**/api/bulks', (route) => route.fulfill({ json: { items: [job] } }))
      await page.route('**/api/bulk/stop', async (route) => {
        stopped.push(route.request().postDataJSON())
        job = Object.assign(job, { state: 'stopped', changed: 50 })
        await route.fulfill({ json: job })
      })
      await dialog.getByRole('button', { name: 'Resume' }).click()
      const running = page.getByRole('region', { name: 'Running changes' })
      await running.getByText('50 of 8,000 instances').waitFor()
      await page.getByRole('button', { name: 'terminated' }).click()
      await page.getByRole('link', { name: 'Errors' }).click()
      await page.getByRole('heading', { name: 'Errors' }).waitFor()
      await running.getByRole('button', { name: 'Stop' }).click()
      await page.getByText('Resumed 50 instances, then stopped').waitFor()
      await running.waitFor({ state: 'detached' })
      expect(stopped).toEqual([{ job: 'j' }])
    })

    test('rows are reached and opened by keys alone', async () => {
      const page = await visit('instances?id=order-100')
      await rows(page, 'Instances').first().waitFor()

      await page.keyboard.press('j')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')

      await page.getByRole('tab', { name: 'Timeline' }).press('ArrowRight')
      await page.getByRole('tabpanel', { name: 'History' }).waitFor()
      expect(await page.getByRole('tab', { selected: true }).textContent()).toBe('History')
      expect(new URL(page.url()).searchParams.get('id')).toMatch(/^order-100/)
    })

    test('the timeline shows commands, attempts and children', async () => {
      const page = await visit('instance?id=order-1001')
      const line = page.getByRole('grid', { name: 'Timeline' })

      await line.getByRole('row', { name: /charge card/ }).waitFor()
      const charged = await line.getByRole('row', { name: /charge card/ }).textContent()

      expect(charged).toContain('×2')
      expect(await line.getByRole('row').count()).toBe(5)
      await line.getByRole('row', { name: /order-1001\/shipment/ }).waitFor()
    })

    test('the scrubber shows the instance as it was after an event', async () => {
      const page = await visit('instance?id=order-1001&tab=state')

      await page.getByText('"done"').first().waitFor()
      await page.getByRole('slider', { name: 'As of event' }).fill('2')

      await page.getByText('As of event 2 of').waitFor()
      await page.getByText('State as of event 2').waitFor()
      await page.getByText('"reserving"').first().waitFor()
      expect(await page.getByText('"done"').count()).toBe(0)
      await page.waitForURL('**event=2')
      await page.keyboard.press(']')
      await page.getByText('As of event 3 of').waitFor()
    })

    test('of an event in the address only a number counts, up to the last event', async () => {
      const page = await visit('instance?id=order-1001&event=999999')
      const last = page.getByText(/^As of event (\d+) of \1 /)
      await last.waitFor()
      await expect.poll(() => new URL(page.url()).searchParams.get('event')).toMatch(/^\d\d$/)

      await page.goto(new URL('instance?id=order-1001&event=abc', shop.address.url).href)

      await page.getByText('Latest of').waitFor()
      await page.waitForURL('**/instance?id=order-1001')
      expect(await page.getByRole('main').textContent()).not.toContain('NaN')
    })

    test('a history that could not be read is read again', async () => {
      const page = await visit('')
      const reads = '**/api/instance/history*'
      await page.route(reads, (route) =>
        route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'no luck' } } }),
      )
      await page.goto(new URL('instance?id=order-1001&tab=history', shop.address.url).href)
      const failed = page.getByRole('heading', { name: 'The history cannot be shown' })
      await failed.waitFor()
      await page.unroute(reads)

      await page.getByRole('button', { name: 'Try again' }).click()

      const history = page.getByRole('grid', { name: 'History' })
      await history
        .getByRole('row', { name: /charge card/ })
        .first()
        .waitFor()
      expect(await failed.count()).toBe(0)
    })

    test('an older execution is exported as it is shown, and cannot be forked', async () => {
      const rounds = await shop.runtime.start(count, 2, { id: `rounds-${kind}` })
      await rounds.result({ timeout: '10s' })
      const page = await visit(`instance?id=${rounds.id}&execution=1`)

      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export' }).click()
      const file = await saved

      expect(file.suggestedFilename()).toBe(`${rounds.id}.1.json`)
      const text = readFileSync(await file.path(), 'utf8')
      expect(JSON.parse(text)).toMatchObject({ id: rounds.id, execution: 1 })
      const fork = page.getByRole('button', { name: 'Fork' })
      expect(await fork.isDisabled()).toBe(true)
      await page.keyboard.press('[')
      await page.waitForURL('**event=3')
      await page.getByRole('combobox', { name: 'Execution' }).selectOption('3')
      await page.getByText('Latest of').waitFor()
      await expect.poll(() => fork.isDisabled()).toBe(false)
      expect(new URL(page.url()).searchParams.get('event')).toBeNull()
      await page.goBack()
      await page.getByText('As of event 3 of').waitFor()
    })

    test('an event is shown in full, with its input and output', async () => {
      const page = await visit('instance?id=order-1000&tab=history')
      const history = page.getByRole('grid', { name: 'History' })

      await history.getByRole('row', { name: /activity reserve stock/ }).click()

      const detail = page.getByRole('complementary', { name: 'Event' })
      await detail.getByText('"sku-0"').waitFor()
      const shown = detail.getByText('"B1"')
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })

    test('a failed instance shows its error, and a waiting one what it waits for', async () => {
      const failed = await visit('instance?id=order-1003')
      const error = failed.getByRole('region', { name: 'Error' })
      await error.getByText('card of dot@example.com was declined').waitFor()

      await failed.goto(new URL('instance?id=order-3000', shop.address.url).href)
      const paused = failed.getByRole('region', { name: 'Suspended' })
      await paused.getByText('the customer called', { exact: true }).waitFor()
      expect(await error.count()).toBe(0)

      const waiting = await visit('instance?id=order-2001')
      const waits = waiting.getByRole('region', { name: 'Waits for' })
      const shown = waits.getByText('message on channel "approval"')
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })

    test('a message that is sent from the page reaches the workflow', async () => {
      const page = await visit('instance?id=order-2001')

      await page.getByRole('button', { name: 'Send' }).click()
      const dialog = page.getByRole('dialog', { name: 'Send a message' })
      await dialog.getByLabel('Channel').fill('approval')
      await dialog.getByLabel('Data, as JSON').fill("{by: 'kim'}")
      await dialog.getByRole('button', { name: 'Send' }).click()
      await dialog.getByRole('alert').getByText('Data is not JSON: ').waitFor()
      await dialog.getByLabel('Data, as JSON').fill('{ "by": "kim", "ok": true }')
      await dialog.getByRole('button', { name: 'Send' }).click()

      const shown = page.locator('main').getByText('completed').first()
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })

    test('without the token nothing can be changed', async () => {
      const page = await visit('instance?id=order-2003', { token: false })

      await page.getByRole('button', { name: 'Export' }).waitFor()

      expect(
        await page.getByRole('button', { name: /Cancel|Terminate|Suspend|Send/ }).count(),
      ).toBe(0)
    })

    test('markup in ids, labels and values stays text', async () => {
      const evil = '<img src=x onerror="document.title=1">'
      await shop.runtime.run(report, evil, { id: evil, labels: { evil } }).catch(() => {})
      const page = await visit(
        `instance?${new URLSearchParams({ id: evil, tab: 'history' }).toString()}`,
      )

      await page.getByRole('heading', { name: evil }).waitFor()
      await page.getByRole('grid', { name: 'History' }).getByText('<img src=x').first().waitFor()

      expect(await page.locator('img').count()).toBe(0)
    })

    test('shortcuts are listed, and lead to screens', async () => {
      const page = await visit('')

      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Next row').waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('g')
      await page.keyboard.press('e')

      await page.getByRole('heading', { name: 'Errors' }).waitFor()
      const shown = page.getByRole('table', { name: 'Errors' }).getByText('CardDeclined').first()
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })

    test('of a history of 2,000 events, only the rows in sight are in the document', async () => {
      const id = await importMany(shop.runtime, 2000)
      const page = await visit(`instance?id=${id}&tab=history`)
      const history = page.getByRole('grid', { name: 'History' })
      await page.getByText('Latest of 2,000 events').waitFor()

      await page.getByRole('slider', { name: 'As of event' }).fill('1500')

      await history.getByRole('row', { name: /^1500 / }).waitFor()
      expect(await history.getByRole('row').count()).toBeLessThan(80)
      expect(await history.getAttribute('aria-rowcount')).toBe('2000')
    })

    test('an id is copied only where the browser lets the page do so', async () => {
      const page = await visit('instance?id=order-2003')
      const copy = page.getByRole('button', { name: 'Copy the id' })
      await copy.waitFor()

      await page.evaluate(clipboard('{ writeText: async () => { throw new Error() } }'))
      await page.getByRole('tab', { name: 'State' }).click()
      await copy.click()
      await page.getByText('does not let this page copy the id').waitFor()
      await page.evaluate(clipboard('undefined'))
      await page.getByRole('tab', { name: 'History' }).click()

      await expect.poll(() => copy.count()).toBe(0)
    })

    test('an unknown id says what to do', async () => {
      const page = await visit('instance?id=nowhere')

      await page.getByRole('heading', { name: 'There is no instance with this id' }).waitFor()
      await page.getByRole('link', { name: 'Search for ids like it' }).click()

      const shown = page.getByText('No instance matches this filter')
      await shown.waitFor()
      expect(await shown.isVisible()).toBe(true)
    })
  },
)
