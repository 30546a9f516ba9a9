// A report every second, which takes longer than that now and then: the schedule skips, is paused,
// triggered and changed in place.
//
//   npm run build && npx tsx examples/13-schedules/main.ts [store URL]

import { open, type ScheduleInfo } from 'holdfast'
import { report } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: report })

/** Looks at the schedule until something is true of it. */
async function until(isTrue: (info: ScheduleInfo) => boolean): Promise<ScheduleInfo> {
  for (;;) {
    const info = await holdfast.schedules.get('reports')
    if (info !== undefined && isTrue(info)) return info
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

// In a service, this is called each time it starts: the same call again changes nothing.
await holdfast.schedule('reports', { every: '1s' }, report, 0)
const first = await until((info) => info.lastRun !== undefined)
console.log(`started: ${await holdfast.get(report, first.lastRun!.instanceId).result()}`)

// The same schedule, with reports that take two and a half seconds.
await holdfast.schedule('reports', { every: '1s' }, report, 2.5)
const skipped = await until((info) => info.skipped.count > 0)
console.log(`skipped, because ${skipped.running.length} is running`)

await holdfast.schedules.pause('reports')
const triggered = await holdfast.schedules.trigger('reports')
console.log(`triggered while paused: ${await holdfast.get(report, triggered.id).result()}`)

await holdfast.schedule(
  'reports',
  { cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' },
  report,
  0,
)
await holdfast.schedules.resume('reports')
const [changed] = await holdfast.schedules.list()
const next = changed!.nextRuns[0]!.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })
console.log(`now due on weekdays at ${next} in Berlin`)

console.log(`deleted: ${await holdfast.schedules.delete('reports')}`)
