// Never edited once released.

/** How often the progress of an instance was set. */
export const PROGRESS_VERSIONS = `
-- Null for 0.
alter table instances add column progress_version integer;
update instances set progress_version = 1 where progress is not null;
`
