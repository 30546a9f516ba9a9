import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeProgram } from '../test/support/write-program.ts'

const written = new Map<string, string>()

/**
 * The path of a program of `bench/` as plain JavaScript, until this process ends. With tsx, a process
 * needs most of a second of CPU time to load, while another one is being measured.
 */
export function plainProgram(source: string): string {
  const path = written.get(source)
  if (path !== undefined) return path
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-program-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const program = writeProgram(folder, source)
  written.set(source, program)
  return program
}
