-- Tasks: activities that wait for any runtime, with their sessions and limits. And what owners are
-- about to do.

alter table runs
  -- Told beforehand, in case the owner dies of it; null for nothing.
  add column doing text,
  -- Whether there ever was a task: otherwise its end need not look for any.
  add column has_tasks boolean not null default false;

-- What two owners died with is handed out one at a time, and stands in an index of its own: however
-- many of these wait, the others are found without reading them. Attempts seldom change, so that
-- most changes of a run stay on the page (HOT).
drop index runs_due;

-- For claim() and tick(): what is due, workflow by workflow.
create index runs_due on runs (workflow, wake_at)
  where wake_at is not null and attempts < 2;

-- For claim() and is_claimable(): the same for those that two owners died with.
create index runs_careful on runs (workflow, wake_at)
  where wake_at is not null and attempts > 1;

alter table runtimes
  -- The last instance that it was given of those that two owners died with.
  add column careful bigint,
  -- Whether it has room, and nothing to do.
  add column idle boolean not null default false,
  -- The activities that it can run for others, of tasks without a tag.
  add column activities text[] not null default '{}';

--   visible_at is not null  =>  held_by is null
--   beat_until is not null  =>  held_by is not null
create table tasks (
  -- For the order only.
  number bigint generated always as identity (cache 1),
  iid bigint not null,
  -- Which line it stands in, see task_lane(); null for one that was not started in time, and never
  -- will be.
  lane bigint,
  -- Null for at once.
  visible_at bigint,
  start_by bigint,
  -- When its holder has been silent for too long; null for never.
  beat_until bigint,
  rate_ms bigint,
  execution integer not null,
  command integer not null,
  -- A runtime that is alive; or one that is not, until a tick has seen to it.
  held_by integer,
  attempts integer not null,
  concurrency integer,
  rate_count integer,
  -- How often a runtime died while it held the task.
  deaths smallint not null default 0,
  activity text collate "C" not null,
  tag text collate "C" not null,
  -- Null for none; so is limit_key.
  session text collate "C",
  limit_key text collate "C",
  input text not null,
  options text not null,
  beat text,
  primary key (iid, execution, command)
) with (fillfactor = 80);

-- For claim_tasks(): what can be had now, line by line, each in order. What a runtime does not
-- serve is never read, and of a line that is closed only the first.
create index tasks_ready on tasks (activity, tag, lane, number)
  where held_by is null and visible_at is null and lane is not null;

-- For wake_tasks() and next_task_at(): what becomes available by time alone.
create index tasks_delayed on tasks (activity, visible_at)
  where visible_at is not null;
create index tasks_silent on tasks (activity, beat_until)
  where beat_until is not null;

-- For freeing what a runtime held, and for the sessions that it is busy with.
create index tasks_held on tasks (held_by, session)
  where held_by is not null;

-- For claim_tasks(): whether a runtime holds one that two runtimes died with.
create index tasks_careful on tasks (held_by)
  where held_by is not null and deaths > 1;

-- For limit_left(): how many are held.
create index tasks_limited on tasks (limit_key)
  where held_by is not null and limit_key is not null;

-- For sweep(): whether a session has tasks.
create index tasks_sessions on tasks (session)
  where session is not null;

-- Tasks that nobody waits for any more, and that were locked when that came about.
create table unwanted_tasks (
  number bigint primary key,
  iid bigint not null,
  execution integer not null,
  command integer not null
);

-- Sessions, each with the runtime that last claimed a task of it.
create table sessions (
  touched_at bigint not null,
  runtime integer not null,
  session text collate "C" primary key
);

-- For those of a runtime that is gone.
create index sessions_runtime on sessions (runtime);

-- For sweep().
create index sessions_touched on sessions (touched_at);

-- Limits. Who hands out tasks of one locks its row.
create table limits (
  -- Until when its rate is used up, in microseconds: see limit_left().
  spent_until bigint not null,
  limit_key text collate "C" primary key
);

-- For sweep().
create index limits_spent on limits (spent_until);

-- These take or answer more from now on. A process that still calls the old ones would leave out
-- what they do not know of; it is better told that they are gone.
drop function if exists commit_batch;
drop function if exists start_batch;
drop function if exists claim;
drop function if exists owned;
drop function if exists tick;
drop function if exists is_claimable;
