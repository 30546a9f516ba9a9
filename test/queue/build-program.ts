import { join } from 'node:path'
import { writeProgram as write } from '../support/write-program.ts'

/** Writes a program of `programs/` as plain JavaScript into a folder under `folder`; answers its path. */
export function writeProgram(folder: string, name: string): string {
  return write(folder, join(import.meta.dirname, `programs/${name}.ts`))
}
