import type { Filter, Status } from '../../../index.ts'
import type { OptionSpec, Values } from '../../args/command.ts'
import { idValue, labelValues, timeValue, wordValue } from '../../input/values.ts'

/** The states that an instance can be in. */
export const STATUSES = [
  'scheduled',
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
  'terminated',
] as const satisfies readonly Status[]

/** Options that say which instances are meant. */
export const FILTER_OPTIONS = {
  workflow: { type: 'string', value: '<name>', help: 'of this workflow' },
  'workflow-version': { type: 'string', value: '<version>', help: 'of this version of it' },
  status: {
    type: 'string',
    multiple: true,
    value: '<status>',
    words: STATUSES,
    help: `${STATUSES.join(', ')}; several with commas`,
  },
  label: { type: 'string', multiple: true, value: '<name>=<value>', help: 'with this label' },
  'id-prefix': { type: 'string', value: '<text>', help: 'whose id begins with this text' },
  parent: { type: 'string', value: '<id>', help: 'children of this instance' },
  'created-after': { type: 'string', value: '<time>', help: 'a date, or an age such as 2h' },
  'created-before': { type: 'string', value: '<time>', help: 'a date, or an age such as 2h' },
  'finished-after': { type: 'string', value: '<time>', help: 'a date, or an age such as 2h' },
  'finished-before': { type: 'string', value: '<time>', help: 'a date, or an age such as 2h' },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** The filter that options describe. */
export function filterOf(options: Values<typeof FILTER_OPTIONS>): Filter {
  const statuses = options.status
    .flatMap((text) => text.split(','))
    .map((text) => wordValue(text.trim(), '--status', STATUSES))
  const labels = labelValues(options.label)
  const time = (name: 'created-after' | 'created-before' | 'finished-after' | 'finished-before') =>
    options[name] === undefined ? undefined : timeValue(options[name], `--${name}`)
  const id = (name: 'workflow' | 'parent' | 'id-prefix') =>
    options[name] === undefined ? undefined : idValue(options[name], `--${name}`)
  const given: { [Name in keyof Filter]: Filter[Name] | undefined } = {
    workflow: id('workflow'),
    version: options['workflow-version'],
    status: statuses.length === 0 ? undefined : statuses,
    labels,
    createdAfter: time('created-after'),
    createdBefore: time('created-before'),
    finishedAfter: time('finished-after'),
    finishedBefore: time('finished-before'),
    parentId: id('parent'),
    idPrefix: id('id-prefix'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Whether any option of a filter was given. */
export function isFiltered(filter: Filter): boolean {
  return Object.keys(filter).length > 0
}
