import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openBrowser } from './open-browser.ts'

const SECRET = 'http://127.0.0.1:4747/#token=a-token-that-nobody-guesses'

const PATIENCE = { timeout: 30_000 }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-opener-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A folder with programs that note their arguments, under the names of those that open browsers. */
function openers(): string {
  for (const name of ['xdg-open', 'open']) {
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" > '${folder}/new'\nmv '${folder}/new' '${folder}/args'\n`
    writeFileSync(join(folder, name), script)
    chmodSync(join(folder, name), 0o700)
  }
  return `${folder}:${process.env['PATH']}`
}

/** What the program was given, once it has run. */
async function given(): Promise<string> {
  const file = join(folder, 'args')
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), PATIENCE)
  return readFileSync(file, 'utf8').trim()
}

const isWindows = process.platform === 'win32'

test.skipIf(isWindows)(
  'the browser is given a page of this user alone that leads to the address, and no token',
  async () => {
    const opened = openBrowser(SECRET, true, { ...process.env, PATH: openers() }, () => {})

    const args = await given()
    const page = fileURLToPath(args)
    expect(args).not.toContain('token')
    expect(readFileSync(page, 'utf8')).toContain(`content="0; url=${SECRET}"`)
    expect(statSync(page).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(page)).mode & 0o777).toBe(0o700)

    opened[Symbol.dispose]()
    expect(existsSync(dirname(page))).toBe(false)
  },
)

test.skipIf(isWindows)('an address without a secret is opened as it is', async () => {
  const url = 'http://127.0.0.1:4747/'

  using _ = openBrowser(url, false, { ...process.env, PATH: openers() }, () => {})

  expect(await given()).toBe(url)
})

test('where no browser can be opened, it says so', async () => {
  const said: string[] = []

  using _ = openBrowser(SECRET, true, { PATH: folder }, (words) => said.push(words))

  await vi.waitFor(
    () => expect(said.join()).toMatch(/did not start: open the address yourself/),
    PATIENCE,
  )
})
