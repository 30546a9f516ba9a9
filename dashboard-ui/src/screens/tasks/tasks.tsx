import type { TasksAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { formatCount, plural } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import { hrefOf, place, setQuery } from '../../routing/router.ts'
import { Chip } from '../../ui/chip.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Figure, Page, Section } from '../../ui/page.tsx'
import { Paging } from '../../ui/paging.tsx'
import { Removable } from '../../ui/removable.tsx'
import { Live } from '../../ui/resource.tsx'
import { SplitBar } from '../../ui/split-bar.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { Toggles } from '../../ui/toggles.tsx'
import { SessionTable } from './session-table.tsx'
import { sessionsOf } from './sessions.ts'
import { TaskTable } from './task-table.tsx'

const FIELDS = ['activity', 'tag', 'session', 'instanceId'] as const
const STATES = ['waiting', 'delayed', 'running'] as const
type State = (typeof STATES)[number]

/** Activities that wait for a runtime or run in one, with the sessions that tie them together. */
export function TasksScreen() {
  const { query } = place.value
  const filter = Object.fromEntries(
    [...FIELDS, 'state', 'after'].map((name) => [name, query.get(name) ?? undefined]),
  )
  const isNarrow = [...FIELDS, 'state'].some((name) => query.has(name))
  return (
    <Page
      title="Tasks"
      about="Activities that any runtime with the code may take: they wait for one, for their time, or run"
    >
      <Filter state={filter['state'] as State | undefined} isNarrow={isNarrow} />
      <Live<TasksAnswer> path={address('tasks', { ...filter, limit: 100 })} what="Tasks">
        {(answer, busy) => {
          const sessions = sessionsOf(answer.items)
          return (
            <>
              {!isNarrow && answer.totals.length > 0 && <Totals totals={answer.totals} />}
              {sessions.length > 0 && <SessionTable rows={sessions} />}
              {answer.items.length === 0 ? (
                <NoTasks isNarrow={isNarrow} />
              ) : (
                <Section title="Tasks" flush aside={plural(answer.items.length, 'task')}>
                  <TaskTable items={answer.items} busy={busy} />
                  <Paging next={answer.next} shown={plural(answer.items.length, 'task')} />
                </Section>
              )}
            </>
          )
        }}
      </Live>
    </Page>
  )
}

function Filter({ state, isNarrow }: { state: State | undefined; isNarrow: boolean }) {
  const { query } = place.value
  return (
    <div class="filters" role="search" aria-label="Filter tasks">
      <Toggles
        label="State"
        choices={STATES.map((value) => ({ value, name: <StatusMark of={value} /> }))}
        chosen={state}
        onChoose={(value) =>
          setQuery((to) => {
            to.delete('after')
            if (state === value) to.delete('state')
            else to.set('state', value)
          })
        }
      />
      {FIELDS.filter((name) => query.has(name)).map((name) => (
        <Removable
          key={name}
          text={`${name === 'instanceId' ? 'instance' : name} ${query.get(name)}`}
          onRemove={() =>
            setQuery((to) => {
              to.delete(name)
              to.delete('after')
            })
          }
        />
      ))}
      {isNarrow && (
        <a class="plain" href={hrefOf(['tasks'])}>
          Show all
        </a>
      )}
    </div>
  )
}

function NoTasks({ isNarrow }: { isNarrow: boolean }) {
  return (
    <Empty title={isNarrow ? 'No task matches this filter' : 'No activity waits for a runtime'}>
      <p>
        The owner of an instance runs its activities itself. They become tasks when a tag or a
        session asks for another runtime, or when the owner has no free slot:
      </p>
      <pre>{`const render = activity('render', { tag: 'gpu' }, async (scene: string) => …)
await ctx.run(cut, video, { session: \`video \${ctx.info.id}\` })`}</pre>
    </Empty>
  )
}

function Totals({ totals }: { totals: TasksAnswer['totals'] }) {
  const sum = (state: State): number => totals.reduce((all, one) => all + one[state], 0)
  const oldest = Math.max(0, ...totals.map(({ oldestMs }) => oldestMs))
  const most = Math.max(1, ...totals.map((one) => one.waiting + one.delayed + one.running))
  return (
    <>
      <dl class="figures">
        <Figure name="Waiting" value={formatCount(sum('waiting'))} note="could be taken now" />
        <Figure name="Delayed" value={formatCount(sum('delayed'))} note="wait for their time" />
        <Figure name="Running" value={formatCount(sum('running'))} note="in a runtime" />
        <Figure name="Oldest" value={formatDuration(oldest)} note="without a turn" />
      </dl>
      <Section title="By activity and tag" flush>
        <DataTable
          label="By activity and tag"
          rows={totals}
          keyOf={({ activity, tag }) => `${activity} ${tag}`}
          hrefOf={hrefTo}
          columns={[
            {
              head: 'Activity',
              narrow: 'title',
              cell: (row) => (
                <a class="strong cut" href={hrefTo(row)} tabIndex={-1}>
                  {row.activity}
                </a>
              ),
            },
            {
              head: 'Tag',
              cell: ({ tag }) =>
                tag === '' ? <span class="faint">none</span> : <Chip text={tag} />,
            },
            {
              head: 'Share',
              kind: 'grow',
              narrow: 'drop',
              cell: (row) => (
                <SplitBar
                  most={most}
                  parts={[
                    { name: 'waiting', tone: 'waiting', count: row.waiting },
                    { name: 'delayed', tone: 'suspended', count: row.delayed },
                    { name: 'running', tone: 'running', count: row.running },
                  ]}
                />
              ),
            },
            { head: 'Waiting', kind: 'end', cell: ({ waiting }) => <Count n={waiting} /> },
            { head: 'Delayed', kind: 'end', cell: ({ delayed }) => <Count n={delayed} /> },
            { head: 'Running', kind: 'end', cell: ({ running }) => <Count n={running} /> },
            { head: 'Oldest', kind: 'end', cell: ({ oldestMs }) => formatDuration(oldestMs) },
          ]}
        />
      </Section>
    </>
  )
}

function hrefTo({ activity, tag }: TasksAnswer['totals'][number]): string {
  return hrefOf(['tasks'], new URLSearchParams({ activity, ...(tag !== '' && { tag }) }))
}
