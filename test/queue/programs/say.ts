import { writeSync } from 'node:fs'

/** Writes a line that is out when this returns, whatever becomes of the process. */
export function say(line: string): void {
  writeSync(1, `${line}\n`)
}
