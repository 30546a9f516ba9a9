import type { Log, Logger } from '../../../index.ts'
import { withoutPasswords } from '../../errors/redact.ts'
import { placeOf, stackOf } from '../../errors/stacks.ts'
import { toJson } from '../../output/plain-json.ts'
import { safeLines, safeText } from '../../output/safe-text.ts'
import type { Style, Terminal } from '../../output/terminal.ts'

/** The levels of log lines, the most talkative first. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const

const STYLES: Readonly<Record<(typeof LEVELS)[number], Style>> = {
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
}

/**
 * Log lines of a runtime on stderr: text for people, or a JSON object each. Errors have their stacks in JSON;
 * in text, the line of the user's code that threw, and the stack only with `--verbose`.
 */
export function logLines(
  terminal: Terminal,
  format: 'text' | 'json',
  least: (typeof LEVELS)[number],
  isVerbose: boolean,
): Logger {
  const logAt = (level: (typeof LEVELS)[number]): Log => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return () => {}
    return (data, message = '') => {
      const time = new Date().toISOString()
      const { err, ...rest } = asData(data)
      if (format === 'json') {
        const line = {
          time,
          level,
          message,
          ...rest,
          ...(err !== undefined && { err: plain(err) }),
        }
        terminal.note(toJson(line, undefined, withoutPasswords))
        return
      }
      const keys = Object.entries(rest).map(
        ([key, value]) => ` ${key}=${toJson(value, undefined, withoutPasswords)}`,
      )
      const place = placeOf(err)
      const at = place === undefined ? '' : ` (${place})`
      const detail = err instanceof Error ? `: ${err.name}: ${err.message}${at}` : ''
      const text = safeText(`${withoutPasswords(`${message}${detail}`)}${keys.join('')}`)
      const label = terminal.styleNote(STYLES[level], level.padEnd(5))
      terminal.note(`${terminal.styleNote('dim', time.slice(11, 23))} ${label} ${text}`)
      if (isVerbose && err !== undefined) terminal.note(safeLines(withoutPasswords(stackOf(err))))
    }
  }
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
}

/** An error with its stack, which `toJson` leaves out. */
function plain(err: unknown): unknown {
  if (!(err instanceof Error)) return err
  return Object.assign({}, err, { name: err.name, message: err.message, stack: stackOf(err) })
}

function asData(data: object): { err?: unknown } {
  return data instanceof Error ? { err: data } : data
}
