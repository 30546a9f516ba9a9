-- Messages and those they come too early for; parents and children; state, progress and replies.

-- instances.status 0: absent. Messages came for an id that was never started; there is no run, and
-- workflow and execution are 0.
alter table instances
  -- Who started it, if a workflow did: all five or none.
  add column parent_iid bigint,
  add column parent_execution integer,
  add column parent_command integer,
  -- 1 cancel, 2 terminate, 3 abandon, 4 independent
  add column on_close smallint,
  add column parent_id text,
  -- Null for none.
  add column labels text,
  add column progress text;

-- For close_children(). Without the status, which changes: the end of an instance stays a change
-- on the same page (HOT).
create index instances_children on instances (parent_iid, parent_execution, parent_command)
  where parent_iid is not null;

-- inbox.kind: 1 completed, 2 failed (results, with execution and command), 3 message, 4 cancel,
-- 5 terminate (with a name, empty for the last two).
alter table inbox
  add column name text collate "C",
  add column reply_to text;

-- For post() and instance_rows(), which count what waits in a channel or at all; for post() and
-- close_children(), which ask nobody twice to end.
create index inbox_waiting on inbox (iid, kind, name) where kind > 2;

-- Keys of what was posted to unfinished instances: it is not taken twice.
create table posted (
  iid bigint not null,
  key text collate "C" not null,
  primary key (iid, key)
);

-- What workflows keep for others to read.
create table state (
  iid bigint not null,
  key text collate "C" not null,
  value text not null,
  primary key (iid, key)
);

-- Answers to requests, for about an hour.
create table replies (
  at bigint not null,
  reply_to text collate "C" primary key,
  payload text not null
);

-- For sweep().
create index replies_at on replies (at);

-- These take or answer more from now on. A process that still calls the old ones would leave out
-- what they do not know of; it is better told that they are gone.
drop function if exists commit_batch;
drop function if exists start_batch;
drop function if exists insert_starts;
drop function if exists send;
drop function if exists load;
drop function if exists find;
drop function if exists instance_rows;
drop function if exists last_turn;
