/**
 * Inbox rows that an instance has seen.
 *
 * A row is read again as long as it is there, and a read that began before the row was deleted may
 * bring it afterwards. So a row is forgotten only when it was deleted and no such read is under way.
 */
export class KnownRows {
  #rows: Set<number> | undefined
  readonly #deleted: number[] = []
  #reading = 0

  /** Whether this row is new; from now on it is known. */
  add(row: number): boolean {
    const rows = (this.#rows ??= new Set())
    if (rows.has(row)) return false
    rows.add(row)
    return true
  }

  /** Rows that were deleted by a commit. */
  deleted(rows: readonly number[]): void {
    for (const row of rows) this.#deleted.push(row)
    this.#forget()
  }

  /** The inbox is about to be read. Call the result once the rows are known here. */
  reading(): () => void {
    this.#reading++
    return () => {
      this.#reading--
      this.#forget()
    }
  }

  #forget(): void {
    if (this.#reading > 0 || this.#deleted.length === 0) return
    for (const row of this.#deleted.splice(0)) this.#rows?.delete(row)
  }
}
