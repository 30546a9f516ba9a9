import { signal } from '@preact/signals'

const KEY = 'holdfast-theme'

export type Theme = 'system' | 'light' | 'dark'

/** What the reader chose. */
export const theme = signal<Theme>('system')

function isTheme(value: string | null): value is Theme {
  return value === 'light' || value === 'dark' || value === 'system'
}

export function startTheme(): void {
  const kept = localStorage.getItem(KEY)
  if (isTheme(kept)) theme.value = kept
  apply()
}

/** Whether the page is dark now. */
export function isDark(): boolean {
  return theme.value === 'system'
    ? matchMedia('(prefers-color-scheme: dark)').matches
    : theme.value === 'dark'
}

/** From dark to light or back; back to the system's wish where that is the same. */
export function toggleTheme(): void {
  const wanted: Theme = isDark() ? 'light' : 'dark'
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  theme.value = wanted === system ? 'system' : wanted
  localStorage.setItem(KEY, theme.value)
  apply()
}

function apply(): void {
  if (theme.value === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme.value
}
