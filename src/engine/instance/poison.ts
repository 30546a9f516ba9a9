import { registerErrorClass } from '../../base/errors.ts'

/** The error of an instance whose runtimes died while they ran it or one of its tasks. */
export class PoisonError extends Error {
  static {
    registerErrorClass('PoisonError', PoisonError, ['deaths', 'doing'])
  }

  readonly deaths: number
  /** What was running when the last one died. */
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
