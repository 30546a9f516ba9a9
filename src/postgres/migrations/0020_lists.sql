-- Instances can be searched by workflow and age.
-- Works with 0006.

-- Each name has a row without a version: that of limits, and that of lists.
insert into workflows (name, version)
select distinct w.name, ''
from workflows as w
on conflict do nothing;

-- The workflow, whatever its version: its row without one. Unlike `workflow` it never changes, so that an
-- index on it is not written again when the first claim decides the version. Null for an unstarted
-- instance.
alter table instances add column any_version integer;
update instances as i
set any_version = named.workflow
from workflows as w
join workflows as named on named.name = w.name and named.version = ''
where w.workflow = i.workflow
  and i.status > 0;

drop index instances_created;
-- For search(): started instances of a workflow by age. None of the columns ever changes, so that the end
-- of an instance stays a change on the same page (HOT).
create index instances_by_workflow on instances (any_version, created_at, iid)
  where any_version is not null;

-- By workflow and status, too.
truncate unsuccessful;
alter table unsuccessful
  add column any_version integer not null,
  add column status smallint not null,
  drop constraint unsuccessful_pkey,
  add primary key (any_version, status, created_at, iid);
insert into unsuccessful (any_version, status, created_at, iid)
select i.any_version, i.status, i.created_at, i.iid
from instances as i
where i.status > 2;
