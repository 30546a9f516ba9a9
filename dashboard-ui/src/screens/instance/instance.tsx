import { useEffect, useMemo, useState } from 'preact/hooks'

import type { InstanceAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { useLive } from '../../api/live.ts'
import { useShortcuts } from '../../keyboard/shortcuts.ts'
import { hrefOf, place, setQuery } from '../../routing/router.ts'
import { asOf as foldTo } from '../../timeline/as-of.ts'
import { CopyButton } from '../../ui/button.tsx'
import { now } from '../../ui/clock.tsx'
import { Empty, Failure, Loading } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { InstanceActions } from './actions.tsx'
import { EventDetail } from './detail.tsx'
import { Facts, Matters } from './facts.tsx'
import { HistoryList } from './history-list.tsx'
import { Scrubber } from './scrubber.tsx'
import { ResultTab, StateTab, TasksTab, TreeTab } from './tabs.tsx'
import { type LoadedHistory, useHistory } from './use-history.ts'
import { Waterfall } from './waterfall.tsx'

const TABS = ['timeline', 'history', 'state', 'result', 'tree', 'tasks'] as const
const NAMES = {
  timeline: 'Timeline',
  history: 'History',
  state: 'State',
  result: 'Result',
  tree: 'Tree',
  tasks: 'Tasks',
} as const
type Tab = (typeof TABS)[number]

/** One instance: what it did, what it waits for, and what it was after any of its events. */
export function InstanceScreen() {
  const id = place.value.query.get('id') ?? ''
  const { data, error } = useLive<InstanceAnswer>(address('instance', { id }))
  if (error !== undefined && data === undefined) {
    return (
      <Page title={id}>
        {error.code === 'not_found' ? (
          <Empty title="There is no instance with this id">
            <p>
              It was never started in this store, or it ended and was removed after its retention.{' '}
              <a href={hrefOf(['instances'], new URLSearchParams({ id }))}>
                Search for ids like it
              </a>
            </p>
          </Empty>
        ) : (
          <Failure error={error} what="The instance" />
        )}
      </Page>
    )
  }
  if (data === undefined) {
    return (
      <Page title={id}>
        <Loading />
      </Page>
    )
  }
  return <Shown key={id} answer={data} />
}

function Shown({ answer }: { answer: InstanceAnswer }) {
  const { instance, executions } = answer
  const { query } = place.value
  const execution = Math.max(1, wholeNumber(query.get('execution')) ?? instance.execution)
  const known = executions.find((one) => one.execution === execution)?.events ?? 0
  const history = useHistory(instance.id, execution, known)
  const [seq, setChosen] = useCursor(execution, history)
  const tab = TABS.find((one) => one === query.get('tab')) ?? 'timeline'
  return (
    <Page
      title={instance.id}
      wide
      about={
        <>
          <StatusMark of={instance.status} soft /> <CopyButton text={instance.id} what="the id" />
        </>
      }
      actions={
        <InstanceActions
          instance={instance}
          execution={execution}
          seq={seq ?? history.events.length}
        />
      }
    >
      <Facts {...answer} />
      <Matters instance={instance} />
      <div class="card flush">
        <TabBar
          tab={tab}
          tasks={answer.tasks.length}
          executions={executions}
          execution={execution}
        />
        <div role="tabpanel" aria-label={NAMES[tab]}>
          {tab === 'tree' && <TreeTab id={instance.id} />}
          {tab === 'tasks' && <TasksTab tasks={answer.tasks} />}
          {tab === 'result' && <ResultTab id={instance.id} instance={instance} />}
          {(tab === 'timeline' || tab === 'history' || tab === 'state') && (
            <Past
              answer={answer}
              execution={execution}
              history={history}
              seq={seq ?? history.events.length}
              isLatest={seq === undefined}
              tab={tab}
              onMove={setChosen}
            />
          )}
        </div>
      </div>
    </Page>
  )
}

const ADDRESS_MS = 400

/**
 * The chosen event of an execution, at first that of the address; `undefined` for the latest. The address
 * follows once it has stayed for a moment: browsers limit how often.
 */
function useCursor(
  execution: number,
  { events, loading }: LoadedHistory,
): [number | undefined, (seq: number | undefined) => void] {
  const inAddress = wholeNumber(place.value.query.get('event'))
  const [kept, setKept] = useState({ execution, seq: inAddress })
  const given = kept.execution === execution ? kept.seq : inAddress
  const last = loading ? Infinity : events.length
  const chosen = given === undefined ? undefined : Math.max(1, Math.min(given, last))
  useEffect(() => {
    if (kept.execution !== execution) setKept({ execution, seq: inAddress })
    const timer = setTimeout(() => {
      const wanted = chosen === undefined ? null : String(chosen)
      if (place.peek().query.get('event') === wanted) return
      setQuery((to) => {
        if (wanted === null) to.delete('event')
        else to.set('event', wanted)
      }, 'replace')
    }, ADDRESS_MS)
    return () => clearTimeout(timer)
  }, [chosen, execution])
  return [chosen, (seq) => setKept({ execution, seq })]
}

/** Whatever else an address has is nobody's event or execution. */
function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** The tabs that follow the scrubber. */
function Past(props: {
  answer: InstanceAnswer
  execution: number
  history: LoadedHistory
  seq: number
  isLatest: boolean
  tab: Tab
  onMove: (seq: number | undefined) => void
}) {
  const { answer, history, seq, isLatest, tab, onMove } = props
  const { events, spans } = history
  const asOf = useMemo(() => foldTo(events, spans, seq), [events, spans, seq])
  const to = (next: number): void => onMove(next >= events.length ? undefined : Math.max(1, next))
  useShortcuts('Instance', [
    { keys: '[', what: 'Event before', run: () => to(seq - 1) },
    { keys: ']', what: 'Event after', run: () => to(seq + 1) },
    { keys: 'Escape', what: 'Latest event', run: () => onMove(undefined) },
  ])
  if (history.error !== undefined) {
    return <Failure error={history.error} what="The history" onRetry={history.retry} />
  }
  if (events.length === 0) return history.loading ? <Loading /> : <NotBegun />
  const shared = { events, seq, isLatest, onMove }
  const span = asOf && spans.find(({ command }) => command === asOf.event.data['command'])
  const finished = answer.executions.find((one) => one.execution === props.execution)?.finishedAt
  // Without an end, the axis grows; every five seconds is enough.
  const until = finished === undefined ? Math.ceil(now.value / 5000) * 5000 : Date.parse(finished)
  return (
    <>
      <Scrubber
        count={events.length}
        seq={seq}
        isLatest={isLatest}
        asOf={asOf}
        startedAt={events[0]!.at}
        onMove={onMove}
      />
      {history.loading && <p class="loading-more faint">Reading more events…</p>}
      <div class={`past ${isLatest ? '' : 'with-detail'}`}>
        {tab === 'timeline' && <Waterfall {...shared} spans={spans} until={until} />}
        {tab === 'history' && <HistoryList {...shared} />}
        {tab === 'state' && <StateTab asOf={asOf} isLatest={isLatest} />}
        {!isLatest && asOf !== undefined && (
          <EventDetail
            id={answer.instance.id}
            execution={props.execution}
            event={asOf.event}
            span={span}
          />
        )}
      </div>
    </>
  )
}

function NotBegun() {
  return (
    <Empty title="It has not begun">
      <p>
        No runtime has taken it up yet: it waits for its time, for a limit, or for a runtime with
        its code.
      </p>
    </Empty>
  )
}

/** Arrow keys lead to the tab beside, as its role promises. */
function moveTab({ key, currentTarget, target }: preact.TargetedKeyboardEvent<HTMLElement>): void {
  const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  const tabs = [...currentTarget.querySelectorAll('button')]
  const next = tabs.at((tabs.indexOf(target as HTMLButtonElement) + step) % tabs.length)
  next?.focus()
  next?.click()
}

function TabBar(props: {
  tab: Tab
  tasks: number
  executions: InstanceAnswer['executions']
  execution: number
}) {
  return (
    <div class="tab-bar">
      <div class="tabs" role="tablist" aria-label="Views of the instance" onKeyDown={moveTab}>
        {TABS.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            aria-selected={tab === props.tab}
            tabIndex={tab === props.tab ? 0 : -1}
            onClick={() => setQuery((to) => to.set('tab', tab), 'replace')}
          >
            {NAMES[tab]}
            {tab === 'tasks' && props.tasks > 0 && <span class="badge">{props.tasks}</span>}
          </button>
        ))}
      </div>
      {props.executions.length > 1 && (
        <select
          aria-label="Execution"
          value={String(props.execution)}
          onChange={({ currentTarget }) =>
            setQuery((to) => {
              to.set('execution', currentTarget.value)
              to.delete('event')
            })
          }
        >
          {props.executions.map(({ execution, status }) => (
            <option key={execution} value={execution}>
              Execution {execution}, {status}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}
