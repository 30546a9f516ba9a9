import { activity, open, workflow } from 'holdfast'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { report } from './shop.ts'
import { describeVisits } from './visits.ts'

/** The row of a table that has all of these texts. */
function row(page: Page, table: string, ...texts: string[]) {
  let rows = page.getByRole('table', { name: table, exact: true }).getByRole('row')
  for (const hasText of texts) rows = rows.filter({ hasText })
  return rows.first()
}

/** Presses a button, and the one that has to be pressed in the dialog that asks. */
async function confirm(page: Page, button: string, verb: string, typed?: string): Promise<void> {
  await page.getByRole('button', { name: button }).click()
  const dialog = page.getByRole('dialog')
  if (typed !== undefined) await dialog.getByRole('textbox').fill(typed)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

describeVisits('the screens of the fleet', (at) => {
  test('workflows show versions in flight, and what waits for code that no runtime has', async () => {
    const { page, errors } = await at().visit('workflows')

    const unserved = row(page, 'Waiting for code that no runtime has', 'order', '4.0.0')
    expect(await unserved.textContent()).toContain('3.1.0')
    const served = row(page, 'Versions', 'order', '3.1.0')
    expect(await served.textContent()).toContain('by 1 runtime')
    await served.click()
    await page.getByRole('heading', { name: 'Instances' }).waitFor()
    await row(page, 'Instances', 'order-2001').waitFor()
    const query = new URL(page.url()).searchParams
    expect([query.get('workflow'), query.get('version')]).toEqual(['order', '3.1.0'])
    expect(query.getAll('status')).toEqual(['scheduled', 'running', 'suspended'])
    expect(errors).toEqual([])
  })

  test('tasks of a session are shown together, with the runtime that has it', async () => {
    const { place, visit } = at()
    const cut = activity(
      'cut video',
      (_: string, ctx) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => resolve(undefined))
        }),
    )
    const edit = workflow('edit', (name: string, ctx) =>
      ctx.run(cut, name, { session: 'studio 1' }),
    )
    const studio = await open(place.store, { register: [edit, cut] })
    try {
      for (const id of ['edit-1', 'edit-2']) await studio.start(edit, id, { id })
      const { page, errors } = await visit('tasks')

      const session = row(page, 'Sessions', 'studio 1')
      await session.filter({ hasText: /runtime \d+/ }).waitFor()
      await session.getByRole('link', { name: 'studio 1' }).click()
      await page.getByRole('button', { name: 'Remove session studio 1' }).waitFor()
      await row(page, 'Tasks', 'cut video', 'edit-1').waitFor()
      await row(page, 'Tasks', 'cut video', 'edit-2').waitFor()
      await page.getByRole('button', { name: 'waiting' }).click()
      await page.getByRole('heading', { name: 'No task matches this filter' }).waitFor()
      expect(errors).toEqual([])
    } finally {
      for (const id of ['edit-1', 'edit-2']) await studio.get(id).terminate('done')
      await studio.close({ drain: 0 })
    }
  })

  test('runtimes show what they serve, and the workers of this process', async () => {
    const { page, errors } = await at().visit('runtimes')

    const own = row(page, 'Runtimes', 'alive', '5 workflows')
    await own.focus()
    await page.keyboard.press('Enter')
    const details = page.getByRole('region', { name: /^Runtime \d+$/ })
    await details.getByText('import catalog').waitFor()
    await details.getByText('printer').waitFor()
    await row(page, 'Workers of this process', 'turns').waitFor()
    await page.getByRole('button', { name: 'Close the details' }).click()
    await details.waitFor({ state: 'detached' })
    expect(errors).toEqual([])
  })

  test('a schedule shows its runs on a calendar, and is paused, resumed, started and deleted', async () => {
    const { shop, visit } = at()
    const { page, errors } = await visit('schedules')

    await row(page, 'Schedules', 'nightly-report', 'Europe/Berlin').click()
    await page.getByRole('heading', { name: 'nightly-report', level: 1 }).waitFor()
    const grid = page.getByRole('grid', { name: 'Runs, a square for each day' })
    const today = grid.getByRole('button', { name: /: 2 runs/ })
    await today.click()
    await row(page, 'Runs', 'completed').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Nothing ran then' }).waitFor()

    await confirm(page, 'Pause', 'Pause')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await shop.runtime.schedules.get('nightly-report')).toMatchObject({ paused: true })
    await confirm(page, 'Resume', 'Resume')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await confirm(page, 'Start now', 'Start')
    await page.waitForURL(/\/instance\?id=nightly-report/)

    await page.goto(new URL('schedules?name=month-end', shop.address.url).href)
    await confirm(page, 'Delete', 'Delete')
    await row(page, 'Schedules', 'heartbeat').waitFor()
    expect(await shop.runtime.schedules.get('month-end')).toBeUndefined()
    expect(errors).toEqual([])
  })

  test('what changes elsewhere appears without a reload', async () => {
    const { shop, visit } = at()
    const { page, errors } = await visit('schedules')
    await row(page, 'Schedules', 'heartbeat', 'active').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()

    await shop.runtime.schedules.pause('heartbeat')

    await row(page, 'Schedules', 'heartbeat', 'paused').waitFor()
    expect(errors).toEqual([])
  })

  test('dead letters of the outbox are looked at, requeued and discarded', async () => {
    const { page, errors } = await at().visit('outbox')

    await row(page, 'Topics', 'newsletters', '9').waitFor()
    await row(page, 'Topics', 'invoices').click()
    await row(page, 'Partitions', '3').waitFor()
    await row(page, 'Dead letters', 'mailbox of eve').click()
    const dialog = page.getByRole('dialog', { name: /^Message/ })
    await dialog.getByRole('region', { name: 'Payload' }).getByText('"eve@example.com"').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await confirm(page, 'Requeue 3', 'Requeue')
    await page.getByText('Requeued 3 dead letters').waitFor()
    // The cause is not fixed: the handler rejects them again.
    await row(page, 'Dead letters', 'mailbox of eve').waitFor()
    await confirm(page, 'Discard all', 'Discard', 'discard')
    await page.getByRole('heading', { name: 'No pending dead letters' }).waitFor()
    await page.getByRole('button', { name: 'discarded' }).click()
    await row(page, 'Dead letters', 'mailbox of eve').waitFor()
    expect(errors).toEqual([])
  })

  test('dead letters of a queue are retried and discarded', async () => {
    const { page, errors } = await at().visit('queues')

    await row(page, 'Queues', 'mail').click()
    await page.getByRole('heading', { name: 'mail', level: 1 }).waitFor()
    const letters = page.getByRole('table', { name: 'Messages' })
    await letters
      .getByRole('row', { name: /550 no such user/ })
      .first()
      .waitFor()
    await letters
      .getByRole('checkbox', { name: /^Select \d/ })
      .first()
      .check()
    await confirm(page, 'Retry 1', 'Retry')
    await page.getByText('Retry: 1 message').waitFor()
    await letters
      .getByRole('checkbox', { name: /^Select \d/ })
      .first()
      .check()
    await confirm(page, 'Discard 1', 'Discard')
    await page.getByRole('heading', { name: 'No dead letters' }).waitFor()
    await page.getByRole('button', { name: 'all messages' }).click()
    await letters.getByRole('row', { name: /later@example.com/ }).waitFor()
    expect(errors).toEqual([])
  })

  test('an error leads to the instances behind it, and all of them can be deleted at once', async () => {
    const { shop, visit } = at()
    const { page, errors } = await visit('errors')

    const declined = row(page, 'Errors', 'CardDeclined')
    await declined.waitFor()
    await page.keyboard.press('j')
    await declined.click()
    await page.getByRole('heading', { name: 'CardDeclined', level: 1 }).waitFor()
    await row(page, 'Instances', 'failed', 'order-1003').waitFor()
    await page.getByRole('button', { name: 'Select all 8' }).click()
    await confirm(page, 'Delete', 'Delete')
    await page.getByRole('heading', { name: 'This error cannot be shown' }).waitFor()
    expect(await shop.runtime.get('order-1003').info()).toBeUndefined()
    await page.getByRole('link', { name: 'Errors' }).first().click()
    // One that someone suspended is none.
    await page.getByRole('heading', { name: 'Nothing has failed' }).waitFor()
    expect(errors.filter((text) => !text.includes('404'))).toEqual([])
  })

  test('without the token, everything is shown and nothing can be changed', async () => {
    const { page, errors } = await at().visit('schedules?name=nightly-report', {
      token: false,
    })

    await page.getByRole('grid').waitFor()
    expect(await page.getByRole('button', { name: /Pause|Resume|Start now|Delete/ }).count()).toBe(
      0,
    )
    await page.getByRole('link', { name: 'Outbox' }).click()
    await row(page, 'Topics', 'invoices').waitFor()
    expect(await page.getByRole('button', { name: /Requeue|Discard/ }).count()).toBe(0)
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(errors).toEqual([])
  })

  test('on a telephone nothing is wider than the screen', async () => {
    const viewport = { width: 360, height: 740 }
    const { page } = await at().visit('workflows', { viewport })
    const { runtime, address } = at().shop
    const { url } = address
    await runtime.start(report, 'x', { id: 'i'.repeat(300), labels: { long: 'v'.repeat(300) } })
    const long = workflow('w'.repeat(70), async () => {})
    await using other = await open(at().place.store, { register: [long] })
    await other.run(long, undefined)
    for (const path of [
      'instances',
      `instance?id=${'i'.repeat(300)}`,
      `instance?id=${'n'.repeat(255)}`,
      'workflows',
      'tasks',
      'runtimes',
      'schedules?name=heartbeat',
      'outbox',
      'queues?name=mail',
      'errors',
    ]) {
      await page.goto(`${url}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('main .card, main .notice').first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    }
  })
})

describeVisits(
  'the screens of a new store',
  (at) => {
    test('say what to do to see something there', async () => {
      const { page, errors } = await at().visit('schedules')
      const { url } = at().shop.address
      for (const [path, heading, code] of [
        ['tasks', 'No activity waits for a runtime', 'ctx.run(cut'],
        ['schedules', 'This store has no schedules', 'holdfast.schedule('],
        ['outbox', 'The outbox has no topics yet', '.enqueue('],
        ['queues?name=mail', 'No dead letters', 'maxAttempts'],
        ['errors', 'Nothing has failed', ''],
      ] as const) {
        await page.goto(`${url}${path}`)
        await page.getByRole('heading', { name: heading }).waitFor()
        expect(await page.getByRole('main').textContent()).toContain(code)
      }
      expect(errors).toEqual([])
    })
  },
  { only: 'empty' },
)
