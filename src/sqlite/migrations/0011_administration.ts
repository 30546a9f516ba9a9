// Never edited once released.

/**
 * Instances can be searched, by age, parent, label and failure; and what ended before its workflow had a
 * retention is removed, too.
 */
export const ADMINISTRATION = `
-- For searches: all instances by age, and children by age.
create index instances_created on instances (created_at);
create index instances_by_parent on instances (parent_iid, created_at) where parent_iid is not null;

-- Instances by label: its name and its value, separated by U+001F. Only those with labels have rows here.
create table labels (
  label text not null,
  created_at integer not null,
  iid integer not null,
  primary key (label, created_at, iid)
) strict, without rowid;

-- Instances that ended without being completed.
create table unsuccessful (
  created_at integer not null,
  iid integer not null,
  primary key (created_at, iid)
) strict, without rowid;

-- For searches of suspended instances.
create index runs_held on runs (iid) where held = 1;

-- An execution that was followed by another one; null for the end of the instance.
alter table ended add column execution integer;

-- How far it was noted what ended before the workflow had a retention; null for nothing to do.
alter table workflows add column noted_at integer;
alter table workflows add column noted_iid integer;
create index workflows_unnoted on workflows (workflow) where noted_at is not null;

-- When it registered; null for one that an earlier build registered.
alter table runtimes add column registered_at integer;

insert or ignore into labels (label, created_at, iid)
select l.key || char(31) || l.value, created_at, iid
from instances, json_each(labels) as l
where labels <> '{}';
insert into unsuccessful (created_at, iid)
select created_at, iid from instances where status in ('failed', 'cancelled', 'terminated');
-- Workflows that have a retention already: what ended before they got it was not noted.
update workflows set noted_at = -1, noted_iid = 0 where retention_ms is not null;
`
