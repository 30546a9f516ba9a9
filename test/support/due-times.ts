// Twenty schedules, and the instances that they must have started.

import type { Schedule } from '../../src/index.ts'
import { type Timing, timetable } from '../../src/engine/core/timetable.ts'

const ZONES = ['America/New_York', 'America/Havana', 'UTC', 'America/St_Johns']

/** Some of them fall into the hours that are skipped or repeated when wall clocks are set. */
export const TWENTY: readonly (readonly [string, Schedule])[] = ZONES.flatMap((timezone) =>
  ['30 2 * * *', '15,45 1-3 * * *', '*/20 * * * *', '0 * * * *', '59 23 * * *'].map(
    (cron) => [`${timezone} ${cron}`, { cron, timezone }] as const,
  ),
)

/** When a schedule is due, without its other options. */
export function timingOf({ cron, every, timezone = 'UTC' }: Schedule): Timing {
  return cron === undefined ? { everyMs: every as number } : { cron, timezone }
}

/** The ids for all due times after `from`, up to `to`. */
export function expectedIds(
  name: string,
  timing: Timing,
  anchor: number,
  from: number,
  to: number,
): string[] {
  const table = timetable(timing, anchor)
  const ids: string[] = []
  for (let at = table.next(from)!; at <= to; at = table.next(at)!) {
    ids.push(`${name}/${new Date(at).toISOString().replace('.000Z', 'Z')}`)
  }
  return ids
}
