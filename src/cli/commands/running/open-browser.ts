import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** How long a browser may take to read the page that leads it to the address. */
const READ_MS = 60_000

/**
 * Opens an address in the browser. All users of a machine see the arguments of a program, so for one with a
 * secret it is given a page that only this user can read, which leads to the address. Dispose of what is
 * returned to remove that page earlier than after a minute.
 */
export function openBrowser(
  url: string,
  isSecret: boolean,
  env: Readonly<Record<string, string | undefined>>,
  note: (words: string) => void,
): Disposable {
  let page: SecretPage | undefined
  try {
    page = isSecret ? writePage(url) : undefined
  } catch (error) {
    // It is no reason to end the dashboard.
    note(`${(error as Error).message}: open the address yourself`)
    return { [Symbol.dispose]() {} }
  }
  const [name = 'xdg-open', ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(name, [...args, page?.address ?? url], {
    stdio: 'ignore',
    detached: true,
    env,
  })
  child.once('error', () => note(`${name} did not start: open the address yourself`))
  child.unref()
  return { [Symbol.dispose]: () => page?.remove() }
}

interface SecretPage {
  readonly address: string
  readonly remove: () => void
}

function writePage(url: string): SecretPage {
  // Only its owner can look into it.
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-open-'))
  const page = join(folder, 'dashboard.html')
  writeFileSync(page, pageTo(url), { mode: 0o600 })
  const remove = (): void => {
    clearTimeout(timer)
    rmSync(folder, { recursive: true, force: true })
  }
  const timer = setTimeout(remove, READ_MS).unref()
  return { address: pathToFileURL(page).href, remove }
}

function pageTo(url: string): string {
  const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return `<!doctype html>
<meta charset="utf-8" />
<meta name="referrer" content="no-referrer" />
<meta http-equiv="refresh" content="0; url=${address}" />
<title>Holdfast</title>
<a href="${address}">The dashboard</a>
`
}
