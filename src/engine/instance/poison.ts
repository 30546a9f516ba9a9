import { registerErrorClass } from '../../base/errors.ts'

/** From this many deaths on, an instance or a task is run by itself, and each step is told beforehand. */
export const QUARANTINE_DEATHS = 2
/** With so many it is set aside. */
export const MAX_DEATHS = 5

/** Whoever runs an instance, or a task of it, dies of it. */
export class PoisonError extends Error {
  static {
    registerErrorClass('PoisonError', PoisonError, ['deaths', 'doing'])
  }

  readonly deaths: number
  /** What was being done when the last one died. */
  readonly doing: string

  constructor(deaths: number, doing: string) {
    const what = doing === '' ? 'working on it' : `running ${doing}`
    super(
      `${deaths} runtimes died while ${what}; it is set aside until somebody resumes it. ` +
        'Does its code exit the process, run out of memory, or never pause?',
    )
    this.deaths = deaths
    this.doing = doing
  }
}
