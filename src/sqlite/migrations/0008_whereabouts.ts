// Never edited once released.

/** What people want to know of activities that do not end. */
export const WHEREABOUTS = `
-- When its holder took it; null for what nobody holds.
alter table tasks add column held_since integer;
-- What its last attempt failed with, encoded; null for nothing.
alter table tasks add column error text;
-- The tags that a runtime serves and the activities that it was given, as JSON; null for one that does
-- not tell.
alter table runtimes add column serves text;
`
