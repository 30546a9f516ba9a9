import { dirname } from 'node:path'
import { having } from './options.ts'
import { catchRejection } from './thenable.ts'

/** Writes one line: what it is about as data, and a message. */
export type Log = (data: object, message?: string) => void

/** Where log lines go. A pino logger fits as it is. */
export interface Logger {
  debug: Log
  info: Log
  warn: Log
  error: Log
}

/** Writes nothing. */
export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Writes warnings and errors to stderr, one line each: what is used when no logger is given. */
export const defaultLog: Logger = {
  debug() {},
  info() {},
  warn: (data, message) => writeLine('warn', data, message),
  error: (data, message) => writeLine('error', data, message),
}

/** Checks that a value given as option can be logged to. */
export const logger = having<Logger>('a logger', ['debug', 'info', 'warn', 'error'])

/**
 * A logger that adds `bindings` to every line. One that throws, or rejects, harms nobody who logs
 * with it.
 */
export function childLog(log: Logger, bindings: object): Logger {
  const to =
    (level: keyof Logger): Log =>
    (data, message) => {
      try {
        const written: unknown = log[level]({ ...bindings, ...asData(data) }, message)
        catchRejection(written, () => {})
      } catch {
        // There is nowhere left to say so.
      }
    }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

function writeLine(level: string, data: object, message = ''): void {
  const time = new Date().toISOString()
  const line = `${time} holdfast ${level}: ${message}${details(data)}`
  process.stderr.write(`${line.replaceAll('\r', '\\r').replaceAll('\n', '\\n')}\n`)
}

/** An error given as the data is what the line is about: under the key that pino uses for it. */
function asData(data: object): object {
  return data instanceof Error ? { err: data } : data
}

// A log line must never throw, whatever it is given.
function details(data: object): string {
  try {
    return Object.entries(asData(data))
      .map(([key, value]) => ` ${key}=${render(value)}`)
      .join('')
  } catch {
    return ' (data cannot be shown)'
  }
}

function render(value: unknown): string {
  try {
    if (value instanceof Error) return JSON.stringify(shortStack(value) ?? String(value))
    return JSON.stringify(value) ?? String(value)
  } catch {
    return '(cannot be shown)'
  }
}

// Not there in a bundle, where no file tells whose a line is.
const OWN = import.meta.dirname === undefined ? undefined : dirname(import.meta.dirname)

/** A stack without the lines of this package and of Node itself, unless there are no others. */
function shortStack({ stack }: Error): string | undefined {
  if (stack === undefined || OWN === undefined) return stack
  const lines = stack.split('\n')
  const isOwn = (line: string): boolean => line.includes(OWN) || /[ (]node:/.test(line)
  const frames = lines.filter((line) => /^\s+at /.test(line))
  const hidden = new Set(frames.filter(isOwn))
  if (hidden.size === new Set(frames).size) return stack
  return lines.filter((line) => !hidden.has(line)).join('\n')
}
