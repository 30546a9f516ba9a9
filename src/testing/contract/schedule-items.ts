import type { StartItem } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type { Firing, NewSchedule, ScheduleRow } from '../../store/schedules.ts'
import { type Actor, type Scene, startItem } from './scene.ts'

/** A schedule of the first workflow of a runtime. */
export function newSchedule(
  { workflows }: Actor,
  given: Partial<NewSchedule> & Pick<NewSchedule, 'nextAt'>,
): NewSchedule {
  return {
    name: 'nightly',
    revision: 'first',
    workflow: workflows[0]!,
    timing: '"daily"',
    template: '"order"',
    anchor: 1,
    ...given,
  }
}

/** The only schedule there is. */
export async function onlySchedule({ store }: Scene): Promise<ScheduleRow> {
  const [schedule, ...others] = await store.schedules.read()
  if (schedule === undefined || others.length > 0) throw new Error('there is not one schedule')
  return schedule
}

/** Stores a schedule and returns it. */
export async function scheduled(
  scene: Scene,
  runtime: Actor,
  given: Partial<NewSchedule> & Pick<NewSchedule, 'nextAt'>,
): Promise<ScheduleRow> {
  const schedule = newSchedule(runtime, given)
  await scene.store.schedules.put(schedule)
  const [row] = await scene.store.schedules.read([schedule.name])
  return row!
}

/** A start of a schedule, under a number of its own. */
export async function newStart(
  { store }: Scene,
  { workflow, name }: ScheduleRow,
  given: Partial<StartItem> = {},
): Promise<StartItem> {
  const iid: Iid = await store.reserve(1)
  return startItem(iid, { workflow, id: `${name}/${iid}`, owned: false, wakeAt: 0, ...given })
}

/** A firing of the next due time; the one after it is a minute later. */
export function firing(
  { name, revision, nextAt, setAt }: ScheduleRow,
  start: StartItem | null,
  given: Partial<Firing> = {},
): Firing {
  return {
    name,
    revision,
    due: nextAt,
    missed: 0,
    at: start === null ? null : nextAt,
    start,
    nextAt: nextAt + 60_000,
    setAt,
    overlap: 'allow',
    passed: 1,
    nextAfterPassed: nextAt + 60_000,
    ...given,
  }
}
