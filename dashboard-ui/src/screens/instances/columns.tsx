import type { InstanceItem } from '../../../../src/dashboard/api.ts'
import { preview } from '../../format/shown.ts'
import { hrefOf } from '../../routing/router.ts'
import { Chip } from '../../ui/chip.tsx'
import { Ago, Took } from '../../ui/clock.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { reasonOfPause } from '../errors/message.ts'

/** The address of an instance. */
export function instanceHref({ id }: { readonly id: string }): string {
  return hrefOf(['instance'], new URLSearchParams({ id }))
}

/** The id as a link. */
export function InstanceLink({ id }: { id: string }) {
  return (
    <a class="mono cut" href={instanceHref({ id })} tabIndex={-1} title={id}>
      {id}
    </a>
  )
}

/** What matters about an instance now: its error, what it waits for, or its progress. */
function Matter({ of }: { of: InstanceItem }) {
  if (of.error !== undefined) {
    const reason = of.status === 'suspended' ? reasonOfPause(of.error) : undefined
    const text =
      reason === undefined ? `${of.error.name}: ${of.error.message}` : reason || 'no reason given'
    return (
      <span class="cut" title={text}>
        {text}
      </span>
    )
  }
  const text =
    of.waitingFor[0] ?? (of.progress === undefined ? '' : preview(of.progress.shown, 160))
  if (text === '') return null
  return (
    <span class="cut faint" title={text}>
      {text}
    </span>
  )
}

export const INSTANCE_COLUMNS: readonly Column<InstanceItem>[] = [
  { head: 'Status', kind: 'fit', cell: ({ status }) => <StatusMark of={status} /> },
  { head: 'Instance', narrow: 'title', cell: ({ id }) => <InstanceLink id={id} /> },
  {
    head: 'Workflow',
    cell: ({ workflow, version }) => (
      <span class="cut">
        {workflow}
        {version !== '' && <span class="faint"> {version}</span>}
      </span>
    ),
  },
  { head: 'Detail', kind: 'grow', cell: (item) => <Matter of={item} /> },
  {
    head: 'Labels',
    narrow: 'wide',
    cell: ({ labels }) => (
      <span class="chips one-line">
        {Object.entries(labels)
          .slice(0, 3)
          .map(([name, value]) => (
            <Chip key={name} text={`${name}=${value}`} />
          ))}
      </span>
    ),
  },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  {
    head: 'Took',
    kind: 'end',
    cell: ({ createdAt, finishedAt }) => <Took from={createdAt} to={finishedAt} />,
  },
]
