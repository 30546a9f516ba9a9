import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passTime } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const TSX = import.meta.resolve('tsx')

test('it says hello, even when it was killed during its sleep', { timeout: 40_000 }, async () => {
  using place = folder()

  const killed = run(place.path)
  await passTime(2_500)
  killed.process.kill('SIGKILL')
  expect(await killed.ended).toEqual({ code: null, output: '' })

  expect(await run(place.path).ended).toEqual({ code: 0, output: 'hello Kim\n' })
  // It has ended: the same id gives the same result, at once.
  expect(await run(place.path).ended).toEqual({ code: 0, output: 'hello Kim\n' })
})

function folder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-hello-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

function run(cwd: string) {
  const child = spawn(process.execPath, ['--import', TSX, MAIN], { cwd })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (output += String(chunk)))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  return { process: child, ended }
}
