// Never edited once released. SQLite cannot change a check or drop a unique key, so two tables are
// made anew. A check of a list is made for each row and costs a fourth of the insert, so there are no
// new ones.

/** Messages and those they come too early for; children, state, progress, labels, replies. */
export const MESSAGES = `
-- absent: messages came for an id that was never started. There is no workflow then, and no run.
create table instances_next (
  iid integer primary key,
  id text not null unique,
  workflow integer,
  execution integer not null,
  status text not null check (
    status in ('absent', 'running', 'completed', 'failed', 'cancelled', 'terminated')
  ),
  output text,
  report text,
  created_at integer not null,
  updated_at integer not null,
  finished_at integer,
  -- Who started it, if a workflow did; all of them or none.
  parent_iid integer,
  parent_id text,
  parent_execution integer,
  parent_command integer,
  on_close text,
  labels text not null default '{}',
  progress text
) strict;
insert into instances_next
  (iid, id, workflow, execution, status, output, report, created_at, updated_at, finished_at)
select iid, id, workflow, execution, status, output, report, created_at, updated_at, finished_at
from instances;
drop table instances;
alter table instances_next rename to instances;
-- For a parent that closes its children: only the unfinished ones, however many have ended.
create index instances_children on instances (parent_iid, parent_execution, parent_command)
  where parent_iid is not null and status = 'running';

-- 1: its parent is told of the end. Stands here too because an owner's commit reads this row anyway.
alter table runs add column child integer not null default 0;

-- What is parked does not make its instance claimable: the owner has no use for it so far, or the
-- instance is not started yet.
create table inbox_next (
  id integer primary key autoincrement,
  iid integer not null,
  kind text not null,
  execution integer not null default 0,
  command integer not null default 0,
  name text not null default '',
  reply_to text not null default '',
  payload text not null,
  parked integer not null default 0,
  at integer not null
) strict;
-- Before the rows: the new table goes on with the numbers of the old one, also of those deleted.
insert into sqlite_sequence (name, seq)
select 'inbox_next', seq from sqlite_sequence where name = 'inbox';
-- A result was an event: its type, command and value, joined by the unit separator.
insert into inbox_next (id, iid, kind, execution, command, payload, at)
select id, iid, type, execution, command, substr(payload, length(type) + length(command) + 3), at
from (
  select *, case when payload like 'failed%' then 'failed' else 'completed' end as type from inbox
);
drop table inbox;
alter table inbox_next rename to inbox;
-- Drops second results.
create unique index inbox_results on inbox (iid, execution, command) where command > 0;
-- For claims and the tick.
create index inbox_unparked on inbox (iid, at) where parked = 0;
-- For all that an instance has, for how much waits in a channel, and for who was told already.
create index inbox_waiting on inbox (iid, kind, name);

-- Keys of what was sent to unfinished instances: it is not taken twice.
create table posted (
  iid integer not null,
  key text not null,
  primary key (iid, key)
) strict, without rowid;

create table state (
  iid integer not null,
  key text not null,
  value text not null,
  primary key (iid, key)
) strict, without rowid;

create table replies (
  reply_to text primary key,
  payload text not null,
  at integer not null
) strict;
-- For the tick, which removes old ones.
create index replies_at on replies (at);
`
