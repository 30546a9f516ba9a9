import type { WorkflowsAnswer } from '../../../../src/dashboard/api.ts'
import { formatCount, plural } from '../../format/number.ts'
import { hrefOf } from '../../routing/router.ts'
import { Count } from '../../ui/count.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Figure, Page, Section } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { SplitBar } from '../../ui/split-bar.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { UnservedTable } from './unserved.tsx'
import { type VersionRow, versionRows } from './versions.ts'

/** Workflows with their versions, what is in flight of each, and which runtimes serve them. */
export function WorkflowsScreen() {
  return (
    <Page
      title="Workflows"
      about="Versions that runtimes serve, and versions that unfinished instances still need"
    >
      <Live<WorkflowsAnswer> path="workflows" what="Workflows">
        {({ items, unserved }, busy) =>
          items.length === 0 ? (
            <Empty title="No runtime serves a workflow, and no instance is in flight">
              <p>A workflow appears here once a runtime has its code:</p>
              <pre>{`const hello = workflow('hello', async (name: string) => \`Hello, \${name}\`)
await using holdfast = await open('file:app.db', { register: hello })`}</pre>
              <p>
                or, for a module that exports workflows: <code>holdfast start ./workflows.js</code>
              </p>
            </Empty>
          ) : (
            <>
              <Figures items={items} unserved={unserved} />
              {unserved.length > 0 && <UnservedTable items={unserved} />}
              <Section title="Versions" flush aside={<Legend />}>
                <VersionTable rows={versionRows(items)} busy={busy} />
              </Section>
            </>
          )
        }
      </Live>
    </Page>
  )
}

function Figures({ items, unserved }: WorkflowsAnswer) {
  const rows = versionRows(items)
  const waiting = unserved.reduce((sum, one) => sum + one.waiting, 0)
  const draining = rows.filter(({ role }) => role === 'draining').length
  return (
    <dl class="figures">
      <Figure
        name="Workflows"
        value={formatCount(rows.filter(({ isFirst }) => isFirst).length)}
        note={plural(rows.length, 'version')}
      />
      <Figure
        name="In flight"
        value={formatCount(rows.reduce((sum, { inFlight }) => sum + inFlight, 0))}
        note="scheduled, running or suspended"
      />
      <Figure
        name="Draining"
        value={formatCount(draining)}
        note={draining === 0 ? 'no older version is needed' : 'older versions with instances'}
      />
      <Figure
        name="Without code"
        value={formatCount(waiting)}
        note={waiting === 0 ? 'everything is served' : 'wait for a runtime'}
        {...(waiting > 0 && { tone: 'suspended' })}
      />
    </dl>
  )
}

function Legend() {
  return (
    <span class="legend">
      {['scheduled', 'running', 'suspended'].map((status) => (
        <StatusMark key={status} of={status} />
      ))}
    </span>
  )
}

function hrefTo({ name, version }: VersionRow): string {
  const query = new URLSearchParams({ workflow: name, ...(version !== '' && { version }) })
  for (const status of ['scheduled', 'running', 'suspended']) query.append('status', status)
  return hrefOf(['instances'], query)
}

function VersionTable(props: { rows: readonly VersionRow[]; busy: boolean }) {
  const most = Math.max(1, ...props.rows.map(({ inFlight }) => inFlight))
  return (
    <DataTable
      label="Versions"
      rows={props.rows}
      keyOf={({ name, version }) => `${name} ${version}`}
      hrefOf={hrefTo}
      busy={props.busy}
      columns={[
        {
          head: 'Workflow',
          narrow: 'title',
          cell: (row) => (
            <a
              class={`cut ${row.isFirst ? 'strong' : 'repeated'}`}
              href={hrefTo(row)}
              tabIndex={-1}
            >
              {row.name}
            </a>
          ),
        },
        { head: 'Version', cell: (row) => <Version of={row} /> },
        {
          head: 'Served',
          cell: (row) =>
            row.servedBy > 0 ? (
              <a href={hrefOf(['runtimes'])} tabIndex={-1}>
                by {plural(row.servedBy, 'runtime')}
              </a>
            ) : (
              <StatusMark of="warning" text="by no runtime" />
            ),
        },
        {
          head: 'In flight',
          kind: 'grow',
          narrow: 'drop',
          cell: (row) => (
            <SplitBar
              most={most}
              parts={[
                { name: 'scheduled', tone: 'waiting', count: row.scheduled },
                { name: 'running', tone: 'running', count: row.running },
                { name: 'suspended', tone: 'suspended', count: row.suspended },
              ]}
            />
          ),
        },
        { head: 'Scheduled', kind: 'end', cell: ({ scheduled }) => <Count n={scheduled} /> },
        { head: 'Running', kind: 'end', cell: ({ running }) => <Count n={running} /> },
        { head: 'Suspended', kind: 'end', cell: ({ suspended }) => <Count n={suspended} /> },
      ]}
    />
  )
}

function Version({ of }: { of: VersionRow }) {
  if (of.role === 'waiting') {
    return (
      <span class="faint" title="No runtime has taken them up; they get the latest version then">
        not chosen yet
      </span>
    )
  }
  return (
    <span class="version">
      <span class="num">{of.version}</span>
      {of.role !== 'only' && <span class={`chip ${of.role}`}>{of.role}</span>}
    </span>
  )
}
