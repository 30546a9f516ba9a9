// Reads the values of options and arguments.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe } from '../../base/describe.ts'
import { isPlainText } from '../../base/plain-text.ts'
import { type Duration, durationMs } from '../../base/time/duration.ts'
import { CliError, EXIT, UsageError } from '../errors/cli-error.ts'
import type { Io } from '../output/terminal.ts'

/** A time: a date in ISO 8601, or how long ago it was, such as `2h`. */
export function timeValue(text: string, option: string): Date {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) {
    return new Date(Date.now() - durationMs(text as Duration, option))
  }
  const date = new Date(text)
  if (/^\d{4}-/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new UsageError(
    `${option} must be a date such as 2026-11-18T09:00:00Z, or an age such as 2h, got "${text}"`,
  )
}

/** A duration, such as `5s`. */
export function durationValue(text: string, option: string): Duration {
  try {
    durationMs(text as Duration, option)
    return text as Duration
  } catch {
    throw new UsageError(`${option} must be a duration such as 500ms, 5s or 2h, got "${text}"`)
  }
}

/** A whole number. */
export function countValue(text: string, option: string, min = 1): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value
  throw new UsageError(`${option} must be a whole number, ${min} or more, got "${text}"`)
}

/** One of several words. */
export function wordValue<const Word extends string>(
  text: string,
  option: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new UsageError(`${option} must be one of ${words.join(', ')}, got "${text}"`)
}

/** The most characters of an id, and of a name. */
const MAX_ID = 500
const MAX_NAME = 200

/** The id of an instance. */
export function idValue(text: string, what: string): string {
  return plainValue(text, what, MAX_ID)
}

/** The name of a workflow, a channel or a schedule. */
export function nameValue(text: string, what: string): string {
  return plainValue(text, what, MAX_NAME)
}

/** As the client checks it, which would not know of which option or argument it speaks. */
function plainValue(text: string, what: string, max: number): string {
  if (isPlainText(text) && text !== '' && text.length <= max) return text
  throw new UsageError(
    `${what} must have 1 to ${max} characters, and no control characters, got ${describe(text)}`,
  )
}

/** `key=value` pairs. No instance has two values of one label, so they are refused. */
export function labelValues(texts: readonly string[]): Record<string, string> | undefined {
  if (texts.length === 0) return undefined
  const labels = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`--label must be <name>=<value>, got "${text}"`)
    const [name, value] = [text.slice(0, at), text.slice(at + 1)]
    const other = labels.get(name)
    if (other !== undefined && other !== value) {
      throw new UsageError(`--label ${name} has two values, "${other}" and "${value}"; give one`)
    }
    labels.set(name, value)
  }
  return Object.fromEntries(labels)
}

/** An error about an argument of a function, as one about the option that it was given by. */
export function aboutOption(error: unknown, argument: string, option: string): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error
  const [, words] = new RegExp(`^\\w+: ${argument} (must .*)$`).exec(error.message) ?? []
  return words === undefined ? error : new UsageError(`${option} ${words}`)
}

/** JSON from the command line, from standard input (`-`) or from a file (`@path`). */
export async function jsonValue(text: string, name: string, io: Io): Promise<unknown> {
  const source = text === '-' ? await readAll(io) : text.startsWith('@') ? file(text, io) : text
  try {
    return JSON.parse(source)
  } catch (error) {
    const quotes = /^[\w ]+$/.test(source) ? `; a string needs quotes: '"${source}"'` : ''
    throw new UsageError(`<${name}> must be JSON: ${(error as Error).message}${quotes}`)
  }
}

function file(text: string, io: Io): string {
  return readText(text.slice(1), io)
}

/** The text of a file. */
export function readText(path: string, io: Io): string {
  try {
    return readFileSync(resolve(io.cwd, path), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new CliError(`there is no file ${path}`, EXIT.notFound)
    throw new UsageError(`cannot read ${path}: ${message}`)
  }
}

/** Ids that were given, or those of standard input, one a line, for a single `-`. */
export async function idsFrom(args: readonly string[], io: Io): Promise<readonly string[]> {
  const ids = new Set<string>()
  for (const arg of args) {
    if (arg !== '-') ids.add(arg)
    // One by one: as arguments of a call, a few hundred thousand would not fit on the stack.
    else for (const line of (await readAll(io)).split(/\r?\n/)) if (line !== '') ids.add(line)
  }
  return [...ids]
}

/** All of standard input. */
export async function readAll({ stdin }: Io): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Buffer | string))
  return Buffer.concat(chunks).toString('utf8')
}
