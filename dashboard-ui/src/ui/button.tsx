import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'

import { Icon, type IconName } from './icon.tsx'
import { toast } from './toast.tsx'

type ButtonProps = ButtonHTMLAttributes & {
  icon?: IconName
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  children?: ComponentChildren
}

/** A button. One without text needs an `aria-label`. */
export function Button({ icon, kind = 'plain', children, class: extra, ...rest }: ButtonProps) {
  return (
    <button type="button" class={`button ${kind} ${(extra as string) ?? ''}`} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A text that can be taken along: an id, a value. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  // Browsers have none where the page came over plain HTTP from another machine, or under a name.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard === undefined) return null
  const copy = async (button: Element): Promise<void> => {
    try {
      await clipboard.writeText(text)
    } catch {
      toast(`The browser does not let this page copy ${what}`)
      return
    }
    button.classList.add('done')
    setTimeout(() => button.classList.remove('done'), 900)
  }
  return (
    <Button
      kind="quiet"
      icon="copy"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={({ currentTarget }) => void copy(currentTarget)}
    />
  )
}
