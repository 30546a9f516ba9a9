import type { TaskInfo } from '../../../index.ts'
import { command } from '../../args/command.ts'
import { countValue, wordValue } from '../../input/values.ts'
import { type ListView, printList, printPages } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { ageOf, timeText } from '../../output/times.ts'
import { PagedList } from '../../store/paged-list.ts'
import { withClient } from '../../store/with-client.ts'

export const workflows = command({
  name: 'workflows',
  summary: 'list the workflows that runtimes serve, or that have unfinished instances',
  args: [],
  options: {},
  examples: [{ line: 'holdfast workflows', what: 'by name and version' }],
  run: async (call) => {
    const { terminal, format } = call
    const [known, unserved] = await withClient(call, (client) =>
      Promise.all([client.admin.workflows(), client.admin.unserved()]),
    )
    printList(terminal, format, known, {
      columns: [
        { title: 'WORKFLOW', value: ({ name }) => name },
        { title: 'VERSION', value: ({ version }) => version },
        { title: 'SCHEDULED', value: ({ scheduled }) => String(scheduled) },
        { title: 'RUNNING', value: ({ running }) => String(running) },
        {
          title: 'SUSPENDED',
          value: ({ suspended }) => String(suspended),
          style: ({ suspended }) => (suspended > 0 ? 'yellow' : undefined),
        },
        {
          title: 'RUNTIMES',
          value: ({ servedBy }) => String(servedBy),
          style: ({ servedBy }) => (servedBy === 0 ? 'red' : undefined),
        },
      ],
      id: ({ name }) => name,
      none: 'no workflows: no runtime is running, and no instance is unfinished',
    })
    if (format !== 'table') return
    for (const { reason, waiting } of unserved) {
      const words = `${waiting} ${waiting === 1 ? 'waits' : 'wait'}: ${safeText(reason)}`
      terminal.note(terminal.styleNote('yellow', words))
    }
  },
})

const TASK_LIST: ListView<TaskInfo> = {
  columns: [
    { title: 'INSTANCE', value: ({ instanceId }) => instanceId },
    { title: 'ACTIVITY', value: ({ activity }) => activity },
    { title: 'TAG', value: ({ tag }) => tag },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'ATTEMPT', value: ({ attempt }) => String(attempt) },
    {
      title: 'RUNTIME',
      value: ({ runtime }) => (runtime === undefined ? '' : String(runtime)),
    },
    { title: 'SINCE', value: ({ since }) => ageOf(since) },
    { title: 'NEXT', value: ({ nextAt }) => timeText(nextAt) },
    {
      title: 'ERROR',
      value: ({ error }) => (error === undefined ? '' : `${error.name}: ${error.message}`),
      shrinks: true,
    },
  ],
  id: ({ instanceId }) => instanceId,
  none: 'no tasks; activities that run beside their instance are shown by `holdfast instances show`',
}

const TASK_STATES = ['waiting', 'delayed', 'running'] as const

export const tasks = command({
  name: 'tasks',
  summary: 'list tasks: activities that any runtime may run, such as those with a tag',
  details:
    'Most activities are no tasks: the runtime that owns an instance runs them itself. `instances show` has\n' +
    'them.',
  args: [],
  options: {
    activity: { type: 'string', value: '<name>', help: 'of this activity' },
    tag: { type: 'string', value: '<tag>', help: 'with this tag' },
    session: { type: 'string', value: '<session>', help: 'of this session' },
    instance: { type: 'string', value: '<id>', help: 'of this instance' },
    state: { type: 'string', value: '<state>', words: TASK_STATES, help: TASK_STATES.join(', ') },
    limit: { type: 'string', short: 'n', value: '<count>', help: 'how many (default: 100)' },
  },
  examples: [
    { line: 'holdfast tasks', what: 'all' },
    { line: 'holdfast tasks --activity charge --state waiting', what: 'of one activity' },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const filter = {
      ...(options.activity !== undefined && { activity: options.activity }),
      ...(options.tag !== undefined && { tag: options.tag }),
      ...(options.session !== undefined && { session: options.session }),
      ...(options.instance !== undefined && { instanceId: options.instance }),
      ...(options.state !== undefined && {
        state: wordValue(options.state, '--state', TASK_STATES),
      }),
    }
    const limit = countValue(options.limit ?? '100', '--limit')
    const next = await withClient(call, async (client) => {
      const found = new PagedList((page) => client.admin.tasks(filter, page), { limit })
      await printPages(terminal, format, found, TASK_LIST)
      return found.next
    })
    if (next !== undefined) terminal.note('there are more: choose another --limit')
  },
})

export const runtimes = command({
  name: 'runtimes',
  summary: 'list the processes that run workflows, and those that died',
  details: 'TASKS counts only activities that are tasks (see `holdfast tasks`).',
  args: [],
  options: {},
  examples: [{ line: 'holdfast runtimes', what: 'with what each of them owns' }],
  run: async (call) => {
    const { terminal, format } = call
    const found = await withClient(call, (client) => client.admin.runtimes())
    printList(terminal, format, found, {
      columns: [
        { title: 'ID', value: ({ id }) => String(id) },
        {
          title: 'STATE',
          value: ({ state }) => state,
          style: ({ state }) => (state === 'alive' ? 'green' : state === 'dead' ? 'dim' : 'yellow'),
        },
        { title: 'HOST', value: ({ host }) => host },
        { title: 'PID', value: ({ pid }) => String(pid) },
        { title: 'VERSION', value: ({ version }) => version },
        { title: 'STARTED', value: ({ startedAt }) => timeText(startedAt) },
        { title: 'INSTANCES', value: ({ instances }) => String(instances) },
        { title: 'TASKS', value: (runtime) => String(runtime.tasks) },
        {
          title: 'WORKFLOWS',
          value: (runtime) => runtime.workflows.map(({ name }) => name).join(' '),
          shrinks: true,
        },
      ],
      id: ({ id }) => String(id),
      none: 'no runtime is running',
    })
  },
})
