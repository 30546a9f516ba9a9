import { signal } from '@preact/signals'

const SHOWN_MS = 6000

const toasts = signal<readonly { readonly id: number; readonly text: string }[]>([])
let latest = 0

/** Says that something was done. */
export function toast(text: string): void {
  const id = ++latest
  toasts.value = [...toasts.value, { id, text }]
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id)
  }, SHOWN_MS)
}

/** Where it is said; once on the page. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text }) => (
        <p key={id} class="toast">
          {text}
        </p>
      ))}
    </div>
  )
}
