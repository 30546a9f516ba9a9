// Never edited once released.

/** How long instances are kept after their end, for workflows that say so. */
export const RETENTION = `
-- As the last runtime that has the code of the workflow said; null to keep them for ever.
alter table workflows add column retention_ms integer;
-- For the end of an instance: whether any workflow wants its instances removed at all.
create index workflows_retained on workflows (workflow, retention_ms) where retention_ms is not null;

-- Instances that have ended, of workflows with a retention, until they are removed.
create table ended (
  workflow integer not null,
  at integer not null,
  iid integer not null,
  primary key (workflow, at, iid)
) strict, without rowid;
`
