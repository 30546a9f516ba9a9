-- Instances can be searched, by age, parent, label and failure; and what ended before its workflow had
-- a retention is removed, too.
-- Works with 0006.

-- For search(): all instances by age. Neither column ever changes, so that the end of an instance stays
-- a change on the same page (HOT).
create index instances_created on instances (created_at, iid);
-- For search() and tree(): children by age.
create index instances_by_parent on instances (parent_iid, created_at, iid)
  where parent_iid is not null;

-- For search(): instances by label, see label_key(). Only instances with labels have rows here.
create table labels (
  label bigint not null,
  created_at bigint not null,
  iid bigint not null,
  primary key (label, created_at, iid)
);

-- For search(): instances that ended without being completed. In a table of its own, as an index on the
-- status would make each end of an instance write to all indexes of instances.
create table unsuccessful (
  created_at bigint not null,
  iid bigint not null,
  primary key (created_at, iid)
);

-- For search(): suspended instances.
create index runs_held on runs (iid) where held;

-- An execution that was followed by another one; null for the end of the instance.
alter table ended add column execution integer;

-- How far note_earlier() has come with what ended before the workflow had a retention; null for
-- nothing to do.
alter table workflows
  add column noted_at bigint,
  add column noted_iid bigint;
create index workflows_unnoted on workflows (workflow) where noted_at is not null;

insert into labels (label, created_at, iid)
select
  ('x' || left(encode(sha256(convert_to(l.key || chr(31) || l.value, 'UTF8')), 'hex'), 16))::bit(64)::bigint,
  i.created_at, i.iid
from instances as i
cross join lateral jsonb_each_text(i.labels::jsonb) as l
where i.labels is not null
on conflict do nothing;
insert into unsuccessful (created_at, iid)
select i.created_at, i.iid
from instances as i
where i.status > 2;
-- Workflows that have a retention already: what ended before they got it was not noted.
update workflows
set noted_at = -1,
    noted_iid = 0
where retention_ms is not null;
