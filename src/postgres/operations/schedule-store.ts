import type { Firing, ScheduleRow, ScheduleStore } from '../../store/schedules.ts'
import { int, intOrNull, text } from '../connect/rows.ts'
import { toFirings, toVerdicts } from '../wire/answers.ts'
import type { Call } from '../wire/call.ts'
import { joinTexts, listOf, textArray } from '../wire/lists.ts'
import { OVERLAP } from '../wire/numbers.ts'
import { startsValue } from '../wire/start-values.ts'

/** The methods of a workflow store for schedules. */
export function postgresScheduleStore(call: Call): ScheduleStore {
  return {
    async put({ name, revision, workflow, timing, template, nextAt, anchor }) {
      const values = [name, revision, workflow, timing, template, nextAt, anchor]
      const [row] = await call('put_schedule', values)
      return text(row!, 'outcome') as 'created' | 'changed' | 'unchanged'
    },

    async read(names) {
      const joined = names === undefined ? null : joinTexts('schedules', names)
      const [row] = await call('read_schedules', [joined, names?.length ?? 0])
      return toSchedules(text(row!, 'schedules'))
    },

    async remove(name) {
      const [row] = await call('remove_schedule', [name])
      return text(row!, 'removed') === 't'
    },

    async move({ name, revision, due, nextAt, setAt, paused }) {
      const values = [name, revision, due, nextAt, setAt, String(paused)]
      const [row] = await call('move_schedule', values)
      return text(row!, 'moved') === 't'
    },

    async due(limit, names) {
      const values = [limit, joinTexts('schedules', names), names.length]
      const [row] = await call('due_schedules', values)
      return {
        clock: int(row!, 'clock'),
        schedules: toSchedules(text(row!, 'schedules')),
        next: intOrNull(row!, 'next'),
      }
    },

    async fire(firings) {
      if (firings.length === 0) return []
      const [row] = await call('fire_schedules', firingValues(firings))
      return toFirings(text(row!, 'letters'))
    },

    async fail({ name, revision, due }, error) {
      await call('fail_schedule', [name, revision, due, error])
    },

    async trigger({ name, revision }, start) {
      const values = [name, revision, startsValue([start]), start.iid, start.id]
      const [row] = await call('trigger_schedule', values)
      return toVerdicts(row!['letter'])[0]!
    },
  }
}

function firingValues(firings: readonly Firing[]): string[] {
  const numbers = (of: (firing: Firing) => number | null): string => listOf(firings.map(of))
  const texts = (of: (firing: Firing) => string): string => joinTexts('schedules', firings.map(of))
  return [
    texts(({ name }) => name),
    texts(({ revision }) => revision),
    numbers(({ due }) => due),
    numbers(({ missed }) => missed),
    numbers(({ at }) => at),
    numbers(({ nextAt }) => nextAt),
    numbers(({ setAt }) => setAt),
    numbers(({ overlap }) => OVERLAP[overlap]),
    numbers(({ passed }) => passed),
    numbers(({ nextAfterPassed }) => nextAfterPassed),
    textArray(firings.map(({ start }) => (start === null ? '' : startsValue([start])))),
    numbers(({ start }) => start?.iid ?? null),
    texts(({ start }) => start?.id ?? ''),
  ]
}

function toSchedules(json: string): readonly ScheduleRow[] {
  return JSON.parse(json) as ScheduleRow[]
}
