// Puts the pages of the dashboard into a module of the build as text, so that the package reads no file at run
// time and works inside a bundle: see src/dashboard/ui-files.ts.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'

const DASHBOARD = join(import.meta.dirname, '..', 'build', 'dashboard')
const UI = join(DASHBOARD, 'ui')
const TARGET = join(DASHBOARD, 'ui-files.js')
const TEXT = /\.(css|html|js|json|svg|txt)$/

const files = readdirSync(UI, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .toSorted()
  .map((path) => [
    path
      .slice(UI.length + 1)
      .split(sep)
      .join('/'),
    contentOf(path),
  ])
const stub = readFileSync(TARGET, 'utf8')
const empty = 'export const UI_FILES = undefined'
if (!stub.includes(empty)) throw new Error(`${TARGET} has no "${empty}"`)
const list = JSON.stringify(Object.fromEntries(files))
writeFileSync(
  TARGET,
  stub.replace(empty, () => `export const UI_FILES = ${list}`),
)
// The module contains them now.
rmSync(UI, { recursive: true })

function contentOf(path) {
  const bytes = readFileSync(path)
  return TEXT.test(path) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') }
}
