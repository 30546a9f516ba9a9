import type { IdAnswer, ScheduleAnswer, ScheduleRequest, SchedulesAnswer } from './api.ts'
import { Failure } from './failure.ts'
import { plain } from './instance.ts'
import { toItem } from './instances.ts'
import { REQUIRED, integer } from './parameters.ts'
import { type FieldsOf, read, type ReadRoute, write, type WriteRoute } from './route.ts'

/** The label of instances that a schedule started. */
const LABEL = 'schedule'

/** Reads of schedules. */
export const SCHEDULE_READS: Readonly<Record<string, ReadRoute>> = {
  schedules: read(
    {},
    async ({ client }): Promise<SchedulesAnswer> => ({
      items: plain(await client.schedules.list()),
    }),
    3_000,
  ),
  schedule: read(
    { name: REQUIRED, limit: integer(1, 1_000, 100) },
    async ({ client }, { name, limit }): Promise<ScheduleAnswer> => {
      const schedule = await client.schedules.get(name)
      if (schedule === undefined) {
        throw new Failure('not_found', `there is no schedule "${name}"`)
      }
      const { items } = await client.list({ labels: { [LABEL]: name } }, { limit })
      return { schedule: plain(schedule), runs: items.map(toItem) }
    },
    3_000,
  ),
}

const NAME = { name: REQUIRED } satisfies FieldsOf<ScheduleRequest>

/** Writes to schedules. */
export const SCHEDULE_WRITES: Readonly<Record<string, WriteRoute>> = {
  'schedules/pause': write(NAME, async ({ client }, { name }) => {
    await client.schedules.pause(name)
    return {}
  }),
  'schedules/resume': write(NAME, async ({ client }, { name }) => {
    await client.schedules.resume(name)
    return {}
  }),
  'schedules/trigger': write(NAME, async ({ client }, { name }): Promise<IdAnswer> => {
    const { id } = await client.schedules.trigger(name)
    return { id }
  }),
  'schedules/delete': write(NAME, async ({ client }, { name }) => {
    if (await client.schedules.delete(name)) return {}
    throw new Failure('not_found', `there is no schedule "${name}"`)
  }),
}
