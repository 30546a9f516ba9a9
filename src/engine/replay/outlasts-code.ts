import type { CommandEvent } from '../../store/history.ts'

/**
 * Starts and sends are carried out also when the code has ended without waiting for them, and so are
 * the starts of children that go on without their parent.
 */
export function outlastsCode(event: CommandEvent): boolean {
  return event.type === 'start' || event.type === 'send' || isAbandoned(event)
}

/** Whether it is a child that goes on without its parent. */
function isAbandoned(event: CommandEvent): boolean {
  if (event.type !== 'child') return false
  return (JSON.parse(event.options) as { onParentClose?: string }).onParentClose === 'abandon'
}
