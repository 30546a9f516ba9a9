import { resolve } from 'node:path'
import { statSync } from 'node:fs'
import { CliError, EXIT } from '../errors/cli-error.ts'
import type { Io } from '../output/terminal.ts'

/** The path of the file of a queue, which must be there: to open another would create a queue. */
export function queueFile(given: string, { cwd }: Io): string {
  const path = resolve(cwd, given.replace(/^file:/, ''))
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new CliError(`there is no file ${path}`, EXIT.notFound)
  if (found.size > 0) return path
  throw new CliError(`${path} is empty, not a queue; check the path`, EXIT.notFound)
}
