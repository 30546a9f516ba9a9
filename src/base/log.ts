import { having } from './options.ts'
import { isOwnLine } from './source-line.ts'
import { catchRejection } from './thenable.ts'

/** Writes one line: structured data, and a message. */
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
 * A logger that adds `bindings` to every line. If it throws or rejects, its caller does not notice.
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

const MAX_CAUSES = 8

/**
 * A stack without the lines of this package and of Node itself. If no line is left, that of its
 * cause follows, which may lead to the code of the user; otherwise it is shown as it is.
 */
function shortStack(error: Error): string | undefined {
  return stackOfUser(error, MAX_CAUSES) ?? error.stack
}

const isFrame = (line: string): boolean => /^\s+at /.test(line)

const isHidden = (line: string): boolean => isOwnLine(line) || /[ (]node:/.test(line)

/** `undefined` when neither the error nor its causes have a line of the user. */
function stackOfUser({ stack, cause }: Error, deep: number): string | undefined {
  if (stack === undefined) return undefined
  const shown = stack.split('\n').filter((line) => !isFrame(line) || !isHidden(line))
  if (shown.some(isFrame)) return shown.join('\n')
  const below = cause instanceof Error && deep > 0 ? stackOfUser(cause, deep - 1) : undefined
  return below === undefined ? undefined : [...shown, `caused by: ${below}`].join('\n')
}
