import type { RuntimesAnswer } from '../../../../src/dashboard/api.ts'
import { formatCount, plural } from '../../format/number.ts'
import { hrefOf, place } from '../../routing/router.ts'
import { Chip } from '../../ui/chip.tsx'
import { Ago } from '../../ui/clock.tsx'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Figure, Page } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { RuntimeDetails } from './runtime-details.tsx'
import { Workers } from './workers.tsx'

type Runtime = RuntimesAnswer['items'][number]

/** The address of a runtime. */
export function runtimeHref({ id }: { readonly id: number }): string {
  return hrefOf(['runtimes'], new URLSearchParams({ id: String(id) }))
}

/** The processes that run workflows, what each of them serves, and the workers of the one that serves this. */
export function RuntimesScreen() {
  const chosen = Number(place.value.query.get('id') ?? Number.NaN)
  return (
    <Page
      title="Runtimes"
      about="Processes that run workflows of this store, and those that died in the last days"
    >
      <Live<RuntimesAnswer> path="runtimes" what="Runtimes">
        {({ items, here }, busy) => {
          const shown = items.find(({ id }) => id === chosen)
          return (
            <>
              {items.length === 0 ? (
                <NoRuntimes />
              ) : (
                <>
                  <Figures items={items} />
                  <div class="card flush">
                    <RuntimeTable items={items} busy={busy} />
                  </div>
                </>
              )}
              {shown && <RuntimeDetails key={shown.id} of={shown} />}
              <Workers here={here} />
            </>
          )
        }}
      </Live>
    </Page>
  )
}

function NoRuntimes() {
  return (
    <Empty title="No runtime is registered">
      <p>Nothing of this store runs until one is. Open one in your program:</p>
      <pre>{`await using holdfast = await open('file:app.db', { register: [order, charge] })`}</pre>
      <p>
        or run a module that exports workflows: <code>holdfast start ./workflows.js</code>
      </p>
    </Empty>
  )
}

function Figures({ items }: { items: readonly Runtime[] }) {
  const count = (state: Runtime['state']): number =>
    items.filter((one) => one.state === state).length
  const live = items.filter(({ state }) => state === 'alive')
  const [silent, dead] = [count('silent'), count('dead')]
  return (
    <dl class="figures">
      <Figure
        name="Alive"
        value={formatCount(live.length)}
        note={plural(new Set(live.map(({ host }) => host)).size, 'host')}
        {...(live.length === 0 && { tone: 'failed' })}
      />
      <Figure
        name="Silent"
        value={formatCount(silent)}
        note={silent === 0 ? 'all leases are renewed' : 'the lease has expired'}
        {...(silent > 0 && { tone: 'suspended' })}
      />
      <Figure name="Died" value={formatCount(dead)} note="others took over what they owned" />
      <Figure
        name="Instances"
        value={formatCount(live.reduce((sum, { instances }) => sum + instances, 0))}
        note="owned, in memory"
      />
      <Figure name="Tasks" value={formatCount(live.reduce((sum, { tasks }) => sum + tasks, 0))} />
    </dl>
  )
}

function RuntimeTable(props: { items: readonly Runtime[]; busy: boolean }) {
  return (
    <DataTable
      label="Runtimes"
      rows={props.items}
      keyOf={({ id }) => String(id)}
      hrefOf={runtimeHref}
      busy={props.busy}
      columns={[
        { head: 'State', kind: 'fit', cell: ({ state }) => <StatusMark of={state} /> },
        {
          head: 'Runtime',
          kind: 'fit',
          narrow: 'title',
          cell: (runtime) => (
            <a href={runtimeHref(runtime)} tabIndex={-1}>
              <strong class="num">{runtime.id}</strong>{' '}
              <span class="faint mono">
                {runtime.host} · {runtime.pid}
              </span>
            </a>
          ),
        },
        {
          head: 'Serves',
          kind: 'grow',
          cell: ({ workflows, activities, tags }) => (
            <span class="chips">
              {workflows.length + activities.length === 0 ? (
                <span class="faint">no workflow and no activity</span>
              ) : (
                `${plural(workflows.length, 'workflow')}, ${plural(activities.length, 'activity', 'activities')}`
              )}
              {tags.map((tag) => (
                <Chip key={tag} text={tag === '*' ? 'any tag' : `tag ${tag}`} />
              ))}
            </span>
          ),
        },
        { head: 'Instances', kind: 'end', cell: ({ instances }) => <Count n={instances} /> },
        { head: 'Tasks', kind: 'end', cell: ({ tasks }) => <Count n={tasks} /> },
        { head: 'Version', kind: 'end', narrow: 'drop', cell: ({ version }) => version },
        { head: 'Started', kind: 'end', cell: ({ startedAt }) => <Ago at={startedAt} /> },
        { head: 'Lease ends', kind: 'end', cell: ({ leaseUntil }) => <Ago at={leaseUntil} /> },
      ]}
    />
  )
}
