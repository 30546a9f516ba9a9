import type { DoctorAnswer, OverviewAnswer, Recent } from '../../../src/dashboard/api.ts'
import { useMeta } from '../api/meta.ts'
import { formatCount, formatRate, plural } from '../format/number.ts'
import { formatDuration } from '../format/time.ts'
import { hrefOf } from '../routing/router.ts'
import { Ago } from '../ui/clock.tsx'
import { Lines, StackedBars } from '../ui/chart.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Empty } from '../ui/notice.tsx'
import { Figure, Page, Section } from '../ui/page.tsx'
import { Live } from '../ui/resource.tsx'
import { StatusMark } from '../ui/status.tsx'
import { UnservedTable } from './workflows/unserved.tsx'

/** How much there is to do, how fast it is done, and what stands in the way. */
export function OverviewScreen() {
  const meta = useMeta()
  return (
    <Page
      title="Overview"
      about="What the latest instances did, the backlog, and the health of the database"
    >
      <Live<OverviewAnswer> path="overview?minutes=60" what="The overview">
        {(overview) => (
          <>
            <Figures {...overview} />
            <Charts recent={overview.recent} />
            {overview.unserved.length > 0 && <UnservedTable items={overview.unserved} />}
            <ByWorkflow recent={overview.recent} />
          </>
        )}
      </Live>
      {meta?.hasDoctor && <Health />}
    </Page>
  )
}

function Figures({ stats, runtimes, recent, outbox }: OverviewAnswer) {
  const count = (status: string): number =>
    stats.instances.reduce((sum, one) => sum + (one.status === status ? one.count : 0), 0)
  const ended = recent.buckets.reduce(
    (sum, one) => sum + one.completed + one.failed + one.stopped,
    0,
  )
  const seconds = Math.max(1, (Date.parse(recent.until) - Date.parse(recent.since)) / 1000)
  const tasks = stats.tasks.reduce((sum, one) => sum + one.waiting + one.delayed + one.running, 0)
  return (
    <dl class="figures">
      <Figure
        name="Ended"
        value={formatRate(ended / seconds)}
        note={`${formatCount(ended)} in ${formatDuration(seconds * 1000)}`}
      />
      <Figure name="Running" value={formatCount(count('running'))} />
      <Figure
        name="Scheduled"
        value={formatCount(count('scheduled'))}
        note={
          stats.oldestDueMs > 0
            ? `oldest due for ${formatDuration(stats.oldestDueMs)}`
            : 'none overdue'
        }
      />
      <Figure
        name="Suspended"
        value={formatCount(stats.suspended)}
        {...(stats.suspended > 0 && { tone: 'suspended' })}
        note={
          stats.suspended > 0 && (
            <a
              class="plain"
              href={hrefOf(['instances'], new URLSearchParams({ status: 'suspended' }))}
            >
              Show
            </a>
          )
        }
      />
      <Figure
        name="Failed"
        value={formatCount(count('failed'))}
        {...(count('failed') > 0 && { tone: 'failed' })}
        note={
          <>
            in the store,{' '}
            <a class="plain" href={hrefOf(['errors'])}>
              by error
            </a>
          </>
        }
      />
      <Figure
        name="Tasks"
        value={formatCount(tasks)}
        note={`${plural(stats.messages.waiting, 'message')} waiting`}
      />
      <Figure
        name="Runtimes"
        value={formatCount(runtimes.alive)}
        {...(runtimes.alive === 0 && { tone: 'failed' })}
        note={runtimes.silent > 0 ? `${runtimes.silent} silent` : 'alive'}
      />
      {outbox && (
        <Figure
          name="Outbox"
          value={formatCount(outbox.depth)}
          note={plural(outbox.dead, 'dead letter')}
          {...(outbox.dead > 0 && { tone: 'suspended' })}
        />
      )}
    </dl>
  )
}

