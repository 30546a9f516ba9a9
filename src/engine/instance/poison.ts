import { registerErrorClass } from '../../base/errors.ts'

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
