/** Something that `doctor` looked at. */
export interface Finding {
  /**
   * `ok`: in order · `note`: good to know · `warning`: becomes trouble when nothing is done ·
   * `error`: is trouble.
   */
  readonly level: 'ok' | 'note' | 'warning' | 'error'
  /** What was looked at: `vacuum`, `indexes`, `clock`, … */
  readonly what: string
  /** What was found, for people. */
  readonly detail: string
  /** What to do about it, often as SQL; empty when nothing is to be done. */
  readonly fix: string
}