function Charts({ recent }: { recent: Recent }) {
  const { buckets } = recent
  const at = buckets.map((one) => Date.parse(one.at))
  return (
    <div class="grid-2">
      <Section
        title="Throughput"
        aside={`instances that ended, each ${formatDuration(recent.bucketMs)}`}
      >
        <StackedBars
          label={`Throughput: ${buckets.reduce((sum, one) => sum + one.completed, 0)} completed`}
          at={at}
          format={formatCount}
          series={[
            { name: 'completed', tone: 'completed', values: buckets.map((one) => one.completed) },
            { name: 'failed', tone: 'failed', values: buckets.map((one) => one.failed) },
            { name: 'stopped', tone: 'ended', values: buckets.map((one) => one.stopped) },
          ]}
        />
      </Section>
      <Section title="Latency" aside="from creation to end">
        <Lines
          label="Median and 95th percentile of the time from creation to end"
          at={at}
          format={formatDuration}
          series={[
            { name: 'median', tone: 'running', values: buckets.map((one) => one.p50Ms) },
            { name: 'p95', tone: 'waiting', values: buckets.map((one) => one.p95Ms) },
          ]}
        />
      </Section>
    </div>
  )
}

function duration(ms: number | undefined): string {
  return ms === undefined ? '–' : formatDuration(ms)
}

function ByWorkflow({ recent }: { recent: Recent }) {
  if (recent.workflows.length === 0) {
    return (
      <Empty title="Nothing ran in the last hour">
        <p>Figures by workflow appear here as soon as instances start or end.</p>
      </Empty>
    )
  }
  return (
    <Section title="By workflow" flush aside={`the latest ${plural(recent.sample, 'instance')}`}>
      <DataTable
        label="By workflow"
        rows={recent.workflows}
        keyOf={({ workflow }) => workflow}
        hrefOf={({ workflow }) => hrefOf(['instances'], new URLSearchParams({ workflow }))}
        columns={[
          {
            head: 'Workflow',
            narrow: 'title',
            cell: ({ workflow }) => (
              <a href={hrefOf(['instances'], new URLSearchParams({ workflow }))} tabIndex={-1}>
                {workflow}
              </a>
            ),
          },
          { head: 'Started', kind: 'end', cell: ({ started }) => formatCount(started) },
          { head: 'Completed', kind: 'end', cell: ({ completed }) => formatCount(completed) },
          {
            head: 'Failed',
            kind: 'end',
            cell: ({ failed }) => (
              <span class={failed > 0 ? 'bad' : 'faint'}>{formatCount(failed)}</span>
            ),
          },
          { head: 'Median', kind: 'end', cell: ({ p50Ms }) => duration(p50Ms) },
          { head: 'p95', kind: 'end', cell: ({ p95Ms }) => duration(p95Ms) },
          { head: 'Longest', kind: 'end', narrow: 'drop', cell: ({ maxMs }) => duration(maxMs) },
        ]}
      />
    </Section>
  )
}

function Health() {
  return (
    <Section title="Database" flush>
      <Live<DoctorAnswer> path="doctor" what="The health of the database">
        {({ findings, at }) => (
          <>
            <DataTable
              label="Findings of doctor"
              rows={findings}
              keyOf={({ what, detail }) => `${what} ${detail}`}
              columns={[
                { head: 'Level', kind: 'fit', cell: ({ level }) => <StatusMark of={level} /> },
                { head: 'Examined', kind: 'fit', narrow: 'title', cell: ({ what }) => what },
                {
                  head: 'Finding',
                  kind: 'grow',
                  cell: ({ detail, fix }) => (
                    <>
                      <span class="break">{detail}</span>
                      {fix !== '' && <code class="fix break">{fix}</code>}
                    </>
                  ),
                },
              ]}
            />
            <p class="paging">
              <span>
                Examined <Ago at={at} />
              </span>
            </p>
          </>
        )}
      </Live>
    </Section>
  )
}
