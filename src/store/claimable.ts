import { QUARANTINE_DEATHS } from './constants.ts'

// Which instances a runtime can claim: conditions on a row `r` of `runs`, as SQL that both databases
// read. SQLite's operations put them into their statements. PostgreSQL's procedures write `:UNOWNED`,
// which `npm run generate` replaces, so that each statement is planned as if it were written out.
//
// An instance can be claimed
//
//   - when it is due: `wake_at` has come. It is set only while the instance is unowned and not
//     suspended, so nothing else needs to be compared, and the index on it finds what is due;
//   - when it is wakeable and has mail that is not parked;
//   - when somebody hints at it, it is unowned, and a task of it waits.
//
// A runtime takes any number of ordinary ones, and one that is quarantined.

/** Nobody owns it, and it is not suspended. */
export const UNOWNED = 'r.owner is null and not r.held'

/** A message makes it claimable. What was never run waits for its time, whatever is sent to it. */
export const WAKEABLE = `${UNOWNED} and (r.epoch > 0 or r.wake_at is null)`

/** Few enough owners died with it to be run among others. */
export const ORDINARY = `r.attempts < ${QUARANTINE_DEATHS}`

/** So many owners died with it that it is run by itself. */
export const QUARANTINED = `r.attempts >= ${QUARANTINE_DEATHS}`
