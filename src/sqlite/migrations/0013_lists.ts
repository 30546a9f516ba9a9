// Never edited once released.

/** Instances can be searched by workflow and age. */
export const LISTS = `
-- Each name has a row without a version: that of limits, and that of lists.
insert or ignore into workflows (name, version) select distinct name, '' from workflows;

-- The workflow, whatever its version: its row without one. Unlike the workflow it never changes, so that
-- the index is not written again when the first claim decides the version. Null for an unstarted instance.
alter table instances add column any_version integer;
update instances set any_version = (
  select named.workflow
  from workflows join workflows as named on named.name = workflows.name and named.version = ''
  where workflows.workflow = instances.workflow
)
where status <> 'absent';

drop index instances_created;
-- For searches: started instances of a workflow by age.
create index instances_by_workflow on instances (any_version, created_at)
  where any_version is not null;

-- By workflow and status, too.
drop table unsuccessful;
create table unsuccessful (
  any_version integer not null,
  status text not null,
  created_at integer not null,
  iid integer not null,
  primary key (any_version, status, created_at, iid)
) strict, without rowid;
insert into unsuccessful (any_version, status, created_at, iid)
select any_version, status, created_at, iid
from instances where status in ('failed', 'cancelled', 'terminated');
`
