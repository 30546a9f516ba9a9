-- How long messages wait for a start that never comes; when a start is due that was set aside.
-- Works with 0004.

-- Instances that messages came for before their start, also those that were started since, until
-- remove_absent() has looked at them. Who sends to one that is absent locks its row here, and so
-- does who removes it. Nobody else does: a start locks the row of the instance.
create table absences (
  -- No message is older; when the newest came is found out when this is long ago.
  at bigint not null,
  iid bigint primary key
);

-- For remove_absent().
create index absences_at on absences (at);

insert into absences (at, iid)
select i.updated_at, i.iid
from instances as i
where i.status = 0;

-- When it was posted. Null for what was not, and for what came before there was this column.
alter table inbox add column at bigint;

-- When the first turn of an instance was due that was set aside before it; otherwise null.
alter table runs add column due_at bigint;

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists tick;
drop function if exists wake_tasks;
