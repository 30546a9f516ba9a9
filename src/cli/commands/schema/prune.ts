import type { Filter } from '../../../index.ts'
import { command } from '../../args/command.ts'
import { CliError, EXIT } from '../../errors/cli-error.ts'
import { confirm } from '../../input/confirm.ts'
import { countValue, timeValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { withClient } from '../../store/with-client.ts'

export const prune = command({
  name: 'prune',
  summary: 'remove histories of earlier executions, and instances that ended long ago',
  details:
    'Without options it removes the histories of all executions but the latest, which results, state and\n' +
    'messages do not depend on. With --ended-before it also removes whole instances.',
  args: [],
  options: {
    'keep-executions': {
      type: 'string',
      value: '<count>',
      help: 'how many executions to keep of each instance (default: 1)',
    },
    'ended-before': {
      type: 'string',
      value: '<time>',
      help: 'also delete instances that ended before: a date, or an age such as 30d',
    },
    workflow: { type: 'string', value: '<name>', help: 'only of this workflow' },
    'dry-run': {
      type: 'boolean',
      help: 'say how many instances would be deleted, without histories, and do nothing',
    },
    yes: { type: 'boolean', short: 'y', help: 'do not ask' },
  },
  examples: [
    { line: 'holdfast prune --yes', what: 'histories of earlier executions' },
    { line: 'holdfast prune --ended-before 30d --dry-run', what: 'see how many would go' },
    { line: 'holdfast prune --ended-before 30d --workflow order --yes', what: 'and instances' },
  ],
  run: async (call) => {
    const { terminal, format, options, signal } = call
    const { workflow } = options
    const keep = countValue(options['keep-executions'] ?? '1', '--keep-executions')
    const ended = options['ended-before']
    const which: Filter = workflow === undefined ? {} : { workflow }
    const old: Filter | undefined =
      ended === undefined
        ? undefined
        : { ...which, finishedBefore: timeValue(ended, '--ended-before') }
    await withClient(call, async ({ admin }) => {
      const count = old === undefined ? 0 : await admin.count(old)
      if (options['dry-run']) {
        if (format === 'json') terminal.print(toJson({ instances: count }))
        else terminal.print(`would delete ${count} instances; histories are not counted`)
        return
      }
      const question =
        old === undefined
          ? 'Remove the histories of earlier executions?'
          : `Delete ${count} instances, and the histories of earlier executions?`
      if (!(await confirm(terminal, question, { yes: options.yes, signal }))) {
        throw new CliError('nothing was done', EXIT.failed)
      }
      const instances = old === undefined ? 0 : await admin.delete(old)
      const executions = await admin.prune({
        ...(workflow !== undefined && { which }),
        keepExecutions: keep,
      })
      if (format === 'json') terminal.print(toJson({ instances, executions }))
      else terminal.note(`removed ${instances} instances and ${executions} histories`)
    })
  },
})
