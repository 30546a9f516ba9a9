// The server of the guide, when its database does not answer.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { toJavaScript } from '../support/write-program.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Stands for a database that is away: a client that is closed can be asked nothing. */
const ASK = `
if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
await holdfast.close()
const answer = await fetch('http://127.0.0.1:' + server.address().port)
console.log(answer.status, await answer.text())
server.close()
`

test('the metrics of the process are answered while the store is not', async () => {
  const guide = readFileSync(join(ROOT, 'docs/guide/observability.md'), 'utf8')
  const code = /^```ts\n([^]*?)^```$/m.exec(guide)![1]!
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/holdfast'))
  writeFileSync(join(folder, 'main.mjs'), toJavaScript(code) + ASK)

  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder })

  expect(stdout).toMatch(/^200 /)
  expect(stdout).toContain('holdfast_instances_started_total{workflow="hello"} 1')
})
