/** A result of `doctor`. */
export interface Finding {
  /**
   * `ok`: no problem · `note`: good to know · `warning`: will become a problem · `error`: a problem
   * now.
   */
  readonly level: 'ok' | 'note' | 'warning' | 'error'
  /** What was examined: `vacuum`, `indexes`, `clock`, … */
  readonly what: string
  /** What was found, in words. */
  readonly detail: string
  /** What to do about it, often as SQL; empty if nothing has to be done. */
  readonly fix: string
}
