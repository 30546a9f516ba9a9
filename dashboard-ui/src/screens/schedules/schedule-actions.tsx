import type { IdAnswer, ScheduleRequest, SchedulesAnswer } from '../../../../src/dashboard/api.ts'
import { post } from '../../api/http.ts'
import { refresh } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { go, hrefOf } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { ask } from '../../ui/dialog.tsx'
import { instanceHref } from '../instances/columns.tsx'

/** What can be done with a schedule. */
export function ScheduleActions({ schedule }: { schedule: SchedulesAnswer['items'][number] }) {
  const { name, paused } = schedule
  if (!useCanChange()) return null
  return (
    <>
      <Button
        icon={paused ? 'play' : 'pause'}
        onClick={() => (paused ? resume(name) : pause(name))}
      >
        {paused ? 'Resume' : 'Pause'}
      </Button>
      <Button icon="send" onClick={() => trigger(name)}>
        Start now
      </Button>
      <Button kind="danger" icon="trash" onClick={() => remove(name)}>
        Delete
      </Button>
    </>
  )
}

function pause(name: string): void {
  ask({
    title: `Pause ${name}?`,
    body: <p>It starts nothing until it is resumed. Due times that pass meanwhile are left out.</p>,
    verb: 'Pause',
    async act() {
      await post('schedules/pause', { name } satisfies ScheduleRequest)
      refresh()
      return `Paused ${name}`
    },
  })
}

function resume(name: string): void {
  ask({
    title: `Resume ${name}?`,
    body: <p>It continues with the next due time. Those that passed meanwhile are left out.</p>,
    verb: 'Resume',
    async act() {
      await post('schedules/resume', { name } satisfies ScheduleRequest)
      refresh()
      return `Resumed ${name}`
    },
  })
}

function trigger(name: string): void {
  ask({
    title: `Start ${name} now?`,
    body: (
      <p>One instance is started at once, even while it is paused. Due times stay as they are.</p>
    ),
    verb: 'Start',
    async act() {
      const { id } = await post<IdAnswer>('schedules/trigger', { name } satisfies ScheduleRequest)
      go(instanceHref({ id }))
      return `Started ${id}`
    },
  })
}

function remove(name: string): void {
  ask({
    title: `Delete the schedule ${name}?`,
    body: (
      <p>
        It starts nothing any more. Instances that it started continue. A program that sets it when
        it starts creates it again.
      </p>
    ),
    verb: 'Delete',
    danger: true,
    async act() {
      await post('schedules/delete', { name } satisfies ScheduleRequest)
      go(hrefOf(['schedules']))
      return `Deleted ${name}`
    },
  })
}
