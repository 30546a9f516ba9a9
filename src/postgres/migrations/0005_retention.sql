-- How long instances are kept after their end, for workflows that say so.
-- Works with 0004.

-- The workflow's wish, as the last runtime that has its code said; null to keep them for ever. So
-- rows are changed from now on.
alter table workflows add column retention_ms bigint;

-- For note_ended(): whether any workflow wants its instances removed at all.
create index workflows_retained on workflows (workflow) where retention_ms is not null;

-- Instances that have ended, of workflows with a retention, until they are removed. In a table of
-- its own: an index on the time of the end would make each end of an instance write to all indexes
-- of instances.
create table ended (
  at bigint not null,
  iid bigint not null,
  workflow integer not null,
  primary key (workflow, at, iid)
);

-- Takes one thing more from now on, with a default: those who do not know of it call the new one.
drop function if exists register;
