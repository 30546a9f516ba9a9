import { useEffect } from 'preact/hooks'

import type { Access, Meta } from '../../src/dashboard/api.ts'
import { paused, refresh, useLive } from './api/live.ts'
import { isLocked, MetaContext, wholeMeta } from './api/meta.ts'
import { moveRows, useShortcuts } from './keyboard/shortcuts.ts'
import { go, hrefOf, screen } from './routing/router.ts'
import { ErrorsScreen } from './screens/errors/errors.tsx'
import { InstanceScreen } from './screens/instance/instance.tsx'
import { BulkChanges } from './screens/instances/bulk-changes.tsx'
import { InstancesScreen } from './screens/instances/instances.tsx'
import { OutboxScreen } from './screens/outbox/outbox.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { QueuesScreen } from './screens/queues/queues.tsx'
import { RuntimesScreen } from './screens/runtimes/runtimes.tsx'
import { SchedulesScreen } from './screens/schedules/schedules.tsx'
import { TasksScreen } from './screens/tasks/tasks.tsx'
import { WorkflowsScreen } from './screens/workflows/workflows.tsx'
import { setServerTime } from './ui/clock.tsx'
import { Questions } from './ui/dialog.tsx'
import { EnterToken } from './ui/enter-token.tsx'
import { Help, helpIsOpen } from './ui/help.tsx'
import { Empty } from './ui/notice.tsx'
import { Page } from './ui/page.tsx'
import { DESTINATIONS, Side } from './ui/shell.tsx'
import { toggleTheme } from './ui/theme.ts'
import { Toasts } from './ui/toast.tsx'

const SCREENS: Readonly<Record<string, () => preact.ComponentChild>> = {
  '': InstancesScreen,
  instances: InstancesScreen,
  instance: InstanceScreen,
  overview: OverviewScreen,
  workflows: WorkflowsScreen,
  tasks: TasksScreen,
  runtimes: RuntimesScreen,
  schedules: SchedulesScreen,
  outbox: OutboxScreen,
  queues: QueuesScreen,
  errors: ErrorsScreen,
}

export function App() {
  const { data: access } = useLive<Access | Meta>('meta')
  const meta = wholeMeta(access)
  useEffect(() => {
    if (meta !== undefined) setServerTime(meta.at)
  }, [meta])
  useShortcuts('Everywhere', EVERYWHERE)
  const Screen = SCREENS[screen.value] ?? Unknown
  return (
    <MetaContext.Provider value={meta}>
      <a class="skip" href="#main">
        To the content
      </a>
      <Side access={access} version={meta?.version} />
      <main id="main" tabIndex={-1}>
        {access !== undefined && isLocked(access) ? (
          <Locked />
        ) : (
          <>
            <BulkChanges />
            <Screen key={screen.value} />
          </>
        )}
      </main>
      <Questions />
      <Help />
      <Toasts />
    </MetaContext.Provider>
  )
}

const EVERYWHERE = [
  { keys: '?', what: 'This overview', run: () => (helpIsOpen.value = true) },
  {
    keys: '/',
    what: 'Search',
    run: () => document.querySelector<HTMLElement>('main input[type=search]')?.focus(),
  },
  { keys: 'j', what: 'Next row', run: () => moveRows(1) },
  { keys: 'k', what: 'Previous row', run: () => moveRows(-1) },
  { keys: 'p', what: 'Stop or go on updating', run: () => (paused.value = !paused.value) },
  { keys: 'u', what: 'Update now', run: refresh },
  { keys: 'd', what: 'Dark or light', run: toggleTheme },
  ...DESTINATIONS.flatMap(({ items }) =>
    items.map(({ key, name, path }) => ({
      keys: `g ${key}`,
      what: name,
      run: () => go(hrefOf([path])),
    })),
  ),
]

function Locked() {
  return (
    <Page title="Holdfast">
      <Empty title="This dashboard needs its token">
        <p>Enter it, or open the address that ends with #token=… once more.</p>
        <EnterToken />
      </Empty>
    </Page>
  )
}

function Unknown() {
  return (
    <Page title="No such screen">
      <Empty title="There is no screen at this address">
        <p>
          The <a href={hrefOf(['instances'])}>list of instances</a> is a good place to begin.
        </p>
      </Empty>
    </Page>
  )
}
