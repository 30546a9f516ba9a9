import type { OnParentClose, ParentLink } from '../../store/instances.ts'
import type { Value } from '../connect/driver.ts'

/** The columns of `instances` that name the parent, in the order of `parentValues`. */
export const PARENT_COLUMNS = 'parent_iid, parent_id, parent_execution, parent_command, on_close'

/** These columns, as they are read. */
export interface ParentColumns {
  readonly parent_iid: number | null
  readonly parent_id: string
  readonly parent_execution: number
  readonly parent_command: number
  readonly on_close: OnParentClose
}

const NO_PARENT: readonly Value[] = [null, null, null, null, null]

/** What goes into the columns. */
export function parentValues(parent: ParentLink | null): readonly Value[] {
  if (parent === null) return NO_PARENT
  return [parent.iid, parent.id, parent.execution, parent.command, parent.onClose]
}

/** What comes out of them. */
export function toParent(row: ParentColumns): ParentLink | null {
  if (row.parent_iid === null) return null
  return {
    iid: row.parent_iid,
    id: row.parent_id,
    execution: row.parent_execution,
    command: row.parent_command,
    onClose: row.on_close,
  }
}
