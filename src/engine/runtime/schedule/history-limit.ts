import type { TurnRow } from '../../../store/commits.ts'
import { isClose, type LimitGuard, OverLimitError } from '../../core/limits.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

/** Watches how long histories get: a long one is slow to replay, and in the end fills the memory. */
export class HistoryLimit {
  readonly #guard: LimitGuard

  constructor(guard: LimitGuard) {
    this.#guard = guard
  }

  /** Why an instance has to be suspended once this row is part of its history, if it has to be. */
  excess(instance: LiveInstance, row: TurnRow | null): OverLimitError | undefined {
    const { historyEvents, historyBytes } = this.#guard.limits
    const events = instance.seq + (row?.count ?? 0)
    const bytes = instance.historyBytes + (row?.events.length ?? 0)
    if (!isClose(events, historyEvents) && !isClose(bytes, historyBytes)) return undefined
    if (events > historyEvents) return tooLong(`${events} events`, historyEvents, 'historyEvents')
    if (bytes > historyBytes) return tooLong(`${bytes} bytes`, historyBytes, 'historyBytes')
    if (instance.noteLongHistory()) {
      const about = { ...instanceKeys(instance), events, historyEvents, bytes, historyBytes }
      this.#guard.warn(
        `history of workflow "${instance.definition.name}"`,
        about,
        'history is close to its limit, beyond which the instance is suspended; use ctx.continueAsNew',
      )
    }
    return undefined
  }
}

function tooLong(size: string, max: number, limit: string): OverLimitError {
  return new OverLimitError(
    `history has ${size}, over the limit of ${max}; raise limits.${limit}, then resume() the instance; use ctx.continueAsNew in loops to keep histories short`,
  )
}
