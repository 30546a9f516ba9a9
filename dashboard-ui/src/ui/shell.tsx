import { useState } from 'preact/hooks'

import type { Access } from '../../../src/dashboard/api.ts'
import { connection, paused } from '../api/live.ts'
import { isLocked } from '../api/meta.ts'
import { token } from '../api/token.ts'
import { hrefOf, place, screen } from '../routing/router.ts'
import { Button } from './button.tsx'
import { EnterToken } from './enter-token.tsx'
import { helpIsOpen } from './help.tsx'
import { Icon, type IconName } from './icon.tsx'
import { isDark, theme, toggleTheme } from './theme.ts'

/** A screen, as the navigation shows it. */
export interface Destination {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  /** The second key of its shortcut, after `g`. */
  readonly key: string
}

/** The screens, in groups. */
export const DESTINATIONS: readonly {
  readonly group: string
  readonly items: readonly Destination[]
}[] = [
  {
    group: 'Work',
    items: [
      { path: 'instances', name: 'Instances', icon: 'instances', key: 'i' },
      { path: 'errors', name: 'Errors', icon: 'errors', key: 'e' },
      { path: 'workflows', name: 'Workflows', icon: 'workflows', key: 'w' },
      { path: 'schedules', name: 'Schedules', icon: 'schedules', key: 's' },
    ],
  },
  {
    group: 'System',
    items: [
      { path: 'overview', name: 'Overview', icon: 'overview', key: 'o' },
      { path: 'tasks', name: 'Tasks', icon: 'tasks', key: 't' },
      { path: 'runtimes', name: 'Runtimes', icon: 'runtimes', key: 'r' },
      { path: 'outbox', name: 'Outbox', icon: 'outbox', key: 'x' },
      { path: 'queues', name: 'Queues', icon: 'queues', key: 'q' },
    ],
  },
]

const CONNECTIONS = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Reconnecting',
  paused: 'Paused',
} as const

/** The navigation: beside the page, or above it on a narrow screen. */
export function Side({
  access,
  version,
}: {
  access: Access | undefined
  version: string | undefined
}) {
  const [isOpen, setOpen] = useState(false)
  const here = screen.value === 'instance' || screen.value === '' ? 'instances' : screen.value
  void place.value
  void theme.value
  return (
    <div class={`side ${isOpen ? 'open' : ''}`}>
      <a class="brand" href={hrefOf([])}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect class="brand-ground" width="32" height="32" rx="8" />
          <path class="brand-lines" d="M11 8v16M21 8v16M11 16h10" />
        </svg>
        Holdfast
      </a>
      <Button
        class="menu-button"
        kind="quiet"
        icon={isOpen ? 'close' : 'menu'}
        aria-label="Menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <nav class="nav" aria-label="Screens" onClick={() => setOpen(false)}>
        {DESTINATIONS.map(({ group, items }) => (
          <>
            <span class="nav-group">{group}</span>
            {items.map(({ path, name, icon }) => (
              <a key={path} href={hrefOf([path])} aria-current={here === path ? 'page' : undefined}>
                <Icon name={icon} />
                {name}
              </a>
            ))}
          </>
        ))}
      </nav>
      <footer class="side-foot">
        <span class={`connection ${connection.value}`} role="status">
          {access !== undefined && isLocked(access) ? 'Locked' : CONNECTIONS[connection.value]}
        </span>
        <span>{[version, access && accessText(access)].filter(Boolean).join(' · ')}</span>
        {access?.writes === true && !access.authorized && !isLocked(access) && <EnterToken />}
        <span class="tools">
          <Button
            kind="quiet"
            icon={paused.value ? 'play' : 'pause'}
            aria-label={paused.value ? 'Go on updating' : 'Stop updating'}
            title={paused.value ? 'Go on updating (p)' : 'Stop updating (p)'}
            onClick={() => (paused.value = !paused.value)}
          />
          <Button
            kind="quiet"
            icon={isDark() ? 'sun' : 'moon'}
            aria-label={isDark() ? 'Light colours' : 'Dark colours'}
            title={isDark() ? 'Light colours (d)' : 'Dark colours (d)'}
            onClick={toggleTheme}
          />
          <Button
            kind="quiet"
            icon="help"
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
            onClick={() => (helpIsOpen.value = true)}
          />
        </span>
      </footer>
    </div>
  )
}

function accessText({ writes, authorized }: Access): string {
  if (!writes) return 'read-only'
  if (authorized) return 'read and write'
  return token() === undefined ? 'read-only, no token' : 'read-only, wrong token'
}
