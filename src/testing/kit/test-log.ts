import { type Logger, silentLog } from '../../base/log.ts'
import { linesOutside } from '../../base/source-line.ts'

/** A line of the log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  /** What the line is about, such as `instanceId`, `workflow`, `activity` and `err`. */
  readonly data: Readonly<Record<string, unknown>>
}

/** What went wrong without anyone waiting for it. */
export interface Problem {
  /** The instance that it happened to. */
  readonly id: string | undefined
  readonly report: string
  readonly error: unknown
  readonly isSuspension: boolean
  /** Whether the result of the instance says so as well. */
  readonly isInResult: boolean
}

// Lines that say that something has to be fixed. The others report what the engine has dealt with.
const FAILED = 'workflow failed'
const SUSPENDED = 'instance suspended; resume it once the cause is fixed'
const PROBLEMS: ReadonlySet<string> = new Set([
  FAILED,
  SUSPENDED,
  'unhandled rejection in workflow code',
])
const NOT_AWAITED = 'workflow ended without awaiting calls'

/** Keeps the log of a test, and what went wrong according to it. */
export class TestLog implements Logger {
  readonly lines: LogLine[] = []
  readonly debug = this.#to('debug')
  readonly info = this.#to('info')
  readonly warn = this.#to('warn')
  readonly error = this.#to('error')
  readonly #problems: Problem[] = []
  readonly #onProblem: (problem: Problem) => void
  readonly #log: Logger

  constructor(log: Logger = silentLog, onProblem: (problem: Problem) => void) {
    this.#log = log
    this.#onProblem = onProblem
  }

  /** What went wrong and was not taken. */
  get problems(): readonly Problem[] {
    return this.#problems
  }

  /** The latest warnings and errors, as text. */
  get warnings(): readonly string[] {
    return this.lines
      .filter(({ level }) => level === 'warn' || level === 'error')
      .slice(-5)
      .map(({ message, data: { activity, err } }) => {
        const what = typeof activity === 'string' ? ` (activity "${activity}")` : ''
        return `${message}${what}${err instanceof Error ? `: ${err.message}` : ''}`
      })
  }

  /** The reason why the engine suspended an instance. */
  suspensionOf(id: string): Problem | undefined {
    return this.#problems.find((problem) => problem.id === id && problem.isSuspension)
  }

  /** All problems, which are forgotten. */
  take(): readonly Problem[] {
    return this.#problems.splice(0)
  }

  /** The test has seen what became of this instance. */
  forget(id: string): void {
    for (let i = this.#problems.length - 1; i >= 0; i--) {
      const { id: one, isInResult } = this.#problems[i]!
      if (one === id && isInResult) this.#problems.splice(i, 1)
    }
  }

  #to(level: LogLine['level']): (data: object, message?: string) => void {
    return (data, message = '') => {
      const line = { level, message, data: { ...data } as Record<string, unknown> }
      this.lines.push(line)
      this.#check(line)
      this.#log[level](data, message)
    }
  }

  #check({ message, data }: LogLine): void {
    if (!PROBLEMS.has(message) && !message.startsWith(NOT_AWAITED)) return
    const { err, instanceId, workflow, calls } = data
    const id = typeof instanceId === 'string' ? instanceId : undefined
    const what = id === undefined ? '' : ` (instance "${id}" of workflow "${String(workflow)}")`
    const why = err instanceof Error ? `: ${reportOf(err)}` : ''
    const which = Array.isArray(calls) ? `: ${calls.join(', ')}` : ''
    const problem: Problem = {
      id,
      report: `${message}${what}${why}${which}`,
      error: err,
      isSuspension: message === SUSPENDED,
      isInResult: message === SUSPENDED || message === FAILED,
    }
    this.#problems.push(problem)
    this.#onProblem(problem)
  }
}

/** An error with the lines of its stack that are code of the user. */
function reportOf(error: Error): string {
  const own = linesOutside(error.stack ?? '').filter(
    (line) => /:\d+:\d+\)?$/.test(line) && !/[\\/]node_modules[\\/]/.test(line),
  )
  return [error.message, ...own.slice(0, 5)].join('\n')
}
