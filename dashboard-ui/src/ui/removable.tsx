import { Button } from './button.tsx'

/** A part of a filter that can be taken away. */
export function Removable({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <span class="removable">
      <span class="mono cut">{text}</span>
      <Button kind="quiet" icon="close" aria-label={`Remove ${text}`} onClick={onRemove} />
    </span>
  )
}
