import type { Client, ScheduleInfo } from '../../../index.ts'
import { type Call, command } from '../../args/command.ts'
import { CliError, EXIT } from '../../errors/cli-error.ts'
import { idsFrom, nameValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printIds, printList, printRecord } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { timeText } from '../../output/times.ts'
import { withClient } from '../../store/with-client.ts'

const NAME = { name: 'name', help: 'the name of the schedule' } as const
const NAMES = {
  name: 'name',
  help: 'names of schedules, or - for those on standard input, one a line',
  many: true,
} as const

export const listSchedules = command({
  name: 'schedules list',
  summary: 'list schedules, with their next due times',
  args: [],
  options: {},
  examples: [{ line: 'holdfast schedules list', what: 'by name' }],
  run: async (call) => {
    const found = await withClient(call, (client) => client.schedules.list())
    printList(call.terminal, call.format, found, {
      columns: [
        { title: 'NAME', value: ({ name }) => name },
        { title: 'WORKFLOW', value: ({ workflow }) => workflow },
        { title: 'WHEN', value: whenText },
        {
          title: 'STATE',
          value: stateOf,
          style: (schedule) => (stateOf(schedule) === 'active' ? 'green' : 'yellow'),
        },
        { title: 'NEXT', value: ({ nextRuns }) => timeText(nextRuns[0]) },
        { title: 'LAST', value: ({ lastRun }) => timeText(lastRun?.at) },
        { title: 'STARTED', value: ({ started }) => String(started) },
        { title: 'RUNNING', value: ({ running }) => String(running.length) },
      ],
      id: ({ name }) => name,
      none: 'no schedules',
    })
  },
})

function stateOf({ paused, lastError }: ScheduleInfo): string {
  if (paused) return 'paused'
  return lastError === undefined ? 'active' : 'failing'
}

function whenText({ cron, every, timezone }: ScheduleInfo): string {
  if (cron === undefined) return `every ${typeof every === 'number' ? `${every}ms` : every}`
  return timezone === undefined ? cron : `${cron} ${timezone}`
}

function noted({ count, last }: ScheduleInfo['skipped']): string {
  return count === 0 ? '' : `${count}, last ${timeText(last)}`
}

export const showSchedule = command({
  name: 'schedules show',
  summary: 'show a schedule: its next due times, and what it has started and left out',
  args: [NAME],
  options: {},
  examples: [{ line: 'holdfast schedules show nightly', what: 'for people' }],
  run: async (call) => {
    const name = nameValue(call.args[0]!, '<name>')
    const found = await withClient(call, (client) => client.schedules.get(name))
    if (found === undefined) throw notFound(name)
    const { lastRun, lastError, skipped, missed } = found
    printRecord(call.terminal, call.format, found, name, [
      ['name', name],
      ['workflow', [found.workflow, found.version].filter(Boolean).join(' ')],
      ['when', whenText(found)],
      ['state', stateOf(found)],
      ['overlap', found.overlap ?? ''],
      ['next', found.nextRuns.map(timeText).join('\n')],
      ['last', lastRun === undefined ? '' : `${timeText(lastRun.at)} ${lastRun.instanceId}`],
      ['running', found.running.join('\n')],
      ['started', String(found.started)],
      ['skipped', noted(skipped)],
      ['missed', noted(missed)],
      ['error', lastError === undefined ? '' : `${timeText(lastError.at)} ${lastError.message}`],
      ['created', timeText(found.createdAt)],
      ['updated', timeText(found.updatedAt)],
    ])
  },
})

export const pauseSchedule = command({
  name: 'schedules pause',
  summary: 'start nothing until the schedules are resumed',
  args: [NAMES],
  options: {},
  examples: [{ line: 'holdfast schedules pause nightly', what: 'one' }],
  run: (call) => overNames(call, 'paused', ({ schedules }, name) => schedules.pause(name)),
})

export const resumeSchedule = command({
  name: 'schedules resume',
  summary: 'continue with the next due time',
  args: [NAMES],
  options: {},
  examples: [
    {
      line: 'holdfast schedules list -o ids | holdfast schedules resume -',
      what: 'all of them',
    },
  ],
  run: (call) => overNames(call, 'resumed', ({ schedules }, name) => schedules.resume(name)),
})

export const deleteSchedule = command({
  name: 'schedules delete',
  summary: 'delete schedules; instances that they started continue',
  args: [NAMES],
  options: {},
  examples: [{ line: 'holdfast schedules delete nightly', what: 'one' }],
  run: (call) =>
    overNames(call, 'deleted', async ({ schedules }, name) => {
      if (!(await schedules.delete(name))) throw notFound(name)
    }),
})

export const triggerSchedule = command({
  name: 'schedules trigger',
  summary: 'start an instance of a schedule now',
  args: [NAME],
  options: {},
  examples: [{ line: 'holdfast schedules trigger nightly', what: 'prints the id of the instance' }],
  run: async (call) => {
    const name = nameValue(call.args[0]!, '<name>')
    const instance = await withClient(call, (client) => client.schedules.trigger(name))
    if (call.format === 'json') call.terminal.print(toJson({ id: instance.id }))
    else printIds(call.terminal, [instance.id])
  },
})

/** Does something to each; those that do not exist do not keep the others from it. */
async function overNames(
  call: Call,
  done: string,
  work: (client: Client, name: string) => Promise<void>,
): Promise<number> {
  const names = await idsFrom(call.args, call.terminal.io)
  // All of them before the first is changed.
  for (const name of names) nameValue(name, '<name>')
  const missing: string[] = []
  await withClient(call, async (client) => {
    for (const name of names) {
      call.signal.throwIfAborted()
      try {
        await work(client, name)
      } catch (error) {
        if (!isMissing(error)) throw error
        missing.push(name)
      }
    }
  })
  const count = names.length - missing.length
  if (call.format === 'json') call.terminal.print(toJson({ [done]: count, notFound: missing }))
  else call.terminal.note(`${done}: ${count} ${count === 1 ? 'schedule' : 'schedules'}`)
  for (const name of missing) call.terminal.note(`not found: ${safeText(name)}`)
  return missing.length > 0 ? EXIT.notFound : EXIT.ok
}

function isMissing(error: unknown): boolean {
  if (error instanceof CliError) return error.exitCode === EXIT.notFound
  return error instanceof Error && error.name === 'NotFoundError'
}

function notFound(name: string): CliError {
  return new CliError(`there is no schedule "${name}"`, EXIT.notFound)
}
