// Never edited once released.

/** How long messages wait for a start that never comes; when a start is due that was set aside. */
export const ABSENCES = `
-- Of one that was never started: how many messages wait for that. Nobody takes any before.
alter table instances add column early integer not null default 0;
update instances
set early = (select count(*) from inbox where inbox.iid = instances.iid)
where status = 'absent';

-- For the tick: those whose newest message came longest ago.
create index instances_absent on instances (updated_at) where status = 'absent';

-- When the first turn of an instance was due that was set aside before it; otherwise null.
alter table runs add column due_at integer;
`
