import type { CommandEvent } from '../../store/history.ts'

/**
 * Whether a command is carried out even when the code ended without awaiting it: starts, sends, and the
 * starts of abandoned children.
 */
export function outlastsCode(event: CommandEvent): boolean {
  return event.type === 'start' || event.type === 'send' || isAbandoned(event)
}

/** Whether it is a child that continues without its parent. */
function isAbandoned(event: CommandEvent): boolean {
  if (event.type !== 'child') return false
  return (JSON.parse(event.options) as { onParentClose?: string }).onParentClose === 'abandon'
}
