import type { InstanceInfo, Status } from '../../../index.ts'
import { toJson } from '../../output/plain-json.ts'
import type { ListView } from '../../output/print.ts'
import type { Style } from '../../output/terminal.ts'
import { ageOf } from '../../output/times.ts'

const STYLES: Readonly<Record<Status, Style>> = {
  scheduled: 'dim',
  running: 'cyan',
  suspended: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
  terminated: 'red',
}

/** The colour of a status. */
export function statusStyle({ status }: { readonly status: Status }): Style {
  return STYLES[status]
}

/** How instances are listed. */
export const INSTANCE_LIST: ListView<InstanceInfo> = {
  columns: [
    { title: 'ID', value: ({ id }) => id },
    { title: 'WORKFLOW', value: ({ workflow }) => workflow },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'STATUS', value: ({ status }) => status, style: statusStyle },
    { title: 'AGE', value: ({ createdAt }) => ageOf(createdAt) },
    { title: 'LABELS', value: ({ labels }) => labelText(labels), shrinks: true },
    { title: 'DETAIL', value: detailOf, shrinks: true },
  ],
  id: ({ id }) => id,
  none: 'no instances',
}

/** Labels in one line. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

/** The most useful detail of an instance: its error, what it waits for, or its progress. */
export function detailOf({ error, waitingFor, progress }: InstanceInfo): string {
  if (error !== undefined) return `${error.name}: ${error.message}`
  if (waitingFor.length > 0) return waitingFor.join('; ')
  return progress === undefined ? '' : toJson(progress)
}
