import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { writeProgram } from './write-program.ts'

/** The path of a program that the tests of this file start; asked for outside of tests. */
export function testProgram(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-program-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return writeProgram(folder, source)
}
