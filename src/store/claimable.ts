import { QUARANTINE_DEATHS } from './constants.ts'

// Which instances a runtime can claim: conditions on a row `r` of `runs`, as SQL that both
// databases read. SQLite's operations put them into their statements. PostgreSQL's procedures write
// `:UNOWNED`, which `npm run generate` replaces, so that each statement is planned as if it were
// written out.
//
// An instance can be claimed
//
//   - when it is due: `wake_at` has come. It is set only while the instance is unowned and not
//     suspended, so nothing else needs to be compared, and the index on it finds what is due;
//   - when it is wakeable and has mail that is not parked;
//   - when a hint names it, it is unowned, and one of its tasks waits.
//
// An instance that the limit of its workflow does not admit cannot be claimed, whatever it has. Its
// `wake_at` is when its limit has to be judged (again): see `admissions.ts`.
//
// A runtime takes any number of ordinary instances, and one that is quarantined.

/** It has no owner, and it is not suspended. */
export const UNOWNED = 'r.owner is null and not r.held'

/** Its workflow has no limit, or the limit admitted it. */
export const ADMITTED = 'r.admitted is not false'

/** It waits for the limit of its workflow. */
export const UNADMITTED = 'r.admitted = false'

/** A message makes it claimable. What was never run waits for its time, whatever is sent to it. */
export const WAKEABLE = `${UNOWNED} and ${ADMITTED} and (r.epoch > 0 or r.wake_at is null)`

/** Few enough owners died with it to be run among others. */
export const ORDINARY = `r.attempts < ${QUARANTINE_DEATHS} and ${ADMITTED}`

/** So many owners died with it that it is run by itself. */
export const QUARANTINED = `r.attempts >= ${QUARANTINE_DEATHS}`

/** Which starts of a workflow are claimed first: higher ones. 0 is stored as null, and takes no room. */
export const RANK = 'coalesce(r.priority, 0)'
