import { registerErrorClass } from '../../base/errors.ts'

/** Every runtime that runs an instance, or a task of it, dies of it. */
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
      `${deaths} runtimes died while ${what}; the instance is suspended; resume it once the ` +
        'cause is fixed. Does its code exit the process, run out of memory, or block the event loop?',
    )
    this.deaths = deaths
    this.doing = doing
  }
}
