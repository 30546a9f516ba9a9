import type { TasksAnswer } from '../../../../src/dashboard/api.ts'
import { formatCount, plural } from '../../format/number.ts'
import { Chip } from '../../ui/chip.tsx'
import { Ago } from '../../ui/clock.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { InstanceLink, instanceHref } from '../instances/columns.tsx'
import { runtimeHref } from '../runtimes/runtimes.tsx'

type Task = TasksAnswer['items'][number]

/** Tasks, also on the screen of an instance. */
export function TaskTable({ items, busy }: { items: readonly Task[]; busy: boolean }) {
  return (
    <DataTable
      label="Tasks"
      rows={items}
      keyOf={({ instanceId, activity, execution, attempt, session, tag }) =>
        [instanceId, execution, activity, attempt, session, tag].join(' ')
      }
      hrefOf={({ instanceId }) => instanceHref({ id: instanceId })}
      busy={busy}
      columns={[
        { head: 'State', kind: 'fit', cell: ({ state }) => <StatusMark of={state} /> },
        {
          head: 'Activity',
          narrow: 'title',
          cell: ({ activity }) => <span class="cut">{activity}</span>,
        },
        { head: 'Instance', cell: ({ instanceId }) => <InstanceLink id={instanceId} /> },
        { head: 'Tag and session', cell: (task) => <Route of={task} /> },
        {
          head: 'Last error',
          kind: 'grow',
          cell: ({ error, deaths }) => (
            <>
              {deaths > 0 && (
                <span class="bad">{plural(deaths, 'runtime')} died while running it. </span>
              )}
              {error && (
                <span class="clamp bad" title={`${error.name}: ${error.message}`}>
                  {error.name}: {error.message}
                </span>
              )}
            </>
          ),
        },
        { head: 'Attempt', kind: 'end', cell: ({ attempt }) => formatCount(attempt) },
        {
          head: 'Runtime',
          kind: 'end',
          cell: ({ runtime }) =>
            runtime === undefined ? (
              <span class="faint">–</span>
            ) : (
              <a href={runtimeHref({ id: runtime })} tabIndex={-1}>
                {runtime}
              </a>
            ),
        },
        {
          head: 'Since or next',
          kind: 'end',
          cell: ({ since, nextAt }) => <Ago at={since ?? nextAt} />,
        },
      ]}
    />
  )
}

function Route({ of: { tag, session, sessionRuntime } }: { of: Task }) {
  return (
    <span class="chips">
      {tag !== '' && <Chip text={`tag ${tag}`} />}
      {session !== '' && (
        <Chip
          text={`session ${session}${sessionRuntime === undefined ? '' : ` at ${sessionRuntime}`}`}
        />
      )}
    </span>
  )
}
