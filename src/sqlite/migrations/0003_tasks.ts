// Never edited once released.

/** Activities that wait for any runtime; sessions and limits; what owners are about to do. */
export const TASKS = `
-- What the owner is about to do, told beforehand in case it dies of it; empty for nothing.
alter table runs add column doing text not null default '';
-- What two owners died with is handed out one at a time, and stands in an index of its own: however
-- many of these wait, the others are found without looking at them.
drop index runs_due;
-- For claims, and for the time of the next one.
create index runs_due on runs (workflow, wake_at) where wake_at is not null and attempts < 2;
-- The same for those; and whether a runtime owns one of them.
create index runs_careful on runs (owner, workflow, wake_at) where attempts >= 2;

-- Whether it has room and nothing to do, and the activities without a tag that it can run (JSON).
alter table runtimes add column idle integer not null default 0;
alter table runtimes add column activities text not null default '[]';

create table tasks (
  -- Only for the order; a number may be used again.
  number integer primary key,
  iid integer not null,
  execution integer not null,
  command integer not null,
  activity text not null,
  tag text not null,
  session text not null,
  -- 0: no session. -1: its session is free. Otherwise the runtime that has the session: stands here
  -- too, so that a claim need not look at what waits for another runtime.
  pin integer not null,
  input text not null,
  options text not null,
  attempts integer not null,
  deaths integer not null default 0,
  start_by integer,
  -- Empty for no limit, otherwise "=" and the key.
  limit_key text not null,
  concurrency integer,
  rate_count integer,
  rate_ms integer,
  -- null: at once. Not null only while nobody holds it.
  visible_at integer,
  held_by integer,
  beat text,
  -- When its holder has been silent for too long; null for never, and for what nobody holds.
  beat_until integer,
  unique (iid, execution, command)
) strict;
-- For claims: each of the lists that differ in whether this runtime may take from them, in order.
create index tasks_ready on tasks (activity, tag, limit_key, pin)
  where held_by is null and visible_at is null and deaths < 2;
-- The same for those that two runtimes died with; and whether a runtime holds one of them.
create index tasks_careful on tasks (held_by, activity, tag, limit_key, pin)
  where visible_at is null and deaths >= 2;
-- For what becomes available by time alone.
create index tasks_delayed on tasks (activity, tag, visible_at) where visible_at is not null;
create index tasks_silent on tasks (activity, tag, beat_until) where beat_until is not null;
-- For freeing what a runtime had, and for the sessions that it is busy with.
create index tasks_held on tasks (held_by, session) where held_by is not null;
-- For sessions that go from one runtime to another.
create index tasks_sessions on tasks (session) where session <> '';
-- For limits: how many are held.
create index tasks_limited on tasks (limit_key, held_by)
  where held_by is not null and limit_key <> '';

-- Sessions that a runtime has.
create table sessions (
  session text primary key,
  runtime integer not null,
  touched_at integer not null
) strict, without rowid;
-- For those of a runtime that is gone.
create index sessions_runtime on sessions (runtime);
-- For those that are idle.
create index sessions_touched on sessions (touched_at);

-- Limits whose rate is in use: until when it is spent, in microseconds.
create table limits (
  limit_key text primary key,
  spent_until integer not null
) strict, without rowid;
-- For the tick, which removes those that are not in use any more.
create index limits_spent on limits (spent_until);
`
