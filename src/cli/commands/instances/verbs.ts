import type { Status } from '../../../index.ts'
import { command } from '../../args/command.ts'
import { BULK_OPTIONS, IDS_ARGUMENT, runBulk } from './bulk.ts'

const UNFINISHED: readonly Status[] = ['scheduled', 'running', 'suspended']
const ENDED: readonly Status[] = ['completed', 'failed', 'cancelled', 'terminated']

const REASON = { type: 'string', value: '<text>', help: 'why, for the history' } as const

export const cancel = command({
  name: 'instances cancel',
  summary: 'request the cancellation of instances, which run their clean-up',
  args: [IDS_ARGUMENT],
  options: { ...BULK_OPTIONS, reason: REASON },
  examples: [
    { line: 'holdfast instances cancel approval-1 --reason "customer called"', what: 'one' },
    {
      line: 'holdfast instances cancel --workflow approval --created-before 1h --dry-run',
      what: 'see which instances a filter means',
    },
    {
      line: 'holdfast instances cancel --workflow approval --label region=eu --yes',
      what: 'all that match, without being asked',
    },
  ],
  run: (call) =>
    runBulk(call, {
      name: 'cancel',
      done: 'cancellation requested',
      obstacle: 'has ended',
      statuses: UNFINISHED,
      apply: (client, ids) => client.admin.cancel(ids, call.options.reason),
    }),
})

export const terminate = command({
  name: 'instances terminate',
  summary: 'end instances at once, without clean-up',
  args: [IDS_ARGUMENT],
  options: { ...BULK_OPTIONS, reason: REASON },
  examples: [
    { line: 'holdfast instances terminate approval-1', what: 'one' },
    {
      line: 'holdfast instances list --status suspended -o ids | holdfast instances terminate -',
      what: 'those on standard input',
    },
  ],
  run: (call) =>
    runBulk(call, {
      name: 'terminate',
      done: 'terminated',
      obstacle: 'has ended',
      statuses: UNFINISHED,
      apply: (client, ids) => client.admin.terminate(ids, call.options.reason),
    }),
})

export const suspend = command({
  name: 'instances suspend',
  summary: 'pause instances until they are resumed',
  args: [IDS_ARGUMENT],
  options: { ...BULK_OPTIONS, reason: REASON },
  examples: [
    {
      line: 'holdfast instances suspend approval-1 --reason "until the bank is back"',
      what: 'one',
    },
    { line: 'holdfast instances suspend --workflow approval --yes', what: 'all of a workflow' },
  ],
  run: (call) =>
    runBulk(call, {
      name: 'suspend',
      done: 'suspended',
      obstacle: 'has ended',
      statuses: UNFINISHED,
      apply: (client, ids) => client.admin.suspend(ids, call.options.reason),
    }),
})

export const resume = command({
  name: 'instances resume',
  summary: 'let suspended instances continue',
  args: [IDS_ARGUMENT],
  options: BULK_OPTIONS,
  examples: [
    { line: 'holdfast instances resume paused-1', what: 'one, for example after a fix' },
    { line: 'holdfast instances resume --all --yes', what: 'all that are suspended' },
  ],
  run: (call) =>
    runBulk(call, {
      name: 'resume',
      done: 'resumed',
      obstacle: 'is not suspended',
      statuses: ['suspended'],
      apply: (client, ids) => client.admin.resume(ids),
    }),
})

export const remove = command({
  name: 'instances delete',
  summary: 'remove instances that have ended, with their children',
  args: [IDS_ARGUMENT],
  options: {
    ...BULK_OPTIONS,
    force: { type: 'boolean', help: 'terminate first what has not ended' },
  },
  examples: [
    { line: 'holdfast instances delete order-7', what: 'one' },
    {
      line: 'holdfast instances delete --status completed --finished-before 30d --yes',
      what: 'what ended long ago',
    },
  ],
  run: (call) => {
    const { force } = call.options
    return runBulk(call, {
      name: 'delete',
      done: 'deleted',
      obstacle: force ? 'could not be removed' : 'has not ended, or has a parent that runs',
      statuses: force ? [...UNFINISHED, ...ENDED] : ENDED,
      removes: true,
      apply: (client, ids) => client.admin.delete(ids, { force }),
    })
  },
})
