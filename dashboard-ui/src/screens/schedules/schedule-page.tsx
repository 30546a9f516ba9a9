import { useMemo, useState } from 'preact/hooks'

import type { InstanceItem, ScheduleAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { useLive } from '../../api/live.ts'
import { formatCount } from '../../format/number.ts'
import { formatAbsolute } from '../../format/time.ts'
import { hrefOf } from '../../routing/router.ts'
import { Ago, now } from '../../ui/clock.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Details } from '../../ui/details.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Back, Figure, Page, Section } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { INSTANCE_COLUMNS, instanceHref } from '../instances/columns.tsx'
import { CalendarGrid, CalendarLegend, describeCell } from './calendar-grid.tsx'
import { type Cell, calendarOf } from './calendar.ts'
import { ScheduleActions } from './schedule-actions.tsx'
import { formatInterval, inZone, stateOf, whenOf } from './when.ts'

const RUNS = 500
const SHOWN = 25
const MINUTE = 60_000

/** One schedule: what comes, what was, and what can be done. */
export function SchedulePage({ name }: { name: string }) {
  const path = address('schedule', { name, limit: RUNS })
  const { data } = useLive<ScheduleAnswer>(path)
  return (
    <Page
      title={name}
      before={<Back to="schedules">Schedules</Back>}
      about={
        data && (
          <>
            <StatusMark of={stateOf(data.schedule)} /> · starts{' '}
            <a class="plain" href={runsHref(name)}>
              {data.schedule.workflow}
            </a>{' '}
            · <code>{whenOf(data.schedule)}</code>
          </>
        )
      }
      actions={data && <ScheduleActions schedule={data.schedule} />}
    >
      <Live<ScheduleAnswer> path={path} what={`The schedule ${name}`}>
        {(answer) => <Parts {...answer} />}
      </Live>
    </Page>
  )
}

/** All instances that it started, in the list of instances. */
function runsHref(name: string): string {
  return hrefOf(['instances'], new URLSearchParams({ label: `schedule=${name}` }))
}

function Parts({ schedule, runs: unsorted }: ScheduleAnswer) {
  const [chosen, setChosen] = useState<Cell<InstanceItem>>()
  const minute = Math.floor(now.value / MINUTE) * MINUTE
  const runs = useMemo(
    () => unsorted.toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt)),
    [unsorted],
  )
  const calendar = useMemo(
    () => calendarOf(runs, schedule.nextRuns.map(Date.parse), minute),
    [runs, schedule, minute],
  )
  const listed =
    chosen === undefined
      ? runs
      : runs.filter(({ createdAt }) => isWithin(Date.parse(createdAt), chosen))
  return (
    <>
      {schedule.lastError && (
        <div class="notice bad" role="alert">
          <h2>It could not be fired</h2>
          <p class="break">{schedule.lastError.message}</p>
          <p class="faint">
            Last tried <Ago at={schedule.lastError.at} />. It is tried again every minute, and when
            it is changed.
          </p>
        </div>
      )}
      <Figures schedule={schedule} />
      <div class="grid-2">
        <Section title="Runs" aside={runs.length === RUNS ? `the latest ${RUNS}` : undefined}>
          <CalendarGrid
            of={calendar}
            now={minute}
            chosen={chosen?.from}
            onChoose={(cell) => setChosen(cell.from === chosen?.from ? undefined : cell)}
          />
          <CalendarLegend />
        </Section>
        <Section title="Next runs">
          <NextRuns schedule={schedule} />
        </Section>
      </div>
      <Section
        title={chosen === undefined ? 'Latest runs' : describeCell({ ...chosen, runs: listed })}
        flush
        aside={
          chosen === undefined ? (
            <a class="plain" href={runsHref(schedule.name)}>
              All in the list of instances
            </a>
          ) : (
            <button type="button" class="link" onClick={() => setChosen(undefined)}>
              Show the latest
            </button>
          )
        }
      >
        {listed.length === 0 ? (
          <Empty
            title={chosen === undefined ? 'It has not started anything yet' : 'Nothing ran then'}
          >
            <p>Instances that ended are removed after the retention of their workflow.</p>
          </Empty>
        ) : (
          <DataTable
            label="Runs"
            rows={listed.slice(0, SHOWN)}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            hrefOf={instanceHref}
          />
        )}
      </Section>
    </>
  )
}

// The other columns would say the same in every row.
const COLUMNS = INSTANCE_COLUMNS.filter(({ head }) => head !== 'Workflow' && head !== 'Labels')

const isWithin = (at: number, { from, to }: { from: number; to: number }): boolean =>
  from <= at && at < to

function Figures({ schedule }: { schedule: ScheduleAnswer['schedule'] }) {
  const { nextRuns, lastRun, running, started, skipped, missed, paused } = schedule
  return (
    <dl class="figures">
      <Figure
        name="Next"
        value={paused ? 'paused' : <Ago at={nextRuns[0]} />}
        {...(paused && { tone: 'suspended' })}
      />
      <Figure
        name="Last"
        value={<Ago at={lastRun?.at} />}
        note={
          lastRun && (
            <a class="plain cut" href={instanceHref({ id: lastRun.instanceId })}>
              {lastRun.instanceId}
            </a>
          )
        }
      />
      <Figure name="Running" value={formatCount(running.length)} note="started and not ended" />
      <Figure name="Started" value={formatCount(started)} note="in all" />
      <Figure
        name="Skipped"
        value={formatCount(skipped.count)}
        note={skipped.last === undefined ? 'an earlier one ran' : <Ago at={skipped.last} />}
      />
      <Figure
        name="Missed"
        value={formatCount(missed.count)}
        note={missed.last === undefined ? 'too late to start' : <Ago at={missed.last} />}
        {...(missed.count > 0 && { tone: 'suspended' })}
      />
    </dl>
  )
}

function NextRuns({ schedule }: { schedule: ScheduleAnswer['schedule'] }) {
  const { nextRuns, timezone, overlap, catchUp, version, updatedAt } = schedule
  return (
    <div class="next-runs">
      {nextRuns.length === 0 ? (
        <p class="faint">None while it is paused: resume it to continue with the next due time.</p>
      ) : (
        <ol class="num">
          {nextRuns.map((at) => (
            <li key={at}>
              <time dateTime={at} title={formatAbsolute(Date.parse(at))}>
                {inZone(Date.parse(at), timezone ?? 'UTC')}
              </time>
              <span class="faint">
                <Ago at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
      <Details
        of={[
          ['Time zone', timezone ?? 'UTC'],
          ['While one runs', OVERLAPS[overlap ?? 'skip']],
          ['Catches up', typeof catchUp === 'number' ? formatInterval(catchUp) : catchUp],
          ['Version', version ?? 'the latest'],
          ['Changed', <Ago key="changed" at={updatedAt} />],
        ]}
      />
    </div>
  )
}

const OVERLAPS = {
  skip: 'skip: the due time is left out',
  queue: 'queue: starts when it has ended',
  allow: 'allow: starts at once',
} as const
