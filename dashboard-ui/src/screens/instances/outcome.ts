import type { BulkJob, BulkVerb } from '../../../../src/dashboard/api.ts'
import { plural } from '../../format/number.ts'

const DONE: Readonly<Record<BulkVerb, string>> = {
  resume: 'Resumed',
  suspend: 'Suspended',
  // Each ends once its clean-up has run.
  cancel: 'Cancelling',
  terminate: 'Terminated',
  delete: 'Deleted',
}

/** What a change that has ended did, in a sentence. */
export function outcomeOf({ verb, state, seen, changed, refused, error }: BulkJob): string {
  const [first] = refused
  return [
    `${DONE[verb]} ${plural(changed, 'instance')}`,
    verb === 'delete' && changed > seen && ', children included',
    state === 'stopped' && ', then stopped',
    error !== undefined && `, then failed: ${error}`,
    first !== undefined && `; ${first.message}`,
  ]
    .filter((part) => part !== false)
    .join('')
}
