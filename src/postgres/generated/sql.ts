// Written by scripts/embed-sql.mjs (`npm run generate`): change the .sql files instead.

import type { SqlFile } from '../sql-file.ts'

/** Tables, in the order in which they are applied. */
export const MIGRATIONS: readonly SqlFile[] = [
  {
    name: 'migrations/0001_instances',
    checksum: '0c7489390a2e3f60',
    sql: `-- Workflow instances: who they are, who runs them, what happened, and what waits for them.
--
-- No foreign keys: each would lock the row it points to, once per insert. Columns stand by size,
-- widest first, so that rows hold no padding.

-- Workflows by name and version. Rows are never changed nor removed.
create table workflows (
  workflow integer generated always as identity primary key,
  name text collate "C" not null,
  version text collate "C" not null,
  unique (name, version)
);

-- One row per start of a process that runs workflows.
--
-- The number is drawn at random. A serial one would be given out twice after a failover that lost
-- the newest rows, and two processes would then write as one owner.
create table runtimes (
  lease_until bigint not null,
  registered_at bigint not null,
  runtime integer primary key,
  -- 1 alive, 2 dead, 3 closed. Whoever is not alive, or is not here, never writes again.
  state smallint not null,
  info text not null
) with (fillfactor = 50);

-- For declaring dead those whose lease ended. Without lease_until, so that renewing it is a
-- change on the same page (HOT).
create index runtimes_alive on runtimes (runtime) where state = 1;

-- Numbers of instances, given out in blocks by reserve() and by nothing else.
create sequence instance_numbers as bigint cache 1;

-- Every instance, finished or not. Written at its start, at its end, and when set aside.
create table instances (
  iid bigint primary key,
  created_at bigint not null,
  -- Turns do not write here: their own time is in history.
  updated_at bigint not null,
  finished_at bigint,
  workflow integer not null,
  execution integer not null,
  -- 1 running, 2 completed, 3 failed, 4 cancelled, 5 terminated. Set aside: see runs.held.
  status smallint not null,
  id text collate "C" not null unique,
  output text,
  report text
) with (fillfactor = 50);

-- Unfinished instances only, as narrow as can be, since each claim and release writes one.
--
--   wake_at is not null  =>  owner is null and not held
--
-- The owner is in no index, so that claiming what has mail and releasing it stay on the page
-- (HOT). What a dead runtime owned is found by a scan, once per death.
create table runs (
  iid bigint primary key,
  wake_at bigint,
  workflow integer not null,
  owner integer,
  epoch integer not null,
  -- How often an owner died with it since it last got any further.
  attempts smallint not null default 0,
  held boolean not null default false
) with (fillfactor = 70);

-- For claim() and tick(): what is due, workflow by workflow.
create index runs_due on runs (workflow, wake_at) where wake_at is not null;

-- One row per turn, only ever added. The epoch tells a commit sent again from a stranger's.
create table history (
  iid bigint not null,
  at bigint not null,
  execution integer not null,
  turn integer not null,
  epoch integer not null,
  first integer not null,
  count integer not null,
  events text not null,
  primary key (iid, execution, turn)
);

-- What waits for an owner. Senders only insert; only the owner parks or removes.
create table inbox (
  -- Never a cursor: rows may become visible out of order.
  id bigint generated always as identity (cache 1),
  iid bigint not null,
  execution integer,
  command integer,
  -- 1 result
  kind smallint not null,
  -- Nobody waits for it yet; it makes nothing claimable.
  parked boolean not null default false,
  payload text not null,
  primary key (iid, id)
);

-- The first result of a command wins.
create unique index inbox_results on inbox (iid, execution, command) where command is not null;

-- For claim() and tick(): instances with mail.
create index inbox_mail on inbox (iid) where not parked;
`,
  },
  {
    name: 'migrations/0002_messages',
    checksum: '967037981146a585',
    sql: `-- Messages and those they come too early for; parents and children; state, progress and replies.

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
`,
  },
  {
    name: 'migrations/0003_tasks',
    checksum: 'f27d19b4b2b7be9a',
    sql: `-- Tasks: activities that wait for any runtime, with their sessions and limits. And what owners are
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
`,
  },
  {
    name: 'migrations/0004_hints',
    checksum: 'ccf0dd25804fe637',
    sql: `-- Which workflows a runtime has the code of, for those who tell it of work.
alter table runtimes add column workflows integer[] not null default '{}';
`,
  },
  {
    name: 'migrations/0005_retention',
    checksum: '558dc977828db22d',
    worksWith: '0004',
    sql: `-- How long instances are kept after their end, for workflows that say so.
-- Works with 0004.

-- The workflow's wish, as the last runtime that has its code said; null to keep them for ever. So
-- rows are changed from now on.
alter table workflows add column retention_ms bigint;

-- For note_ended(): whether any workflow wants its instances removed at all.
create index workflows_retained on workflows (workflow) where retention_ms is not null;

-- Instances that have ended, of workflows with a retention, until they are removed. In a table of
-- its own: an index on the time of the end would make each end of an instance write to all indexes
-- of instances.
create table ended (
  at bigint not null,
  iid bigint not null,
  workflow integer not null,
  primary key (workflow, at, iid)
);

-- Takes one thing more from now on, with a default: those who do not know of it call the new one.
drop function if exists register;
`,
  },
  {
    name: 'migrations/0006_absences',
    checksum: '8037ad15e599b146',
    worksWith: '0004',
    sql: `-- How long messages wait for a start that never comes; when a start is due that was set aside.
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
`,
  },
  {
    name: 'migrations/0007_versions',
    checksum: 'b308cee5ee6d2765',
    worksWith: '0004',
    sql: `-- Which version a start runs that named none is decided when it is first claimed.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists claim;
`,
  },
  {
    name: 'migrations/0008_task_tokens',
    checksum: '8840b4ce3cf09797',
    worksWith: '0006',
    sql: `-- Results name the task they belong to. Numbers of instances, executions and commands are used again
-- after a failover that lost the latest writes; tokens are random, and are not.
-- Works with 0006.

-- Null for what a version made that does not know of them.
alter table tasks add column token bigint;

-- These take or answer more from now on.
drop function if exists finish_tasks;
drop function if exists held_tasks;
drop function if exists are_held;
drop function if exists beat_tasks;
drop function if exists begin_transaction;
drop function if exists finish_transaction;
drop function if exists may_transact;
drop function if exists send;
`,
  },
  {
    name: 'migrations/0009_leases',
    checksum: 'df10f2ff8b3d189c',
    worksWith: '0004',
    sql: `-- A lease is renewed by a statement of its own, and no tick counts what a runtime owns.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists renew_lease;
-- Takes more.
drop function if exists bury_expired;
`,
  },
  {
    name: 'migrations/0010_claims',
    checksum: 'c8f8ec4c15e68e3b',
    worksWith: '0004',
    sql: `-- A claim tells when the next instance falls due.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists claim;
`,
  },
  {
    name: 'migrations/0011_clock',
    checksum: '961028d60e1bb8fe',
    worksWith: '0006',
    sql: `-- The store's clock goes on when the server's is set back. See keep_clock().
-- Works with 0006.

-- Sequences, because whoever reads the time must not wait for anybody, and see the latest at once. One
-- that was never set stands for 0.

-- What the server's clock showed when a lease was last renewed.
create sequence clock_seen as bigint minvalue 0 start 0 cache 1;

-- By how much the store's clock is ahead of the server's, in milliseconds.
create sequence clock_ahead as bigint minvalue 0 start 0 cache 1;
`,
  },
  {
    name: 'migrations/0012_whereabouts',
    checksum: '5b0811d76049f565',
    worksWith: '0004',
    sql: `-- What people want to know of activities that do not end: for whereabouts().
-- Works with 0004.

-- When its holder took it; null for what nobody holds, and for what a version holds that does not
-- know of this column.
alter table tasks add column held_since bigint;
-- What its last attempt failed with, encoded; null for nothing.
alter table tasks add column error text;
-- The tags that a runtime serves and the activities that it was given, as JSON; null for one of a
-- version that does not tell.
alter table runtimes add column serves text;

-- Takes one thing more from now on, with a default: those who do not know of it call the new one.
drop function if exists register;
`,
  },
  {
    name: 'migrations/0013_unstarted',
    checksum: '1566e8806b5becb1',
    worksWith: '0004',
    sql: `-- Messages for instances that were never started cost no claim and no tick.
-- Works with 0004.

-- Sent to an instance that was never started, and parked until it is. What came before there was this
-- column is parked by a tick: see park_mail().
alter table inbox add column early boolean not null default false;

-- About one in a thousand of them, for early_is_full().
create index inbox_early on inbox (iid) where early and id % 1021 = 0;
`,
  },
  {
    name: 'migrations/0014_clock_kept',
    checksum: 'bc068f5db80dbf97',
    worksWith: '0006',
    sql: `-- What the store's clock goes by is one number, so that nobody sees half of a change.
-- Works with 0006.

-- What the server's clock showed when it was last noted, times a million, and by how much the store's
-- clock was ahead of it then, in hundredths of a second. See clock_after(). It takes the place of
-- clock_seen and clock_ahead, which earlier builds still need.
create sequence clock_kept as bigint minvalue 0 start 0 cache 1;
`,
  },
  {
    name: 'migrations/0015_terminations',
    checksum: 'f0a5cdc63b7f28e0',
    worksWith: '0004',
    sql: `-- A termination tells who has mail because of it.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists terminate;
`,
  },
]

/** Functions, applied again whenever their text changes. */
export const PROCEDURES: readonly SqlFile[] = [
  {
    name: 'procedures/about_to',
    checksum: '796e9e754919965e',
    sql: `-- Notes what the owner is about to do with an instance, before it does. Answers whether it is still
-- the owner.
create or replace function about_to(
  p_runtime integer,
  p_iid bigint,
  p_epoch integer,
  p_doing text,
  out owned boolean
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_alive boolean := enter(p_runtime);
begin
  perform be_durable();
  update runs
  set doing = nullif(p_doing, '')
  where v_alive
    and iid = p_iid
    and owner = p_runtime
    and epoch = p_epoch
    and not held;
  owned := found;
end
$$;
`,
  },
  {
    name: 'procedures/apply_effects',
    checksum: 'fd0d9fc89f8a8674',
    sql: `-- What turns do beyond their own history, for those instances that are in p_done: one statement for
-- each kind of effect that there is. p_effects are the lists that are declared below.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function apply_effects(p_clock bigint, p_done bigint[], p_effects text)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_lists text[] := split_lists(p_effects, 15);
  v_parked_iids bigint[] := v_lists[1];
  v_parked_ids bigint[] := v_lists[2];
  -- As close_children() takes them.
  v_closing_iids bigint[] := v_lists[3];
  v_closing_executions integer[] := v_lists[4];
  v_closing_commands integer[] := v_lists[5];
  v_cleared_iids bigint[] := v_lists[6];
  -- Changes of state in their order. v_state_kept is false for a key that is taken away.
  v_state_iids bigint[] := v_lists[7];
  v_state_kept boolean[] := v_lists[8];
  v_state_keys text[] := split_texts(v_lists[9], cardinality(v_state_iids));
  v_state_values text[] := split_texts(v_lists[10], cardinality(v_state_iids));
  v_progress_iids bigint[] := v_lists[11];
  v_progress text[] := split_texts(v_lists[12], cardinality(v_progress_iids));
  v_reply_iids bigint[] := v_lists[13];
  v_reply_tos text[] := split_texts(v_lists[14], cardinality(v_reply_iids));
  v_reply_payloads text[] := split_texts(v_lists[15], cardinality(v_reply_iids));
  v_parents bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  if cardinality(v_parked_iids) > 0 then
    -- Whether they are parked already is not asked: the condition would let the planner go through
    -- all that is not, in the index made for claims.
    update inbox as i
    set parked = true
    from unnest(v_parked_iids, v_parked_ids) as p (iid, id)
    join unnest(p_done) as d (iid) on d.iid = p.iid
    where i.iid = p.iid
      and i.id = p.id;
  end if;

  if cardinality(v_closing_iids) > 0 then
    select array_agg(c.iid), array_agg(c.execution), array_agg(c.command)
    into v_parents, v_executions, v_commands
    from unnest(v_closing_iids, v_closing_executions, v_closing_commands)
      as c (iid, execution, command)
    join unnest(p_done) as d (iid) on d.iid = c.iid;
    if v_parents is not null then
      perform close_children(v_parents, v_executions, v_commands);
    end if;
  end if;

  if cardinality(v_cleared_iids) > 0 then
    delete from state as s
    using unnest(v_cleared_iids) as c (iid)
    join unnest(p_done) as d (iid) on d.iid = c.iid
    where s.iid = c.iid;
  end if;

  if cardinality(v_state_iids) > 0 then
    -- Of several changes of one key the last one counts.
    with changes as materialized (
      select distinct on (c.iid, c.key) c.iid, c.key, c.kept, c.value
      from unnest(v_state_iids, v_state_kept, v_state_keys, v_state_values) with ordinality
        as c (iid, kept, key, value, place)
      join unnest(p_done) as d (iid) on d.iid = c.iid
      order by c.iid, c.key, c.place desc
    ),
    unset as (
      delete from state as s
      using changes as c
      where not c.kept
        and s.iid = c.iid
        and s.key = c.key collate "C"
    )
    insert into state (iid, key, value)
    select c.iid, c.key, c.value
    from changes as c
    where c.kept
    order by c.iid, c.key
    on conflict (iid, key) do update
    set value = excluded.value;
  end if;

  if cardinality(v_progress_iids) > 0 then
    update instances as i
    set progress = p.progress,
        updated_at = p_clock
    from unnest(v_progress_iids, v_progress) as p (iid, progress)
    join unnest(p_done) as d (iid) on d.iid = p.iid
    where i.iid = p.iid;
  end if;

  if cardinality(v_reply_iids) > 0 then
    insert into replies (reply_to, payload, at)
    select r.reply_to, r.payload, p_clock
    from unnest(v_reply_iids, v_reply_tos, v_reply_payloads) with ordinality
      as r (iid, reply_to, payload, place)
    join unnest(p_done) as d (iid) on d.iid = r.iid
    -- The first answer to a request counts.
    order by r.reply_to, r.place
    on conflict do nothing;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/are_held',
    checksum: 'b9824795509c47f2',
    sql: `-- One letter for each attempt, in the order given: t when this runtime holds it, otherwise f.
create or replace function are_held(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  -- Of the tasks that are meant; a null is not compared.
  p_tokens bigint[] default null
)
  returns text
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  return (
    select coalesce(
      string_agg(
        case
          when t.held_by = p_runtime
            and t.attempts = g.attempt
            and (g.token is null or t.token = g.token)
            then 't'
          else 'f'
        end,
        '' order by g.place
      ),
      ''
    )
    from unnest(p_iids, p_executions, p_commands, p_attempts, p_tokens) with ordinality
      as g (iid, execution, command, attempt, token, place)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    left join lateral (
      select t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
    ) as t on true
  );
end
$$;
`,
  },
  {
    name: 'procedures/be_durable',
    checksum: 'c3f7c3637ac0ea20',
    sql: `-- Makes this transaction wait for the disk, whatever the role or the session says. A setting on
-- the function itself would end before the commit does.
create or replace function be_durable()
  returns void
  language plpgsql
  volatile
as $$
begin
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/beat_tasks',
    checksum: 'ec103f13f8926c41',
    sql: `-- Records signs of life. One letter for each, t or f: whether the attempt is still wanted, and this
-- runtime's.
--
-- Activities that run at the owner of their instance, and are no tasks so far, come with an epoch;
-- p_locals are the lists of insert_tasks() for these, or empty.
create or replace function beat_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  p_silent_ms bigint[],
  -- False leaves the details as they are.
  p_told boolean[],
  p_details text,
  p_epochs integer[],
  p_locals text,
  -- Null from versions that do not know of them; a null is not compared.
  p_tokens bigint[] default null,
  out wanted text
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_locals text[];
  v_known text;
  -- Places of those that do not become tasks.
  v_strange bigint[] := '{}';
  v_sessions text[];
begin
  if not v_alive then
    wanted := repeat('f', v_size);
    return;
  end if;
  perform be_durable();

  if p_locals <> '' then
    v_known := are_held(p_runtime, p_iids, p_executions, p_commands, p_attempts, p_tokens);
    v_strange := array(
      select g.place
      from unnest(p_iids, p_epochs) with ordinality as g (iid, epoch, place)
      left join runs as r
        on r.iid = g.iid
        and r.owner = p_runtime
        and r.epoch = g.epoch
        and not r.held
      where g.epoch is not null
        and r.iid is null
        and substr(v_known, g.place::integer, 1) = 'f'
    );
    v_locals := split_lists(p_locals, case when p_tokens is null then 15 else 16 end);
    perform insert_tasks(
      array(select distinct l.iid from unnest(v_locals[1]::bigint[]) as l (iid)),
      v_locals,
      p_runtime
    );
  end if;

  with beats as materialized (
    select t.iid, t.execution, t.command, g.silent_ms, g.told, g.details
    from unnest(
      p_iids, p_executions, p_commands, p_attempts, p_silent_ms, p_told,
      split_texts(p_details, v_size), p_tokens
    ) with ordinality
      as g (iid, execution, command, attempt, silent_ms, told, details, token, place)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.iid, t.execution, t.command, t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      -- What is locked is being finished, or taken over: there is no next beat, or it is told so.
      for no key update skip locked
    ) as t
    where t.held_by = p_runtime
      and t.attempts = g.attempt
      and (g.token is null or t.token = g.token)
      and g.place <> all (v_strange)
  ),
  written as (
    update tasks as t
    set beat = case when b.told then b.details else t.beat end,
        beat_until = v_clock + b.silent_ms
    from beats as b
    where t.iid = b.iid
      and t.execution = b.execution
      and t.command = b.command
    returning t.session
  )
  select array_agg(w.session) filter (where w.session is not null)
  into v_sessions
  from written as w;
  if v_sessions is not null then
    perform touch_sessions(p_runtime, v_sessions, v_clock);
  end if;

  wanted := are_held(p_runtime, p_iids, p_executions, p_commands, p_attempts, p_tokens);
  if cardinality(v_strange) > 0 then
    wanted := (
      select string_agg(
        case when g.place = any (v_strange) then 'f' else g.letter end,
        '' order by g.place
      )
      from string_to_table(wanted, null) with ordinality as g (letter, place)
    );
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/begin_transaction',
    checksum: 'a899db06232a6f3c',
    sql: `-- The first statement of a transaction in which the code of a user runs. Answers with the number of
-- the transaction, by which finish_transaction() knows it again; null when the code must not run.
--
-- Until the end of the transaction nobody else runs the code of this command: who comes second waits
-- here, and then sees what became of the first. The lock is in the other of the two spaces that
-- PostgreSQL has for such locks: no runtime, and so no commit, ever waits for it.
create or replace function begin_transaction(
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  -- Of the owner of the instance; null for the holder of a task, who has an attempt instead.
  p_epoch integer,
  p_attempt integer,
  -- How long the code may let the connection wait between two statements.
  p_idle_ms integer,
  -- As may_transact() takes them; null from versions that do not know of them.
  p_turn integer default null,
  p_token bigint default null,
  out xid text
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_key text := format('%s/%s/%s/%s', lock_space(), p_iid, p_execution, p_command);
begin
  perform require_fresh_snapshots();
  perform pg_advisory_xact_lock(hashtextextended(v_key, 0));
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  -- A new statement, and so a new snapshot: it sees what the lock waited for.
  if may_transact(
    p_runtime, p_iid, p_execution, p_command, p_epoch, p_attempt, p_turn, p_token
  ) then
    xid := pg_current_xact_id();
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/bury_expired',
    checksum: 'dd9b5bafd1027313',
    sql: `-- Declares dead, for ever, every other runtime whose lease ended, and frees what it owned and held. One
-- whose lease ended while the server was away could not renew it: that says nothing of the instances
-- and tasks it had, and does not count against them.
create or replace function bury_expired(p_clock bigint, p_self integer)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_since bigint := server_since();
  v_runtime integer;
  v_was_cut_off boolean;
  v_dead integer[] := '{}';
  v_cut_off integer[] := '{}';
begin
  for v_runtime, v_was_cut_off in
    select r.runtime, r.lease_until <= v_since
    from runtimes as r
    where r.state = 1
      and r.lease_until <= p_clock
      and r.runtime <> p_self
    order by r.runtime
    for update skip locked
  loop
    -- It is writing at this moment: then it lives, and we look again at the next tick.
    if pg_try_advisory_xact_lock(lock_space(), v_runtime) then
      if v_was_cut_off then
        v_cut_off := v_cut_off || v_runtime;
      else
        v_dead := v_dead || v_runtime;
      end if;
    end if;
  end loop;

  if cardinality(v_dead || v_cut_off) > 0 then
    update runtimes
    set state = 2
    where runtime = any (v_dead || v_cut_off);
    perform free_runs(v_dead, p_clock, true);
    perform free_runs(v_cut_off, p_clock, false);
    perform free_tasks(v_dead, true);
    perform free_tasks(v_cut_off, null);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/change_tasks',
    checksum: 'f64188e1a949eb22',
    sql: `-- Adds the tasks that turns ask for, and removes those that nobody waits for any more, whoever
-- holds them: for the instances that are in p_done. p_tasks are lists: those of insert_tasks(),
-- and then instances, executions (null for the current one) and commands of what is dropped; last
-- come the tokens of the tasks, which older versions do not send.
create or replace function change_tasks(p_done bigint[], p_tasks text)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_lists text[] := split_lists(
    p_tasks, case when cardinality(string_to_array(p_tasks, e'\\x02')) = 18 then 18 else 19 end
  );
  v_iids bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  if v_lists[1] <> '{}' then
    perform insert_tasks(p_done, v_lists[1:15] || v_lists[19], null);
  end if;

  -- Last, since a turn may drop what it asked for.
  if v_lists[16] <> '{}' then
    select array_agg(g.iid), array_agg(coalesce(g.execution, i.execution)), array_agg(g.command)
    into v_iids, v_executions, v_commands
    from unnest(v_lists[16]::bigint[], v_lists[17]::integer[], v_lists[18]::integer[])
      as g (iid, execution, command)
    cross join lateral (
      select i.execution
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as i
    where g.iid = any (p_done);
    perform drop_tasks(v_iids, v_executions, v_commands);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/choose_tasks',
    checksum: 'b5d7ac59c10ff3c5',
    sql: `-- The oldest tasks that a runtime may have now, without locking them, as many as it wants; and when
-- others are to be had by time alone. p_missed are numbers that it does not want.
create or replace function choose_tasks(
  p_runtime integer,
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  p_limit integer,
  p_most_sessions integer,
  p_session_idle_ms bigint,
  p_clock bigint,
  p_missed bigint[],
  out numbers bigint[],
  out iids bigint[],
  out executions integer[],
  out commands integer[],
  out sessions text[],
  -- Not started in time.
  out late boolean[],
  out limited boolean[],
  out opens_at bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
begin
  with lanes as materialized (
    select *
    from open_lanes(
      p_runtime, p_activities, p_tags, p_any_tag,
      -- In each of these, one that is missed may be all there is.
      p_limit + cardinality(p_missed),
      p_most_sessions, p_session_idle_ms, p_clock
    )
  ),
  first as materialized (
    select
      t.*, l.limited_to, row_number() over (partition by t.limit_key order by t.number) as place
    from lanes as l
    cross join lateral (
      select
        t.number, t.iid, t.execution, t.command, t.session, t.limit_key,
        coalesce(t.start_by <= p_clock, false) and t.attempts = 0 as late
      from tasks as t
      where t.activity = l.activity collate "C"
        and t.tag = l.tag collate "C"
        and t.lane = l.lane
        and t.held_by is null
        and t.visible_at is null
        and t.number <> all (p_missed)
      order by t.number
      limit least(l.most, p_limit)
    ) as t
  ),
  chosen as materialized (
    select f.*
    from first as f
    -- Several lines may share a limit.
    where f.limited_to is null
      or f.place <= f.limited_to
    order by f.number
    limit p_limit
  )
  select
    array_agg(c.number), array_agg(c.iid), array_agg(c.execution), array_agg(c.command),
    array_agg(c.session), array_agg(c.late), array_agg(c.limited_to is not null),
    (select min(l.opens_at) from lanes as l where l.most < 1)
  into numbers, iids, executions, commands, sessions, late, limited, opens_at
  from chosen as c;
end
$$;
`,
  },
  {
    name: 'procedures/claim',
    checksum: 'd898f739b93b91eb',
    sql: `-- Takes ownership of up to p_limit instances of these workflows: first of those hinted at, then of
-- what is due, then of what has mail. What two owners died with comes one at a time. Numbers only;
-- load() reads the rest (a large answer to a process that stopped reading would keep the rows
-- locked). What was started without a version gets one, and is passed on where that is not among
-- these workflows.
create or replace function claim(
  p_runtime integer,
  p_workflows integer[],
  p_limit integer,
  p_hinted bigint[],
  out state text,
  out clock bigint,
  out iids bigint[],
  out epochs integer[],
  out executions integer[],
  out turns integer[],
  out attempts integer[],
  -- Joined by \\x01.
  out doings text,
  -- For other runtimes, which have the version that these were given.
  out passed bigint[],
  -- When the next one falls due: past when it is somebody's who has it locked.
  out next_due bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_found bigint[] := '{}';
  v_more bigint[];
  v_share integer;
  v_careful bigint;
begin
  clock := v_clock;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  -- An epoch that was lost would be given out twice: see ADR 12.
  perform be_durable();
  if p_limit < 1 or cardinality(p_workflows) = 0 then
    return;
  end if;

  if (
    select true
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.iid
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at <= v_clock
        and r.attempts > 1
      limit 1
    ) as struggling
    limit 1
  ) and may_be_careful(p_runtime) then
    -- What owners died with is due at once, and has no other way to be found than being due.
    v_careful := (
      select struggling.iid
      from unnest(p_workflows) as w (workflow)
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= v_clock
          and r.attempts > 1
        order by r.wake_at
        limit 1
        for update skip locked
      ) as struggling
      limit 1
    );
    if v_careful is not null then
      v_found := v_found || v_careful;
      update runtimes
      set careful = v_careful
      where runtime = p_runtime;
    end if;
  end if;

  if cardinality(p_hinted) > 0 then
    select array_agg(free.iid)
    into v_more
    from (
      select unowned.iid
      from (select distinct iid from unnest(p_hinted) as h (iid)) as h
      cross join lateral (
        select r.iid
        from runs as r
        where r.iid = h.iid
          and r.owner is null
          and not r.held
          and r.attempts < 2
          and r.workflow = any (p_workflows)
          and (
            r.wake_at <= v_clock
            or (r.epoch > 0 or r.wake_at is null) and (
              select true
              from inbox as i
              where i.iid = r.iid
                -- Sent while it was started: see unpark_started().
                and (not i.parked or i.early)
              limit 1
            )
            -- Its activity may be known to who runs it: see stranded().
            or r.has_tasks and (select true from tasks as t where t.iid = r.iid and t.held_by is null limit 1)
          )
        limit 1
        for update skip locked
      ) as unowned
      limit p_limit - cardinality(v_found)
    ) as free;
    v_found := v_found || v_more;
  end if;

  -- Each workflow its share first, so that a long backlog of one holds up no other; then whatever
  -- is left, to whoever has it. The workflow that has waited longest comes first: where there is
  -- less room than workflows, those at the end of the list would never have their turn. They are
  -- put in order before anything is locked, so that no more is locked than is taken.
  foreach v_share in array array[
    (p_limit - cardinality(v_found) + cardinality(p_workflows) - 1) / cardinality(p_workflows),
    p_limit
  ] loop
    exit when cardinality(v_found) >= p_limit;
    select array_agg(free.iid)
    into v_more
    from (
      select due.iid
      from (
        select p.workflow
        from unnest(p_workflows) as p (workflow)
        cross join lateral (
          select r.wake_at
          from runs as r
          where r.workflow = p.workflow
            and r.wake_at <= v_clock
            and r.attempts < 2
          order by r.wake_at
          limit 1
        ) as oldest
        order by oldest.wake_at
      ) as w
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= v_clock
          and r.attempts < 2
          and r.iid <> all (v_found)
        order by r.wake_at
        limit v_share
        for update skip locked
      ) as due
      limit p_limit - cardinality(v_found)
    ) as free;
    v_found := v_found || v_more;
  end loop;

  if cardinality(v_found) < p_limit then
    select array_agg(free.iid)
    into v_more
    from (
      select unowned.iid
      from (select distinct iid from inbox where not parked) as m
      -- The inner limit keeps the order of the join: from the mail, which is little, to the runs.
      cross join lateral (
        select r.iid
        from runs as r
        where r.iid = m.iid
          and r.owner is null
          and not r.held
          and r.attempts < 2
          -- What was never run waits for its time, whatever is sent to it meanwhile.
          and (r.epoch > 0 or r.wake_at is null)
          and r.workflow = any (p_workflows)
          and r.iid <> all (v_found)
        limit 1
        for update skip locked
      ) as unowned
      -- After the join: before it, the limit would fill with what cannot be claimed.
      limit p_limit - cardinality(v_found)
    ) as free;
    v_found := v_found || v_more;
  end if;

  if cardinality(v_found) = 0 then
    next_due := next_wake(p_workflows);
    return;
  end if;

  passed := resolve_versions(p_runtime, v_found, p_workflows, v_clock);
  if cardinality(passed) > 0 then
    v_found := array(
      select f.iid
      from unnest(v_found) with ordinality as f (iid, place)
      where f.iid <> all (passed)
      order by f.place
    );
  end if;

  with taken as (
    update runs as r
    set owner = p_runtime,
        epoch = r.epoch + 1,
        wake_at = null
    where r.iid = any (v_found)
    returning r.iid, r.epoch, r.attempts, r.doing
  )
  select
    array_agg(t.iid order by f.place),
    array_agg(t.epoch order by f.place),
    array_agg(last.execution order by f.place),
    array_agg(last.turn order by f.place),
    array_agg(t.attempts::integer order by f.place),
    string_agg(coalesce(t.doing, ''), e'\\x01' order by f.place)
  into iids, epochs, executions, turns, attempts, doings
  from unnest(v_found) with ordinality as f (iid, place)
  join taken as t on t.iid = f.iid
  cross join lateral last_turn(t.iid) as last;
  next_due := next_wake(p_workflows);
end
$$;
`,
  },
  {
    name: 'procedures/claim_tasks',
    checksum: '0cbe60ea526dec5a',
    sql: `-- Hands out up to p_limit tasks to a runtime, oldest first. Keys only; held_tasks() reads the rest
-- (a large answer to a process that stopped reading would keep the rows locked).
--
-- What may be had is looked for without locks, and then locked as far as nobody else has: so no
-- more is locked than is taken, and nobody is waited for.
create or replace function claim_tasks(
  p_runtime integer,
  p_limit integer,
  p_most_sessions integer,
  p_session_idle_ms bigint,
  -- What it serves, as ready_lanes() takes it.
  p_activities text,
  p_activity_count integer,
  p_tags text,
  p_tag_count integer,
  p_any_tag boolean,
  out state text,
  out clock bigint,
  out iids bigint[],
  out executions integer[],
  out commands integer[],
  out next_due bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_activities text[] := split_texts(p_activities, p_activity_count);
  v_tags text[] := split_texts(p_tags, p_tag_count);
  v_chosen record;
  v_sessions text[];
  v_taken record;
  v_missed bigint[] := '{}';
  v_passed_over boolean := false;
begin
  clock := v_clock;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  iids := '{}';
  perform be_durable();
  if p_limit > 0 then
    v_passed_over := wake_tasks(v_activities, v_tags, p_any_tag, v_clock);
  end if;

  -- Again as long as something is missed: whoever looks at the same moment looks for the same.
  for v_round in 1..10 loop
    exit when cardinality(iids) >= p_limit;
    select c.*
    into v_chosen
    from choose_tasks(
      p_runtime, v_activities, v_tags, p_any_tag, p_limit - cardinality(iids), p_most_sessions,
      p_session_idle_ms, v_clock, v_missed
    ) as c;
    next_due := v_chosen.opens_at;
    exit when v_chosen.numbers is null;

    if true = any (v_chosen.late) then
      perform shelve_tasks(
        v_chosen.iids, v_chosen.executions, v_chosen.commands, v_chosen.late
      );
    end if;
    v_sessions := array_remove(v_chosen.sessions, null);
    if cardinality(v_sessions) > 0 then
      v_sessions := take_sessions(p_runtime, v_sessions, p_session_idle_ms, v_clock);
    end if;

    select t.*
    into v_taken
    from hold_tasks(
      p_runtime, v_chosen.iids, v_chosen.executions, v_chosen.commands, v_sessions, v_clock
    ) as t;
    iids := iids || v_taken.iids;
    executions := executions || v_taken.executions;
    commands := commands || v_taken.commands;
    v_missed := v_missed || array(
      select unnest(v_chosen.numbers) except select unnest(v_taken.numbers)
    );
    -- What a limit leaves behind is to be had later, and only another look tells when.
    exit when cardinality(v_taken.numbers) = cardinality(v_chosen.numbers)
      and not true = any (v_chosen.limited);
  end loop;

  next_due := least(next_due, next_task_at(v_activities, v_tags, p_any_tag));
  if v_passed_over then
    next_due := least(next_due, v_clock + 50);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/clock_after',
    checksum: 'ef33dda337161cae',
    sql: `-- The store's clock when the server's shows p_wall, by what was noted last (see clock_kept): where it
-- was then and nine tenths of what has passed since, or the server's where that is further. So it goes
-- on where it was when the server's clock is set back, and more slowly until the two agree.
--
-- Leases are renewed, and the clock noted, every ten seconds and more often. If much more has passed by
-- the server's clock, that was set forward, or nobody was here: then nothing has passed, but the store's
-- clock is ahead by so much less. Rather seconds late than minutes early.
--
-- More than an hour it is never ahead: whoever waits for a date would be far too early, and for long.
-- Then it is the server's.
create or replace function clock_after(p_kept bigint, p_wall bigint)
  returns bigint
  language plpgsql
  immutable
as $$
declare
  v_seen bigint := p_kept / 1000000;
  v_passed bigint := p_wall - v_seen;
  v_clock bigint := v_seen + p_kept % 1000000 * 10;
begin
  if v_passed between 0 and 15000 then
    v_clock := v_clock + v_passed - v_passed / 10;
  end if;
  if v_clock > p_wall + 3600000 then
    return p_wall;
  end if;
  return greatest(v_clock, p_wall);
end
$$;
`,
  },
  {
    name: 'procedures/close_children',
    checksum: '04cff023141cf301',
    sql: `-- Asks unfinished children to end, each in the way that its link to the parent says. p_commands
-- names them by the command that started them; null stands for all children of that parent.
-- p_executions is null for the current execution.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function close_children(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_children bigint[];
begin
  -- Two ways to find them, and so two statements: one condition for both would use no index.
  -- The limits keep the order of the joins: from the few that are named to the many there are.
  v_children := array(
    select child.iid
    from unnest(p_iids, p_executions, p_commands) as c (iid, execution, command)
    cross join lateral (
      select i.iid
      from instances as i
      where i.parent_iid = c.iid
        and i.parent_execution = coalesce(
          c.execution,
          (select parent.execution from instances as parent where parent.iid = c.iid limit 1)
        )
        and i.parent_command = c.command
        and i.status = 1
      limit 1
    ) as child
  );
  if array_position(p_commands, null) is not null then
    v_children := v_children || array(
      select child.iid
      from unnest(p_iids, p_commands) as c (iid, command)
      join instances as child on child.parent_iid = c.iid
      where c.command is null
        and child.status = 1
    );
  end if;

  insert into inbox (iid, kind, name, payload)
  select child.iid, child.on_close + 3, '', '"parent closed"'
  from unnest(v_children) as v (iid)
  cross join lateral (
    select i.iid, i.on_close
    from instances as i
    where i.iid = v.iid
    limit 1
  ) as child
  where child.on_close < 3
    -- Who was told already is not told again.
    and (
      select true
      from inbox as told
      where told.iid = child.iid
        and told.kind > 2
        and told.kind = child.on_close + 3
      limit 1
    ) is null
  order by child.iid;
end
$$;
`,
  },
  {
    name: 'procedures/close_orphans',
    checksum: 'adf7952604e5555f',
    sql: `-- Asks children to end whose parent ended before their start arrived: nobody else would. A parent
-- that is just ending is waited for, because it cannot see them; one that goes on is not held up.
create or replace function close_orphans(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  -- The inner limits keep the order of the joins: from the few that are named to the many there are.
  perform
  from (
    select child.parent_iid
    from unnest(p_iids) as p (iid)
    cross join lateral (
      select c.parent_iid
      from instances as c
      where c.iid = p.iid
        and c.on_close < 3
      limit 1
    ) as child
    order by child.parent_iid
  ) as link
  cross join lateral (
    select
    from runs as r
    where r.iid = link.parent_iid
    limit 1
    for key share
  ) as parent;

  insert into inbox (iid, kind, name, payload)
  select child.iid, child.on_close + 3, '', '"parent closed"'
  from unnest(p_iids) as p (iid)
  cross join lateral (
    select c.iid, c.on_close
    from instances as c
    where c.iid = p.iid
      and c.on_close < 3
      and c.status = 1
      and (select true from runs as parent where parent.iid = c.parent_iid limit 1) is null
    limit 1
  ) as child
  order by child.iid;
end
$$;
`,
  },
  {
    name: 'procedures/commit_batch',
    checksum: '424c583057ff7bb8',
    sql: `-- Writes what one runtime decided about many instances, each judged by itself (design: F1, F2, F4,
-- C8). Must be called alone, as the only statement of its transaction.
--
-- Answers with one letter per start and per turn, in the order given: d done, r refused; of starts
-- also those of insert_starts().
create or replace function commit_batch(
  p_runtime integer,
  p_server text,
  -- The turns, one instance at most once. p_turns is null where there is nothing to append.
  p_iids bigint[],
  p_epochs integer[],
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  -- What else becomes of those instances.
  p_taken_iids bigint[],
  p_taken_ids bigint[],
  p_released_iids bigint[],
  p_wake_ats bigint[],
  p_held_iids bigint[],
  p_reports text,
  p_ended_iids bigint[],
  p_ended_statuses smallint[],
  p_ended_outputs text,
  -- Lists packed into one text each, or empty when there are none: as continue_instances(),
  -- insert_starts(), apply_effects() and change_tasks() take them.
  p_continued text,
  p_starts text,
  p_effects text,
  p_tasks text,
  out state text,
  out clock bigint,
  out server text,
  out starts text,
  out turns text
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '1s'
  -- Planned once, and for any size: tables start empty, and plans are kept.
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_server text := server_identity();
  v_size integer := cardinality(p_iids);
  v_events text[];
  v_done bigint[];
  -- Whether turns that are there already are allowed for.
  v_is_careful boolean;
  v_more bigint[];
  v_struggling bigint[];
  v_born bigint[];
begin
  clock := v_clock;
  server := v_server;
  -- Another server may have lost the newest turns: copies in memory must be compared first.
  if v_server <> p_server then
    state := 'verify';
    return;
  end if;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  perform be_durable();

  -- Before the turns: who closes all its children closes also those of this batch. And ids are met
  -- before inboxes, as in post(), so that neither can block the other.
  if p_starts <> '' then
    -- Another transaction may have locked an id for long: see start_skip_locked().
    perform set_config('lock_timeout', '5ms', true);
    select s.letters, s.born
    into starts, v_born
    from insert_starts(p_runtime, v_clock, p_starts) as s;
    perform set_config('lock_timeout', '1s', true);
  end if;

  if v_size > 0 then
    v_events := split_texts(p_events, v_size);

    -- The insert is the verdict. One that allows for turns that are there already costs more for
    -- each row, in locks and in WAL; so larger batches are first written without, in a
    -- subtransaction, which has its price once: a further transaction number among them.
    --
    -- History is not looked at: a join with it may be planned, while the table is small, in a way
    -- that reads every turn of the instance.
    v_is_careful := v_size < 8;
    if not v_is_careful then
      begin
        with judged as materialized (
          select b.iid, b.n, r.attempts > 0 or r.doing is not null as is_struggling
          from unnest(p_iids) with ordinality as b (iid, n)
          join runs as r
            on r.iid = b.iid
            and r.owner = p_runtime
            and r.epoch = p_epochs[b.n]
            and not r.held
          where p_turns[b.n] is not null
        ),
        appended as (
          insert into history (iid, execution, turn, epoch, at, first, count, events)
          select
            iid, p_executions[n], p_turns[n], p_epochs[n], p_ats[n], p_firsts[n], p_counts[n],
            v_events[n]
          from judged
          order by iid
        )
        select array_agg(iid), array_agg(iid) filter (where is_struggling)
        into v_done, v_struggling
        from judged;
      exception
        when unique_violation then
          v_is_careful := true;
      end;
    end if;
    if v_is_careful then
      with judged as materialized (
        select b.iid, b.n, r.attempts > 0 or r.doing is not null as is_struggling
        from unnest(p_iids) with ordinality as b (iid, n)
        join runs as r
          on r.iid = b.iid
          and r.owner = p_runtime
          and r.epoch = p_epochs[b.n]
          and not r.held
        where p_turns[b.n] is not null
      ),
      appended as (
        insert into history (iid, execution, turn, epoch, at, first, count, events)
        select
          iid, p_executions[n], p_turns[n], p_epochs[n], p_ats[n], p_firsts[n], p_counts[n],
          v_events[n]
        from judged
        order by iid
        on conflict do nothing
        returning iid
      )
      select
        (select array_agg(iid) from appended),
        (select array_agg(iid) from judged where is_struggling)
      into v_done, v_struggling;
    end if;

    -- What appends nothing is judged under a lock on its row, so that the same item sent again
    -- waits for the first.
    if array_position(p_turns, null) is not null then
      select array_agg(locked.iid)
      into v_more
      from (
        select r.iid
        from unnest(p_iids, p_epochs, p_turns) as b (iid, epoch, turn)
        join runs as r
          on r.iid = b.iid
          and r.owner = p_runtime
          and r.epoch = b.epoch
          and not r.held
        where b.turn is null
        order by r.iid
        for no key update of r
      ) as locked;
      v_done := v_done || v_more;
    end if;

    -- It got further: earlier deaths of its owners no longer count.
    if v_struggling is not null then
      update runs
      set attempts = 0,
          doing = null
      where iid = any (v_struggling)
        and iid = any (v_done);
    end if;

    if cardinality(p_released_iids) > 0 then
      -- To come to rest is progress: who released it did not die of it.
      update runs as r
      set owner = null,
          wake_at = l.wake_at,
          attempts = 0,
          doing = null
      from unnest(p_released_iids, p_wake_ats) as l (iid, wake_at)
      join unnest(v_done) as d (iid) on d.iid = l.iid
      where r.iid = l.iid;
    end if;

    if cardinality(p_held_iids) > 0 then
      with aside as materialized (
        select h.iid, h.report
        from unnest(
          p_held_iids, split_texts(p_reports, cardinality(p_held_iids))
        ) as h (iid, report)
        join unnest(v_done) as d (iid) on d.iid = h.iid
      ),
      set_aside as (
        update runs as r
        set owner = null,
            wake_at = null,
            held = true
        from aside as a
        where r.iid = a.iid
      )
      update instances as i
      set report = a.report,
          updated_at = v_clock
      from aside as a
      where i.iid = a.iid;
    end if;

    if cardinality(p_taken_iids) > 0 then
      delete from inbox as i
      using unnest(p_taken_iids, p_taken_ids) as t (iid, id)
      join unnest(v_done) as d (iid) on d.iid = t.iid
      where i.iid = t.iid
        and i.id = t.id;
    end if;

    if p_continued <> '' then
      perform continue_instances(v_clock, v_done, p_continued);
    end if;
  end if;

  if p_effects <> '' then
    perform apply_effects(v_clock, v_done || v_born, p_effects);
  end if;

  if p_tasks <> '' then
    perform change_tasks(v_done || v_born, p_tasks);
  end if;

  if cardinality(p_ended_iids) > 0 then
    perform end_instances(
      v_clock,
      -- Fewer to look through.
      case when cardinality(v_done) = v_size then p_ended_iids else v_done end,
      p_ended_iids, p_ended_statuses, p_ended_outputs
    );
  end if;

  state := 'ok';
  if v_size = 0 or cardinality(v_done) = v_size then
    turns := repeat('d', v_size);
    return;
  end if;

  -- What was refused may have been written by an earlier sending whose answer was lost. Scalar
  -- subqueries throughout: an exists() may be planned as a hash of the whole table.
  turns := (
    select string_agg(
      case
        when d.iid is not null then 'd'
        when b.turn is not null then
          case
            when b.epoch = (
              select h.epoch
              from history as h
              where h.iid = b.iid
                and h.execution = b.execution
                and h.turn = b.turn
            ) then 'd'
            else 'r'
          end
        -- Released or set aside, and nobody claimed it since. Who else frees an instance raises its
        -- epoch, or first declares its owner dead, and then we are not here.
        when b.iid = any (p_released_iids || p_held_iids)
          and b.epoch = (
            select r.epoch
            from runs as r
            where r.iid = b.iid
              and r.owner is null
          )
          then 'd'
        when (
            select e.status
            from unnest(p_ended_iids, p_ended_statuses) as e (iid, status)
            where e.iid = b.iid
          ) = (
            select i.status
            from instances as i
            where i.iid = b.iid
          )
          then 'd'
        else 'r'
      end,
      '' order by b.place
    )
    from unnest(p_iids, p_epochs, p_executions, p_turns) with ordinality
      as b (iid, epoch, execution, turn, place)
    left join unnest(v_done) as d (iid) on d.iid = b.iid
  );
end
$$;
`,
  },
  {
    name: 'procedures/continue_instances',
    checksum: '9328b62f3512191c',
    sql: `-- Begins the next execution of those instances that are in p_done. p_continued are lists, in the order
-- of the columns below. Who does not keep an instance frees it, due now.
create or replace function continue_instances(p_clock bigint, p_done bigint[], p_continued text)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_lists text[] := split_lists(p_continued, 9);
  v_iids bigint[] := v_lists[1];
  v_with_tasks bigint[];
  v_executions integer[];
begin
  with going_on as materialized (
    select c.*, r.epoch, r.has_tasks
    from unnest(
      v_iids, v_lists[2]::boolean[], v_lists[3]::integer[], v_lists[4]::integer[],
      v_lists[5]::integer[], v_lists[6]::bigint[], v_lists[7]::integer[], v_lists[8]::integer[],
      split_texts(v_lists[9], cardinality(v_iids))
    ) as c (iid, kept, workflow, execution, turn, at, first, count, events)
    join unnest(p_done) as d (iid) on d.iid = c.iid
    join runs as r on r.iid = c.iid
  ),
  first_turns as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select iid, execution, turn, epoch, at, first, count, events
    from going_on
    order by iid
  ),
  run as (
    update runs as r
    set workflow = g.workflow,
        owner = case when g.kept then r.owner end,
        wake_at = case when not g.kept then p_clock end,
        attempts = 0,
        doing = null
    from going_on as g
    where r.iid = g.iid
  ),
  -- Nobody waits for these any more.
  late_results as (
    delete from inbox as i
    where i.iid = any (array(select g.iid from going_on as g))
      and i.command is not null
      and i.execution < (select g.execution from going_on as g where g.iid = i.iid limit 1)
  ),
  moved_on as (
    update instances as i
    set execution = g.execution,
        workflow = g.workflow
    from going_on as g
    where i.iid = g.iid
  )
  select array_agg(g.iid), array_agg(g.execution)
  into v_with_tasks, v_executions
  from going_on as g
  where g.has_tasks;

  if v_with_tasks is not null then
    perform remove_tasks(v_with_tasks, v_executions);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor',
    checksum: '345809b97cea2aaa',
    sql: `-- Looks at what keeps this schema from doing well: one row for each thing that somebody should know
-- of or do something about, and one \`ok\` for each thing that was looked at and is in order. Reads
-- only, also on a standby; what the role may not see is said.
--
--   select * from doctor()                 -- what has been open for a minute counts as long
--   select * from doctor(600000)           -- ten minutes
create or replace function doctor(p_long_ms bigint default 60000)
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return query select * from doctor_settings();
  return query select * from doctor_connections();
  return query select * from doctor_vacuum(p_long_ms);
  return query select * from doctor_hints();
  return query select * from doctor_indexes();
  -- Only those who use the tables may read them; all others learn the rest.
  begin
    return query select * from doctor_tables();
    return query select * from doctor_migrations();
    return query select * from doctor_runtimes();
    return query select * from doctor_instances();
  exception when insufficient_privilege then
    return query
    select
      'note', 'privileges',
      format('%s may not read the tables of schema %s: %s', current_user, current_schema(), sqlerrm),
      format('grant select on all tables in schema %I to %I', current_schema(), current_user);
  end;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_connections',
    checksum: 'd8442ebe9b5f3968',
    sql: `-- Whether the server has connections left: a part of doctor().
create or replace function doctor_connections()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_used bigint := (
    select count(*)
    from pg_stat_activity as a
    -- What sessions of other roles are is hidden from roles that may not see it.
    where coalesce(a.backend_type = 'client backend', a.usesysid is not null and a.datid is not null)
  );
  v_most bigint := current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint
    -- Since PostgreSQL 16.
    - coalesce(current_setting('reserved_connections', true), '0')::bigint;
begin
  return query
  select
    case
      when v_used >= v_most * 0.95 then 'error'
      when v_used >= v_most * 0.8 then 'warning'
      else 'ok'
    end,
    'connections',
    format('%s of %s connections of the server are in use', v_used, v_most),
    case
      when v_used < v_most * 0.8 then ''
      else 'raise max_connections, give each process a pool of fewer connections, or put a pooler '
        'such as PgBouncer before the server and give listenUrl for hints'
    end;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_hints',
    checksum: '0c368e7b278763cc',
    sql: `-- Whether runtimes can tell each other what they did: a part of doctor().
create or replace function doctor_hints()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_usage double precision := pg_notification_queue_usage();
  v_ears bigint := (
    select count(*)
    from pg_stat_activity as a
    where a.datname = current_database()
      and (a.application_name = 'holdfast hints' or a.query like 'listen "holdfast\\_%')
  );
begin
  if v_usage > 0.1 then
    return query
    select
      case when v_usage > 0.5 then 'error' else 'warning' end,
      'hints',
      format(
        'the queue of notifications is %s %% full, because a session that listens stays in a '
        'transaction; when it is full, no transaction that notifies can commit',
        round(v_usage * 100)
      ),
      'end that session: the server''s log names its pid';
  else
    return query
    select
      'ok', 'hints',
      format('%s sessions of this database listen, for whichever schema', v_ears), '';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_indexes',
    checksum: 'e7bdce41cab4992f',
    sql: `-- Whether all indexes are there and can be used: a part of doctor(). Without one of them everything
-- still works, and becomes slower with each row.
create or replace function doctor_indexes()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return query
  select
    'error', 'indexes',
    case
      when i.indexrelid is null then format('the index %s is missing', e.name)
      else format('the index %s cannot be used: it was not built to its end', e.name)
    end,
    case
      when i.indexrelid is null then
        'create it again as docs/reference/schema.sql has it, with: create index concurrently'
      else format('reindex index concurrently %I.%I', current_schema(), e.name)
    end
  from unnest(
    array[
      'absences_at', 'absences_pkey', 'ended_pkey', 'history_pkey', 'inbox_early', 'inbox_mail',
      'inbox_pkey', 'inbox_results', 'inbox_waiting', 'instances_children', 'instances_id_key',
      'instances_pkey',
      'limits_pkey', 'limits_spent', 'posted_pkey', 'replies_at', 'replies_pkey', 'runs_careful',
      'runs_due', 'runs_pkey', 'runtimes_alive', 'runtimes_pkey', 'sessions_pkey',
      'sessions_runtime', 'sessions_touched', 'state_pkey', 'tasks_careful', 'tasks_delayed',
      'tasks_held', 'tasks_limited', 'tasks_pkey', 'tasks_ready', 'tasks_sessions', 'tasks_silent',
      'unwanted_tasks_pkey', 'workflows_name_version_key', 'workflows_pkey', 'workflows_retained'
    ]
  ) as e (name)
  left join pg_class as c
    on c.relname = e.name
    and c.relnamespace = (select n.oid from pg_namespace as n where n.nspname = current_schema())
  left join pg_index as i on i.indexrelid = c.oid
  where i.indexrelid is null
    or not i.indisvalid
    or not i.indisready
  order by e.name;
  if not found then
    return query select 'ok', 'indexes', 'all indexes are there and can be used', '';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_instances',
    checksum: 'fe3703cf8d2e12a0',
    sql: `-- Instances that do not move unless somebody does something: a part of doctor().
create or replace function doctor_instances()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_clock bigint := now_ms();
  v_served integer[];
  v_activities text[];
  v_activity text := '';
  v_count bigint;
  v_found boolean := false;
begin
  return query
  select
    'warning', 'instances',
    format(
      '%s instances are set aside, %s among them', h.count,
      (
        select string_agg(format('%L', i.id), ', ' order by i.id)
        from instances as i
        where i.iid = any (h.first)
      )
    ),
    'read why in instance.info().error, mend it, then: instance.resume(), or instance.terminate()'
  from (
    select count(*) as count, (array_agg(r.iid order by r.iid))[1:3] as first
    from runs as r
    where r.held
  ) as h
  where h.count > 0;
  v_found := found;

  select
    array_agg(distinct w.workflow),
    array_agg(distinct a.activity)
  into v_served, v_activities
  from runtimes as r
  left join unnest(r.workflows) as w (workflow) on true
  left join unnest(r.activities) as a (activity) on true
  where r.state = 1
    and r.lease_until > v_clock;

  return query
  select
    'warning', 'instances',
    format(
      '%s instances of workflow %s, %s, are due, and no runtime that is alive has its code',
      case when due.count = 1000 then '1000 or more' else due.count::text end, w.name,
      case when w.version = '' then 'any version' else 'version ' || w.version end
    ),
    'register that version in a runtime, or terminate the instances'
  from workflows as w
  cross join lateral (
    select count(*) as count
    from (
      select
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at <= v_clock
      limit 1000
    ) as some_due
  ) as due
  where w.workflow <> all (coalesce(v_served, '{}'))
    and due.count > 0
  order by w.name, w.version;
  v_found := v_found or found;

  loop
    -- From one activity to the next, over all tasks between them.
    v_activity := (
      select t.activity
      from tasks as t
      where t.activity > v_activity collate "C"
        and t.held_by is null
        and t.visible_at is null
        and t.lane is not null
      order by t.activity
      limit 1
    );
    exit when v_activity is null;
    continue when v_activity = any (v_activities);
    -- Who serves which tags is known to the runtimes alone.
    v_count := (
      select count(*)
      from (
        select
        from tasks as t
        where t.activity = v_activity collate "C"
          and t.tag = ''
          and t.held_by is null
          and t.visible_at is null
          and t.lane is not null
        limit 1000
      ) as some_ready
    );
    if v_count > 0 then
      v_found := true;
      return query
      select
        'warning', 'instances',
        format(
          '%s tasks of activity %s wait, and no runtime that is alive is known to have its code',
          case when v_count = 1000 then '1000 or more' else v_count::text end, v_activity
        ),
        'register the activity in a runtime';
    end if;
  end loop;

  return query
  select
    'note', 'instances',
    format(
      'messages wait for %s ids that were never started, %s among them', e.count,
      (
        select string_agg(format('%L', i.id), ', ' order by i.id)
        from instances as i
        where i.iid = any (e.first)
      )
    ),
    'start them, or find out who sends to the wrong ids'
  from (
    select count(*) as count, (array_agg(i.iid order by a.at, i.iid))[1:3] as first
    from absences as a
    join instances as i on i.iid = a.iid
    where i.status = 0
      and a.at < v_clock - 3600000
  ) as e
  where e.count > 0;
  v_found := v_found or found;

  if not v_found then
    return query select 'ok', 'instances', 'none is set aside, and none waits for code', '';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_migrations',
    checksum: '43f4ba4dec0ff92d',
    sql: `-- Who made the schema what it is: a part of doctor().
create or replace function doctor_migrations()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return query
  select
    'ok', 'migrations',
    format(
      'the last migration is %s; procedures were written by version %s',
      max(m.name) filter (where m.name like 'migrations/%'),
      string_agg(distinct m.version, ', ') filter (where m.name like 'procedures/%')
    ),
    ''
  from holdfast_migrations as m;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_runtimes',
    checksum: '0bfa9c0f4a056ad1',
    sql: `-- Who runs workflows, and whether they are of one version: a part of doctor(). What a runtime says of
-- itself is its machine, its process and its version.
create or replace function doctor_runtimes()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_clock bigint := now_ms();
  v_alive bigint;
  v_versions bigint;
  v_named text;
begin
  select coalesce(sum(v.count), 0), count(*), string_agg(v.words, '; ' order by v.version)
  into v_alive, v_versions, v_named
  from (
    select
      count(*) as count,
      r.version,
      format(
        '%s: %s', coalesce(r.version, 'unknown'),
        string_agg(r.place, ', ' order by r.place) filter (where r.nth <= 5)
      ) as words
    from (
      select
        nullif(split_part(r.info, ' ', 3), '') as version,
        split_part(r.info, ' ', 1) || ' ' || split_part(r.info, ' ', 2) as place,
        row_number() over (partition by split_part(r.info, ' ', 3) order by r.info) as nth
      from runtimes as r
      where r.state = 1
        and r.lease_until > v_clock
    ) as r
    group by r.version
  ) as v;

  return query
  select
    case when v_alive = 0 or v_versions > 1 then 'note' else 'ok' end,
    'runtimes',
    case
      when v_alive = 0 then 'no runtime is alive: nothing goes on'
      when v_versions > 1 then
        format('%s runtimes are alive, of %s versions: %s', v_alive, v_versions, v_named)
      else format('%s runtimes are alive, of version %s', v_alive, v_named)
    end,
    case
      when v_alive = 0 then 'start a process that opens this schema and registers workflows'
      when v_versions > 1 then 'finish the upgrade: bring the older processes to the newer version'
      else ''
    end;

  return query
  select
    'warning', 'runtimes',
    format(
      'runtime %s (%s) has been silent for %s s beyond its lease, and nobody has taken over',
      r.runtime, r.info, (v_clock - r.lease_until) / 1000
    ),
    'start another runtime, whose first tick takes over, or find out why those there are do not tick'
  from runtimes as r
  where r.state = 1
    and r.lease_until < v_clock - 30000
  order by r.lease_until
  limit 5;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_settings',
    checksum: '157ef992bb024d15',
    sql: `-- Whether the server keeps what it has acknowledged, and can be written to: a part of doctor().
create or replace function doctor_settings()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_faults integer;
begin
  return query
  select
    'error', 'settings',
    format('%s is "%s": %s', s.name, s.setting, r.why),
    r.fix
  from (
    values
      (
        'fsync', array['on'],
        'acknowledged work is lost with the power',
        'set fsync = on in postgresql.conf and reload'
      ),
      (
        'full_page_writes', array['on'],
        'a crash of the machine can damage tables',
        'set full_page_writes = on in postgresql.conf and reload'
      ),
      (
        'synchronous_commit', array['on', 'remote_apply'],
        'acknowledged work can be lost in a crash',
        format('alter role %I set synchronous_commit = on', current_user)
      ),
      (
        'default_transaction_isolation', array['read committed', 'read uncommitted'],
        'a stale owner could be taken for the rightful one',
        format('alter role %I set default_transaction_isolation = "read committed"', current_user)
      ),
      (
        'server_encoding', array['UTF8'],
        'not every text can be stored',
        'use a database made with encoding ''UTF8'''
      ),
      (
        'autovacuum', array['on'],
        'nothing removes what was deleted',
        'set autovacuum = on in postgresql.conf and reload'
      ),
      (
        'track_counts', array['on'],
        'autovacuum does not know what was deleted',
        'set track_counts = on in postgresql.conf and reload'
      )
  ) as r (name, allowed, why, fix)
  join pg_settings as s on s.name = r.name
  where s.setting <> all (r.allowed);
  get diagnostics v_faults = row_count;

  if pg_is_in_recovery() then
    return query
    select
      'note', 'settings', 'this server is a standby: nothing can be written here',
      'give runtimes and clients the address of the primary';
  elsif current_setting('default_transaction_read_only') = 'on' then
    return query
    select
      'error', 'settings', 'default_transaction_read_only is "on": nothing can be written here',
      format('alter role %I reset default_transaction_read_only', current_user);
  elsif v_faults = 0 then
    return query
    select
      'ok', 'settings',
      format('PostgreSQL %s, durable and writable', current_setting('server_version')), '';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_tables',
    checksum: 'a28142f5fdb8e10d',
    sql: `-- Whether what was deleted is removed: a part of doctor(). A table has too much of it when it is
-- twice as much as what autovacuum should come for.
create or replace function doctor_tables()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_found boolean;
begin
  return query
  select
    'warning', 'autovacuum',
    format('autovacuum is off for the table %s', c.relname),
    format('alter table %I.%I reset (autovacuum_enabled)', current_schema(), c.relname)
  from pg_class as c
  where c.relnamespace = (select n.oid from pg_namespace as n where n.nspname = current_schema())
    and c.relkind = 'r'
    and (
      select o.option_value
      from pg_options_to_table(c.reloptions) as o
      where o.option_name = 'autovacuum_enabled'
    ) in ('off', 'false', 'no', '0')
  order by c.relname;
  v_found := found;

  return query
  select
    'warning', 'bloat',
    format(
      'the table %s (%s) holds %s dead rows beside %s live ones; autovacuum comes for %s, and was '
      'there %s',
      t.relname, pg_size_pretty(pg_total_relation_size(t.relid)), t.n_dead_tup, t.n_live_tup,
      t.due_at,
      coalesce(date_trunc('second', clock_timestamp() - t.last_autovacuum) || ' ago', 'never')
    ),
    format(
      'end what holds vacuum back, if anything does; then: vacuum %I.%I; let autovacuum come '
      'sooner: alter table %I.%I set (autovacuum_vacuum_scale_factor = 0.05)',
      current_schema(), t.relname, current_schema(), t.relname
    )
  from (
    select
      s.relid, s.relname, s.n_dead_tup, s.n_live_tup, s.last_autovacuum,
      (
        coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold'))::float8
        + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor'))::float8
          * greatest(c.reltuples, 0)
      )::bigint as due_at
    from pg_stat_user_tables as s
    join pg_class as c on c.oid = s.relid
    cross join lateral (
      select
        max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_threshold'),
        max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_scale_factor')
      from pg_options_to_table(c.reloptions) as o
    ) as o (threshold, scale)
    where s.schemaname = current_schema()
  ) as t
  where t.n_dead_tup > 10000
    and t.n_dead_tup > 2 * t.due_at
  order by t.n_dead_tup desc;
  v_found := v_found or found;

  if not v_found then
    return query
    select
      'ok', 'bloat',
      format(
        '%s in all tables; the largest is %s; %s dead rows beside %s live ones',
        pg_size_pretty(sum(pg_total_relation_size(s.relid))),
        (array_agg(s.relname order by pg_total_relation_size(s.relid) desc))[1],
        sum(s.n_dead_tup), sum(s.n_live_tup)
      ),
      ''
    from pg_stat_user_tables as s
    where s.schemaname = current_schema();
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/doctor_vacuum',
    checksum: '680d999eb2684897',
    sql: `-- Who keeps vacuum from removing rows that nobody needs, and who holds locks without doing anything:
-- a part of doctor(). Only what concerns this database: sessions of another one hold nothing back
-- here.
create or replace function doctor_vacuum(p_long_ms bigint)
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_before timestamptz := clock_timestamp() - p_long_ms * interval '1 millisecond';
  v_hidden bigint;
  v_found boolean;
begin
  return query
  select
    case when t.holds_back then 'warning' else 'note' end,
    case when t.holds_back then 'vacuum' else 'transactions' end,
    format(
      'session %s of %s (%s) %s for %s%s: %s',
      t.pid, t.usename, coalesce(nullif(t.application_name, ''), 'no name'),
      case
        when t.is_idle then 'is idle in a transaction that has been open'
        else 'has had a transaction open'
      end,
      date_trunc('second', clock_timestamp() - t.xact_start),
      case
        when t.holds_back then ', and no row that was deleted since can be removed'
        else ', and holds the locks it took'
      end,
      t.query
    ),
    format('select pg_terminate_backend(%s)', t.pid)
      || case
        when t.is_idle then
          format('; alter role %I set idle_in_transaction_session_timeout = ''5min''', t.usename)
        else ''
      end
  from (
    select
      a.pid, a.usename, a.application_name, a.xact_start,
      a.state like 'idle in transaction%' as is_idle,
      a.backend_xmin is not null or a.backend_xid is not null as holds_back,
      left(regexp_replace(a.query, '\\s+', ' ', 'g'), 100) as query
    from pg_stat_activity as a
    where a.datname = current_database()
      and a.backend_type = 'client backend'
      and a.pid <> pg_backend_pid()
      and a.xact_start < v_before
  ) as t
  where t.holds_back
    or t.is_idle
  order by t.xact_start;
  v_found := found;

  -- A standby that asks for it, while it is connected: its session keeps what it needs, or its slot.
  return query
  select
    'warning', 'vacuum',
    format(
      'a standby (%s) has queries that need rows from %s transactions ago, and '
      'hot_standby_feedback keeps them here',
      f.standby, f.age
    ),
    'end the long queries on the standby, or set max_standby_streaming_delay there'
  from (
    select
      format(
        '%s, session %s of %s', coalesce(nullif(a.application_name, ''), 'no name'), a.pid, a.usename
      ) as standby,
      age(a.backend_xmin) as age
    from pg_stat_activity as a
    where a.backend_type = 'walsender'
    union all
    select format('replication slot %s', s.slot_name), age(s.xmin)
    from pg_replication_slots as s
    where s.active
  ) as f
  where f.age > 100000;
  v_found := v_found or found;

  return query
  select
    'warning',
    case when s.xmin is null and s.catalog_xmin is null then 'disk' else 'vacuum' end,
    format('nobody reads the %s replication slot %s, which keeps %s', s.slot_type, s.slot_name,
      case
        when s.xmin is not null then 'rows from ' || age(s.xmin) || ' transactions ago, and WAL'
        when s.catalog_xmin is not null then
          'catalog rows from ' || age(s.catalog_xmin) || ' transactions ago, and WAL'
        else 'WAL'
      end
    ),
    format('connect its reader again, or: select pg_drop_replication_slot(%L)', s.slot_name)
  from pg_replication_slots as s
  where not s.active
    and (s.xmin is not null or s.catalog_xmin is not null or s.restart_lsn is not null)
  order by s.slot_name;
  v_found := v_found or found;

  return query
  select
    'warning', 'vacuum',
    format(
      'transaction %L of %s was prepared %s ago and neither committed nor rolled back',
      p.gid, p.owner, date_trunc('second', clock_timestamp() - p.prepared)
    ),
    format('commit prepared %L, or: rollback prepared %L', p.gid, p.gid)
  from pg_prepared_xacts as p
  where p.database = current_database()
    and p.prepared < v_before
  order by p.prepared;
  v_found := v_found or found;

  v_hidden := (
    select count(*)
    from pg_stat_activity as a
    where a.datname = current_database()
      and a.query = '<insufficient privilege>'
  );
  if v_hidden > 0 then
    return query
    select
      'note', 'privileges',
      format('%s cannot see what %s sessions of other roles do', current_user, v_hidden),
      format('grant pg_read_all_stats to %I', current_user);
  end if;
  if not v_found then
    return query
    select
      'ok', 'vacuum',
      case
        when v_hidden > 0 then 'nothing that can be seen holds vacuum back'
        else 'nothing holds vacuum back'
      end,
      '';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/drop_tasks',
    checksum: '81d7d48c14a71427',
    sql: `-- Removes tasks, whoever holds them. What somebody has locked is not waited for, since a transaction
-- of a user may keep it for long: it is noted, and a tick removes it.
create or replace function drop_tasks(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  with given as materialized (
    select t.*
    from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
    ) as t
  ),
  dropped as materialized (
    select t.*
    from given as g
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
  ),
  removed as (
    delete from tasks as t
    using dropped as d
    where t.iid = d.iid
      and t.execution = d.execution
      and t.command = d.command
  )
  insert into unwanted_tasks (number, iid, execution, command)
  select g.number, g.iid, g.execution, g.command
  from given as g
  where g.number <> all (array(select d.number from dropped as d))
  order by g.number
  on conflict do nothing;
end
$$;
`,
  },
  {
    name: 'procedures/early_is_full',
    checksum: 'e2b4e8931648dc5d',
    sql: `-- Whether as many messages wait for instances that were never started as are kept in all: about a
-- million. Estimated by a sample of one in 1021 (a prime, so that no pattern of ids evades it). To count
-- them, senders would have to lock one row.
--
-- Its settings are those of its caller.
create or replace function early_is_full()
  returns boolean
  language plpgsql
  volatile
as $$
begin
  return (
    select count(*) >= 980
    from (select from inbox as m where m.early and m.id % 1021 = 0 limit 980) as sample
  );
end
$$;
`,
  },
  {
    name: 'procedures/end_instances',
    checksum: '0e7f2b099a2ae85f',
    sql: `-- Ends instances, those of p_iids that are also in p_done: what waits for them goes, their history
-- and state stay, and their parents are told. The keys of what was sent to them stay as well, until
-- they are removed: a sender may not know that its message arrived.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function end_instances(
  p_clock bigint,
  p_done bigint[],
  p_iids bigint[],
  p_statuses smallint[],
  p_outputs text
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_outputs text[] := split_texts(p_outputs, cardinality(p_iids));
  v_ended bigint[];
  v_children bigint[];
  v_with_tasks bigint[];
begin
  with ended as materialized (
    select e.iid, e.place
    from unnest(p_iids) with ordinality as e (iid, place)
    where e.iid = any (p_done)
  ),
  run as (
    delete from runs as r
    where r.iid = any (array(select e.iid from ended as e))
    returning r.iid, r.has_tasks
  ),
  undelivered as (
    delete from inbox as i
    where i.iid = any (array(select e.iid from ended as e))
  ),
  finished as (
    update instances as i
    set status = p_statuses[e.place],
        output = v_outputs[e.place],
        report = null,
        updated_at = p_clock,
        finished_at = p_clock
    from ended as e
    where i.iid = e.iid
    returning i.iid, i.parent_iid
  )
  select
    (select array_agg(f.iid) from finished as f),
    (select array_agg(f.iid) from finished as f where f.parent_iid is not null),
    (select array_agg(r.iid) from run as r where r.has_tasks)
  into v_ended, v_children, v_with_tasks;

  if v_with_tasks is not null then
    perform remove_tasks(v_with_tasks, null);
  end if;

  if v_children is not null then
    perform tell_parents(v_children);
  end if;
  perform note_ended(p_clock, v_ended);
end
$$;
`,
  },
  {
    name: 'procedures/enter',
    checksum: '99cc6e6704da4449',
    sql: `-- The first step of all that a runtime writes: keeps it from being declared dead until the end of
-- the transaction, and says whether it is alive. Who wants it dead needs the same lock alone, so
-- when a death is visible, no write of the dead follows.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function enter(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  perform require_fresh_snapshots();
  perform pg_advisory_xact_lock_shared(lock_space(), p_runtime);
  -- A new statement, and so a new snapshot: it sees a death that the lock waited for.
  return coalesce((select r.state = 1 from runtimes as r where r.runtime = p_runtime), false);
end
$$;
`,
  },
  {
    name: 'procedures/enter_within',
    checksum: '701f22180f61129b',
    sql: `-- Marks the transaction of a user as one in which start_within() and post_within() may write: they are
-- given the same token. The mark ends with the transaction, so outside of one it is gone at once.
-- Answers with the isolation of the transaction. Changes nothing that the user could notice.
create or replace function enter_within(p_token text, out isolation text)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  perform set_config('holdfast.within', p_token, true);
  isolation := current_setting('transaction_isolation');
end
$$;
`,
  },
  {
    name: 'procedures/find',
    checksum: '3b7ce4246a34c127',
    sql: `-- Instances by the caller's ids, as instance_rows() shows them.
create or replace function find(p_ids text, p_count integer)
  returns table (
    place bigint,
    iid bigint,
    id text,
    name text,
    version text,
    execution integer,
    status smallint,
    held boolean,
    scheduled boolean,
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text,
    parent_iid bigint,
    parent_id text,
    parent_execution integer,
    parent_command integer,
    on_close smallint,
    labels text,
    progress text,
    mail bigint
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select f.*
  from instance_rows(
    array(
      select i.iid
      from unnest(split_texts(p_ids, p_count)) with ordinality as g (id, place)
      left join instances as i on i.id = g.id collate "C"
      order by g.place
    )
  ) as f;
end
$$;
`,
  },
  {
    name: 'procedures/find_within',
    checksum: '5c247233071cc010',
    sql: `-- find() of one id, as one text of JSON, for transactions of users: through their drivers, answers
-- have one column of text. Sees what the same transaction did before.
create or replace function find_within(p_id text, out answer text)
  language plpgsql
  stable
  set search_path from current
as $$
begin
  answer := (
    select json_object_agg(
      e.key,
      -- As the wire has truths.
      case when e.key in ('held', 'scheduled') then left(e.value, 1) else e.value end
    )
    from find(p_id, 1) as f
    cross join lateral json_each_text(row_to_json(f)) as e
  );
end
$$;
`,
  },
  {
    name: 'procedures/finish_tasks',
    checksum: '27cdfac80397d784',
    sql: `-- Takes the results of attempts, each judged by itself: one letter for each, d done or g gone, and
-- the owners of the instances.
--
-- A result that completes a task is taken from anybody who names the token of the task; anything else
-- only from the attempt that is under way, at a runtime that is alive.
create or replace function finish_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  -- 1 completed, 2 failed, 3 retry, 4 release
  p_ends smallint[],
  p_delays bigint[],
  p_payloads text,
  -- Null from versions that do not know of them: then they are not compared.
  p_tokens bigint[] default null,
  out verdicts text,
  out owners integer[]
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '1s'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_done bigint[];
  v_sessions text[];
begin
  perform be_durable();

  with locked as materialized (
    select t.number, t.session, g.ending, g.place
    from (
      -- In one order, so that two who finish the same tasks cannot block each other.
      select *
      from unnest(p_iids, p_executions, p_commands, p_attempts, p_ends, p_tokens) with ordinality
        as g (iid, execution, command, attempt, ending, token, place)
      order by g.iid, g.execution, g.command
    ) as g
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.number, t.session, t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update
    ) as t
    where case
      when g.ending = 1 then p_tokens is null or t.token is not distinct from g.token
      else
        v_alive
        and t.held_by = p_runtime
        and t.attempts = g.attempt
        and (g.token is null or t.token = g.token)
    end
  )
  select array_agg(l.place), array_agg(l.session)
  into v_done, v_sessions
  from (
    select
      l.*,
      row_number() over by_task as nth,
      first_value(l.ending) over by_task as first_ending,
      row_number() over (partition by l.number, l.ending order by l.place) as nth_alike
    from locked as l
    window by_task as (partition by l.number order by l.place)
  ) as l
  -- Of several about one task the first counts; and then a completion, if it left the task there.
  where l.nth = 1
    or l.ending = 1 and l.nth_alike = 1 and l.first_ending > 2;

  if p_ends && array[3, 4]::smallint[] then
    update tasks as t
    set held_by = null,
        beat_until = null,
        visible_at = case when g.delay > 0 then v_clock + g.delay end,
        attempts = case when g.ending = 4 then greatest(t.attempts - 1, 0) else t.attempts end,
        error = case when g.ending = 3 then nullif(g.payload, '') else t.error end,
        -- It was begun in time, and given back.
        start_by = case when g.ending = 4 then null else t.start_by end
    from unnest(p_iids, p_executions, p_commands, p_ends, p_delays, v_payloads) with ordinality
      as g (iid, execution, command, ending, delay, payload, place)
    where g.place = any (v_done)
      and g.ending > 2
      and t.iid = g.iid
      and t.execution = g.execution
      and t.command = g.command;
  end if;

  if p_ends && array[1, 2]::smallint[] then
    with ended as materialized (
      select g.*
      from unnest(p_iids, p_executions, p_commands, p_ends, v_payloads) with ordinality
        as g (iid, execution, command, ending, payload, place)
      where g.place = any (v_done)
        and g.ending < 3
    ),
    removed as (
      delete from tasks as t
      using ended as e
      where t.iid = e.iid
        and t.execution = e.execution
        and t.command = e.command
    )
    insert into inbox (iid, kind, execution, command, payload)
    select e.iid, e.ending, e.execution, e.command, e.payload
    from ended as e
    cross join lateral (
      select
      from instances as i
      where i.iid = e.iid
        and i.execution = e.execution
        and i.status = 1
      limit 1
    ) as waiting
    order by e.iid, e.place
    on conflict do nothing;
  end if;

  v_sessions := array_remove(v_sessions, null);
  if cardinality(v_sessions) > 0 then
    perform touch_sessions(p_runtime, v_sessions, v_clock);
  end if;

  select
    string_agg(case when g.place = any (v_done) then 'd' else 'g' end, '' order by g.place),
    array_agg(r.owner order by g.place)
  into verdicts, owners
  from unnest(p_iids) with ordinality as g (iid, place)
  left join runs as r on r.iid = g.iid;
end
$$;
`,
  },
  {
    name: 'procedures/finish_transaction',
    checksum: '0de6f6b2953cd85a',
    sql: `-- The last statement of a transaction in which the code of a user ran: puts its result into the inbox.
-- Answers d (done), r (refused: to be rolled back), or e (this is not the transaction any more that
-- begin_transaction() began: the code has ended it).
--
-- Why this is exact, though it locks nothing that a commit would wait for:
--
--   - No two run the code of one command at once: begin_transaction() holds a lock to the end.
--   - Whoever took the instance or the task over before this statement is seen by it: refused.
--   - Whoever takes it over later has to wait for that lock to run the code, and then finds the result
--     in the inbox.
--   - A result that is in the inbox no longer was taken by the owner. One that owns the instance now
--     knows: it read the history when it claimed it, or took the result itself. So the code that it
--     hands over must look whether it is still wanted: by then nothing can come between.
create or replace function finish_transaction(
  p_xid text,
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  p_epoch integer,
  p_attempt integer,
  p_payload text,
  -- As may_transact() takes them; null from versions that do not know of them.
  p_turn integer default null,
  p_token bigint default null,
  out verdict text
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_session text;
begin
  if pg_current_xact_id()::text <> p_xid then
    verdict := 'e';
    return;
  end if;
  verdict := 'r';
  if not may_transact(
    p_runtime, p_iid, p_execution, p_command, p_epoch, p_attempt, p_turn, p_token
  ) then
    return;
  end if;
  perform be_durable();
  if p_attempt is not null then
    -- Only until the commit that follows; who drops tasks does not wait for it.
    delete from tasks
    where iid = p_iid
      and execution = p_execution
      and command = p_command
      and held_by is not distinct from p_runtime
      and attempts = p_attempt
    returning session into v_session;
    if not found then
      return;
    end if;
    if v_session is not null then
      perform touch_sessions(p_runtime, array[v_session], now_ms());
    end if;
  end if;
  insert into inbox (iid, kind, execution, command, payload)
  values (p_iid, 1, p_execution, p_command, p_payload)
  on conflict do nothing;
  if found then
    verdict := 'd';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/free_forgotten_tasks',
    checksum: '42cbab335bf78051',
    sql: `-- Frees tasks of runtimes that are gone: those that were locked when their runtimes went. They count
-- deaths as bury_expired() does.
create or replace function free_forgotten_tasks()
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_since bigint := server_since();
  v_gone integer[];
  v_dead integer[];
  v_cut_off integer[];
begin
  with recursive holders as (
    -- From one holder to the next, over all tasks between them.
    select min(t.held_by) as runtime
    from tasks as t
    where t.held_by is not null
    union all
    select (
      select min(t.held_by)
      from tasks as t
      where t.held_by is not null
        and t.held_by > h.runtime
    )
    from holders as h
    where h.runtime is not null
  )
  select
    array_agg(h.runtime) filter (where r.state is distinct from 2),
    array_agg(h.runtime) filter (where r.state = 2 and r.lease_until > v_since),
    array_agg(h.runtime) filter (where r.state = 2 and r.lease_until <= v_since)
  into v_gone, v_dead, v_cut_off
  from holders as h
  left join runtimes as r on r.runtime = h.runtime
  where h.runtime is not null
    and r.state is distinct from 1;

  if v_gone is not null then
    perform free_tasks(v_gone, false);
  end if;
  if v_dead is not null then
    perform free_tasks(v_dead, true);
  end if;
  if v_cut_off is not null then
    perform free_tasks(v_cut_off, null);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/free_runs',
    checksum: '5ad2f2438344e0c4',
    sql: `-- Makes all that these runtimes own claimable, now. p_failed says whether that counts as an
-- attempt. Scans the unfinished instances: the owner is in no index.
create or replace function free_runs(p_runtimes integer[], p_clock bigint, p_failed boolean)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  update runs
  set owner = null,
      wake_at = p_clock,
      attempts = least(attempts + p_failed::integer, 32767)
  where owner = any (p_runtimes);
end
$$;
`,
  },
  {
    name: 'procedures/free_tasks',
    checksum: '65d331dccd61919c',
    sql: `-- Frees all that these runtimes hold, now, and their sessions. p_failed says whether they died: that
-- counts against what they held. If they closed (false), the attempts that were cut off do not count.
-- If nobody knows (null), as they were cut off themselves, no death is counted; the attempts are, for
-- they may still be at it: the next holder has to have an attempt of its own.
create or replace function free_tasks(p_runtimes integer[], p_failed boolean)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_closed boolean := p_failed is false;
  v_deaths integer := (p_failed is true)::integer;
begin
  with freed as materialized (
    select t.iid, t.execution, t.command
    from tasks as t
    where t.held_by = any (p_runtimes)
    -- A transaction of a user may keep one for long: a later tick finds it.
    for update skip locked
  )
  update tasks as t
  set held_by = null,
      beat_until = null,
      deaths = least(t.deaths + v_deaths, 32767),
      attempts = case when v_closed then greatest(t.attempts - 1, 0) else t.attempts end,
      start_by = case when v_closed then null else t.start_by end,
      lane = task_lane(t.session, t.limit_key, t.deaths + v_deaths)
  from freed as f
  where t.iid = f.iid
    and t.execution = f.execution
    and t.command = f.command;

  with left_behind as materialized (
    select s.session
    from sessions as s
    where s.runtime = any (p_runtimes)
    -- Who locks one takes it over.
    for update skip locked
  )
  delete from sessions as s
  using left_behind as l
  where s.session = l.session;
end
$$;
`,
  },
  {
    name: 'procedures/held_tasks',
    checksum: 'f01e635ecb21cfb5',
    sql: `-- Tasks that a runtime has been given, with all it needs to run them; oldest first.
create or replace function held_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns table (
    iid bigint,
    execution integer,
    command integer,
    id text,
    workflow text,
    activity text,
    input text,
    tag text,
    session text,
    options text,
    attempt integer,
    deaths smallint,
    beat text,
    token bigint
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
begin
  return query
  select
    t.iid, t.execution, t.command, i.id, w.name, t.activity, t.input, t.tag,
    coalesce(t.session, ''), t.options, t.attempts, t.deaths, t.beat, t.token
  from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
  -- By the key alone: with more conditions, another index may be planned, and read through.
  cross join lateral (
    select t.*
    from tasks as t
    where t.iid = g.iid
      and t.execution = g.execution
      and t.command = g.command
    limit 1
  ) as t
  join instances as i on i.iid = t.iid
  join workflows as w on w.workflow = i.workflow
  where t.held_by = p_runtime
  order by t.number;
end
$$;
`,
  },
  {
    name: 'procedures/helped_activities',
    checksum: '46a6449ffd506103',
    sql: `-- Of these activities, those that another live runtime could run, which has nothing to do.
create or replace function helped_activities(p_runtime integer, p_activities text[], p_clock bigint)
  returns text[]
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return array(
    select distinct a.activity
    from runtimes as r
    cross join unnest(r.activities) as a (activity)
    where r.state = 1
      and r.lease_until > p_clock
      and r.idle
      and r.runtime <> p_runtime
      and a.activity = any (p_activities)
  );
end
$$;
`,
  },
  {
    name: 'procedures/hint_channel',
    checksum: '7c1a1ca0633dca93',
    sql: `-- The name of a channel for LISTEN and NOTIFY. Channels belong to a database, so the schema is part
-- of it: as a hash, since a name has 63 bytes and a schema may take all of them.
create or replace function hint_channel(p_to text)
  returns text
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return 'holdfast_'
    || left(encode(sha256(convert_to(current_schema(), 'UTF8')), 'hex'), 16)
    || '_'
    || p_to;
end
$$;
`,
  },
  {
    name: 'procedures/hold_tasks',
    checksum: '663042c6a880503d',
    sql: `-- Has a runtime hold tasks, given by their keys; as far as they stand in line still, are not
-- locked by somebody else, and belong to no session but these. Those whose instance does not wait
-- for them any more are removed instead: they were locked when it ended, see drop_tasks().
--
-- Answers with the numbers of those that are settled by that, and with the keys of those held.
create or replace function hold_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_sessions text[],
  p_clock bigint,
  out numbers bigint[],
  out iids bigint[],
  out executions integer[],
  out commands integer[]
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_limit_keys text[];
  v_rate_counts integer[];
  v_rate_mss bigint[];
begin
  with locked as materialized (
    select t.*
    from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select
        t.number, t.iid, t.execution, t.command, t.held_by, t.visible_at, t.lane, t.session
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
    where t.held_by is null
      and t.visible_at is null
      and t.lane is not null
      and (t.session is null or t.session = any (p_sessions))
  ),
  judged as materialized (
    select l.iid, l.execution, l.command, wanted.yes
    from locked as l
    left join lateral (
      select true as yes
      from instances as i
      where i.iid = l.iid
        and i.execution = l.execution
        and i.status = 1
      limit 1
    ) as wanted on true
  ),
  unwanted as (
    delete from tasks as t
    using judged as j
    where j.yes is null
      and t.iid = j.iid
      and t.execution = j.execution
      and t.command = j.command
  ),
  taken as (
    update tasks as t
    set held_by = p_runtime,
        held_since = p_clock,
        attempts = t.attempts + 1
    from judged as j
    where j.yes
      and t.iid = j.iid
      and t.execution = j.execution
      and t.command = j.command
    returning
      t.number, t.iid, t.execution, t.command, t.limit_key, t.rate_count, t.rate_ms
  )
  select
    array(select l.number from locked as l),
    array_agg(t.iid order by t.number), array_agg(t.execution order by t.number),
    array_agg(t.command order by t.number),
    array_agg(t.limit_key) filter (where t.rate_count is not null),
    array_agg(t.rate_count) filter (where t.rate_count is not null),
    array_agg(t.rate_ms) filter (where t.rate_count is not null)
  into numbers, iids, executions, commands, v_limit_keys, v_rate_counts, v_rate_mss
  from taken as t;

  if v_limit_keys is not null then
    perform spend_limits(v_limit_keys, v_rate_counts, v_rate_mss, p_clock);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/holding',
    checksum: '2909e51ef69de68d',
    sql: `-- The tasks that a runtime holds, by key: finds what a lost answer left behind.
create or replace function holding(p_runtime integer)
  returns table (iid bigint, execution integer, command integer, attempt integer)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select t.iid, t.execution, t.command, t.attempts
  from tasks as t
  where t.held_by = p_runtime;
end
$$;
`,
  },
  {
    name: 'procedures/iids_of',
    checksum: '3e60372002045b5a',
    sql: `-- The numbers of instances by the caller's ids, in the order given; null for unknown ones.
create or replace function iids_of(p_ids text, p_count integer)
  returns bigint[]
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  return array(
    select i.iid
    from unnest(split_texts(p_ids, p_count)) with ordinality as g (id, place)
    left join instances as i on i.id = g.id collate "C"
    order by g.place
  );
end
$$;
`,
  },
  {
    name: 'procedures/import_instance',
    checksum: 'cf00a1fbab2fa348',
    sql: `-- Makes an instance from the turns of one execution. Nobody owns it, and it is due now. Answers with
-- a letter: d done, also before, e the id is taken, r the number is taken.
create or replace function import_instance(
  p_iid bigint,
  p_id text,
  p_workflow integer,
  p_labels text,
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_state_count integer,
  p_state_keys text,
  p_state_values text,
  out verdict text
)
  language plpgsql
  volatile
  set search_path from current
  -- A transaction of a user may have locked the id: then it is tried again, and takes no connection
  -- from others meanwhile.
  set lock_timeout to '5ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  insert into instances (iid, id, workflow, execution, status, created_at, updated_at, labels)
  values (
    p_iid, p_id, p_workflow, p_executions[1], 1, v_clock, v_clock, nullif(p_labels, '{}')
  )
  on conflict do nothing;
  if not found then
    verdict := coalesce(
      (
        select case when i.id <> p_id then 'r' when i.status = 0 then 'e' else 'd' end
        from instances as i
        where i.iid = p_iid
      ),
      'e'
    );
    return;
  end if;

  insert into history (iid, execution, turn, epoch, at, first, count, events)
  select p_iid, t.execution, t.turn, 0, t.at, t.first, t.count, t.events
  from unnest(
    p_executions, p_turns, p_ats, p_firsts, p_counts,
    split_texts(p_events, cardinality(p_turns))
  ) as t (execution, turn, at, first, count, events);
  insert into state (iid, key, value)
  select p_iid, s.key, s.value
  from unnest(
    split_texts(p_state_keys, p_state_count), split_texts(p_state_values, p_state_count)
  ) as s (key, value);
  insert into runs (iid, workflow, epoch, wake_at)
  values (p_iid, p_workflow, 0, v_clock);
  verdict := 'd';
end
$$;
`,
  },
  {
    name: 'procedures/insert_starts',
    checksum: '35d1c558a831652a',
    sql: `-- Adds new instances, for commit_batch() and start_batch(). Answers with one letter for each, in the
-- order given (d done, e the id is taken, a messages wait for the id under another number, r the
-- number is taken, or its sender does not own the parent), and with the numbers of those that were
-- added now.
--
-- p_starts are lists, in the order of their variables below; the labels follow their number. Then
-- come those of messages that go with a start. Lists of parents and labels are empty where none of
-- the instances has any.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function insert_starts(
  -- Null for a client, who does not know the time either.
  p_owner integer,
  p_clock bigint,
  p_starts text,
  out letters text,
  out born bigint[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_lists text[] := split_lists(p_starts, 23);
  v_iids bigint[] := v_lists[1];
  v_size integer := cardinality(v_iids);
  v_ids text[] := split_texts(v_lists[2], v_size);
  v_workflows integer[] := v_lists[3];
  v_owned boolean[] := v_lists[4];
  v_wake_ats bigint[] := v_lists[5];
  v_executions integer[] := v_lists[6];
  v_turns integer[] := v_lists[7];
  v_ats bigint[] := v_lists[8];
  v_firsts integer[] := v_lists[9];
  v_counts integer[] := v_lists[10];
  v_events text[] := split_texts(v_lists[11], v_size);
  v_statuses smallint[] := v_lists[12];
  v_outputs text[];
  v_parent_iids bigint[];
  v_parent_executions integer[];
  v_parent_commands integer[];
  v_on_closes smallint[];
  v_parent_ids text[];
  v_labels text[];
  v_message_iids bigint[] := v_lists[21];
  v_is_plain boolean := v_lists[14] = '{}'
    and v_lists[19] = '0'
    and v_message_iids = '{}'
    and 1 = all (v_statuses);
  v_born bigint[] := '{}';
  v_more bigint[];
  v_awaited bigint[];
  v_ended bigint[];
begin
  if not v_is_plain then
    v_outputs := split_texts(v_lists[13], v_size);
    v_parent_iids := v_lists[14];
    v_parent_executions := v_lists[15];
    v_parent_commands := v_lists[16];
    v_on_closes := v_lists[17];
    v_parent_ids := case when v_lists[14] <> '{}' then split_texts(v_lists[18], v_size) end;
    v_labels := case when v_lists[19] <> '0' then split_texts(v_lists[20], v_size) end;
  end if;

  loop
    -- Most have nothing but an id and a first turn, and a way of their own: the statement for all
    -- that an instance can have costs several times as much to begin.
    if v_is_plain then
      with added as (
        insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
        select g.iid, v_ids[n], v_workflows[n], v_executions[n], 1, p_clock, p_clock
        from unnest(v_iids) with ordinality as g (iid, n)
        order by v_ids[n] collate "C"
        on conflict do nothing
        returning iid
      )
      select array_agg(iid)
      into v_more
      from added;
    else
      with added as (
        insert into instances (
          iid, id, workflow, execution, status, output, created_at, updated_at, finished_at,
          parent_iid, parent_execution, parent_command, on_close, parent_id, labels
        )
        select
          g.iid, v_ids[n], v_workflows[n], v_executions[n], v_statuses[n],
          case when v_statuses[n] > 1 then v_outputs[n] end,
          p_clock,
          p_clock,
          case when v_statuses[n] > 1 then p_clock end,
          v_parent_iids[n], v_parent_executions[n], v_parent_commands[n], v_on_closes[n],
          v_parent_ids[n], nullif(v_labels[n], '{}')
        from unnest(v_iids) with ordinality as g (iid, n)
        -- Who started it for a workflow has to own that: another owner may have called it off.
        where v_parent_iids[n] is null
          or p_owner is null
          or coalesce(
            (
              select r.owner is not distinct from p_owner
              from runs as r
              where r.iid = v_parent_iids[n]
            ),
            true
          )
        -- Two who start the same ids meet them in the same order, and cannot block each other.
        order by v_ids[n] collate "C"
        on conflict do nothing
        returning iid
      )
      select array_agg(iid)
      into v_more
      from added;
    end if;

    -- In any order: nobody else writes rows of these numbers.
    if v_more is not null then
      with to_run as (
        insert into runs (iid, workflow, owner, epoch, wake_at)
        select
          g.iid, v_workflows[n],
          case when v_owned[n] then p_owner end,
          -- 0 as long as nobody has run its code.
          case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
          case when not v_owned[n] then v_wake_ats[n] end
        from unnest(v_iids) with ordinality as g (iid, n)
        where v_statuses[n] = 1
          and (cardinality(v_more) = v_size or g.iid = any (v_more))
      )
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select
        g.iid, v_executions[n], v_turns[n],
        case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
        case when p_owner is null then p_clock else v_ats[n] end,
        v_firsts[n], v_counts[n], v_events[n]
      from unnest(v_iids) with ordinality as g (iid, n)
      where cardinality(v_more) = v_size
        or g.iid = any (v_more);
    end if;
    v_born := v_born || v_more;
    exit when cardinality(v_born) = v_size or v_awaited is not null;

    -- Messages came first: the row that stands for the instance under the same number gives way to
    -- the start, and the messages stay.
    v_awaited := array(
      select i.iid
      from unnest(v_iids, v_ids, v_parent_iids) as g (iid, id, parent_iid)
      join instances as i on i.iid = g.iid
      where i.id = g.id collate "C"
        and i.status = 0
        -- As above: what nobody takes the place of must stay, or its messages would be nobody's.
        and (
          g.parent_iid is null
          or p_owner is null
          or coalesce(
            (select r.owner is not distinct from p_owner from runs as r where r.iid = g.parent_iid),
            true
          )
        )
      order by i.id
      for update of i
    );
    delete from instances
    where iid = any (v_awaited);
    if cardinality(v_awaited) > 0 then
      -- What is just being sent to one is not seen yet, and not waited for: see unpark_started().
      update absences
      set at = -1
      where iid = any (v_awaited);
      update inbox
      set parked = false,
          early = false
      where iid = any (v_awaited);
    end if;
    -- Then once more, also where nothing waited: what was in the way may be gone by now.
  end loop;
  born := v_born;
  if v_is_plain and cardinality(v_born) = v_size then
    letters := repeat('d', v_size);
    return;
  end if;

  if cardinality(v_message_iids) > 0 then
    insert into inbox (iid, kind, name, payload)
    select m.iid, 3, m.name, m.payload
    from unnest(
      v_message_iids,
      split_texts(v_lists[22], cardinality(v_message_iids)),
      split_texts(v_lists[23], cardinality(v_message_iids))
    ) with ordinality as m (iid, name, payload, place)
    join unnest(v_born) as b (iid) on b.iid = m.iid
    join runs as r on r.iid = m.iid
    order by m.iid, m.place;
  end if;

  -- Ended within their first turn, though messages or a parent wait for them.
  if cardinality(v_awaited) > 0 or v_lists[14] <> '{}' then
    v_ended := array(
      select g.iid
      from unnest(v_iids, v_statuses) as g (iid, status)
      join unnest(v_born) as b (iid) on b.iid = g.iid
      where g.status > 1
    );
    if cardinality(v_ended) > 0 then
      delete from inbox
      where iid = any (v_ended);
      perform tell_parents(v_ended);
    end if;
  end if;

  if v_lists[14] <> '{}' then
    perform close_orphans(v_born);
  end if;
  if 1 < any (v_statuses) then
    perform note_ended(p_clock, v_born);
  end if;

  if cardinality(v_born) = v_size then
    letters := repeat('d', v_size);
    return;
  end if;

  -- The number is known from before: the same start, sent again. If it was to be owned and its
  -- sender has lost it since, the sender must not go on with it.
  letters := (
    select string_agg(
      case
        when b.iid is not null then 'd'
        -- It waits for who may start it.
        when known.id = g.id and known.status = 0 then 'r'
        when known.id = g.id then
          case
            when not g.owned or g.status > 1 then 'd'
            when (
                select true
                from runs as r
                where r.iid = g.iid
                  and r.owner = p_owner
                  and r.epoch = 1
              )
              then 'd'
            else 'r'
          end
        when known.id is not null then 'r'
        when taken.status = 0 then 'a'
        when taken.id is not null then 'e'
        else 'r'
      end,
      '' order by g.place
    )
    from unnest(v_iids, v_ids, v_owned, v_statuses) with ordinality
      as g (iid, id, owned, status, place)
    left join unnest(v_born) as b (iid) on b.iid = g.iid
    left join lateral (
      select i.id, i.status
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as known on true
    left join lateral (
      select i.id, i.status
      from instances as i
      where i.id = g.id collate "C"
      limit 1
    ) as taken on true
  );
end
$$;
`,
  },
  {
    name: 'procedures/insert_tasks',
    checksum: '47750c06a0c0dd88',
    sql: `-- Adds tasks of those instances that are in p_done and wait for them: unfinished ones, of their
-- current execution. A second task of a command is dropped, and one that has its result. p_lists are
-- the columns of \`new\`, in their order; an execution of null stands for the current one, and a
-- limit's key follows a "=". Versions before the tokens leave these out.
--
-- Whoever is given as p_held_by holds them from the beginning, as far as it owns the instances at
-- the epochs given.
create or replace function insert_tasks(p_done bigint[], p_lists text[], p_held_by integer)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_iids bigint[] := p_lists[1];
  v_size integer := cardinality(v_iids);
  v_waiting bigint[];
  v_executions integer[];
  v_commands integer[];
  v_finished record;
begin
  with new as materialized (
    select n.*, i.execution as current
    from unnest(
      v_iids, p_lists[2]::integer[], p_lists[3]::integer[], split_texts(p_lists[4], v_size),
      split_texts(p_lists[5], v_size), split_texts(p_lists[6], v_size),
      split_texts(p_lists[7], v_size), split_texts(p_lists[8], v_size),
      p_lists[9]::integer[], p_lists[10]::bigint[], split_texts(p_lists[11], v_size),
      p_lists[12]::integer[], p_lists[13]::integer[], p_lists[14]::bigint[],
      p_lists[15]::integer[], p_lists[16]::bigint[]
    ) as n (
      iid, execution, command, activity, input, tag, session, options, attempts, start_by,
      limit_key, concurrency, rate_count, rate_ms, epoch, token
    )
    cross join lateral (
      select i.execution
      from instances as i
      where i.iid = n.iid
        and i.status = 1
        and i.execution = coalesce(n.execution, i.execution)
      limit 1
    ) as i
    where n.iid = any (p_done)
      and (
        p_held_by is null
        or (
          select r.owner = p_held_by and r.epoch = n.epoch and not r.held
          from runs as r
          where r.iid = n.iid
        )
      )
  ),
  added as (
    insert into tasks (
      iid, execution, command, activity, input, tag, session, options, attempts, start_by,
      limit_key, concurrency, rate_count, rate_ms, held_by, lane, token
    )
    select
      n.iid, n.current, n.command, n.activity, n.input, n.tag, nullif(n.session, ''), n.options,
      n.attempts, n.start_by, nullif(n.limit_key, ''), n.concurrency, n.rate_count, n.rate_ms,
      p_held_by, task_lane(nullif(n.session, ''), nullif(n.limit_key, ''), 0), n.token
    from new as n
    order by n.iid, n.current, n.command
    on conflict do nothing
    returning iid, execution, command
  )
  select array_agg(a.iid), array_agg(a.execution), array_agg(a.command)
  into v_waiting, v_executions, v_commands
  from added as a;

  if v_waiting is not null then
    -- Made again by somebody who did not hear of the first time. Asked afterwards, in a statement
    -- that sees all who were quicker: none could be inserted again before they had committed.
    for v_finished in
      select a.iid, a.execution, a.command
      from unnest(v_waiting, v_executions, v_commands) as a (iid, execution, command)
      where (
        select true
        from inbox as m
        where m.iid = a.iid
          and m.execution = a.execution
          and m.command = a.command
          and m.command is not null
        limit 1
      )
    loop
      delete from tasks
      where iid = v_finished.iid
        and execution = v_finished.execution
        and command = v_finished.command;
    end loop;
    update runs
    set has_tasks = true
    where iid = any (v_waiting)
      and not has_tasks;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/instance_rows',
    checksum: 'c9c49435dc77fc9f',
    sql: `-- Instances as people see them, for find() and look(). In the order given; \`place\` counts from 1,
-- and places of unknown ones are missing.
create or replace function instance_rows(p_iids bigint[])
  returns table (
    place bigint,
    iid bigint,
    id text,
    name text,
    version text,
    execution integer,
    status smallint,
    held boolean,
    scheduled boolean,
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text,
    parent_iid bigint,
    parent_id text,
    parent_execution integer,
    parent_command integer,
    on_close smallint,
    labels text,
    progress text,
    mail bigint
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select
    g.place, i.iid, i.id, coalesce(w.name, ''), coalesce(w.version, ''), i.execution, i.status,
    coalesce(r.held, false),
    -- Nobody has claimed it yet, and it is no import that has begun elsewhere.
    coalesce(not r.held and r.epoch = 0 and last.turn = 1 and last.next_event = 2, false),
    r.wake_at, i.created_at, greatest(i.updated_at, last.at), i.finished_at, i.output, i.report,
    i.parent_iid, i.parent_id, i.parent_execution, i.parent_command, i.on_close,
    coalesce(i.labels, '{}'), i.progress,
    (
      select count(*)
      from inbox as m
      where m.iid = i.iid
        and m.kind > 2
        and m.kind = 3
    )
  from unnest(p_iids) with ordinality as g (iid, place)
  join instances as i on i.iid = g.iid
  -- Absent ones have no workflow.
  left join workflows as w on w.workflow = i.workflow
  left join runs as r on r.iid = i.iid
  cross join lateral last_turn(i.iid) as last
  order by g.place;
end
$$;
`,
  },
  {
    name: 'procedures/is_careful',
    checksum: '3b707d7380712757',
    sql: `-- Whether a runtime owns an instance that two owners died with, or holds a task that two runtimes
-- died with: then it gets no other of these. The instance was given by claim(), which has noted it.
create or replace function is_careful(p_runtime integer)
  returns boolean
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  return coalesce(
    (
      select true
      from tasks as t
      where t.held_by = p_runtime
        and t.deaths > 1
      limit 1
    ),
    (
      select r.owner = p_runtime and r.attempts > 1
      from runs as r
      where r.iid = (select t.careful from runtimes as t where t.runtime = p_runtime)
    ),
    false
  );
end
$$;
`,
  },
  {
    name: 'procedures/is_claimable',
    checksum: '6d6225e50748941f',
    sql: `-- Whether claim() would find anything of these workflows for a runtime.
create or replace function is_claimable(
  p_runtime integer,
  p_workflows integer[],
  p_clock bigint
)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
begin
  return coalesce(
    (
      select true
      from unnest(p_workflows) as w (workflow)
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= p_clock
          and r.attempts < 2
        limit 1
      ) as due
      limit 1
    ),
    (
      select not is_careful(p_runtime)
      from unnest(p_workflows) as w (workflow)
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= p_clock
          and r.attempts > 1
        limit 1
      ) as struggling
      limit 1
    ),
    (
      select true
      from (select distinct iid from inbox where not parked) as m
      -- The inner limit keeps the order of the join: from the mail, which is little, to the runs.
      cross join lateral (
        select
        from runs as r
        where r.iid = m.iid
          and r.owner is null
          and not r.held
          and r.attempts < 2
          and (r.epoch > 0 or r.wake_at is null)
          and r.workflow = any (p_workflows)
        limit 1
      ) as unowned
      limit 1
    ),
    false
  );
end
$$;
`,
  },
  {
    name: 'procedures/keep_absent',
    checksum: '9b9ec8dd9a819076',
    sql: `-- Of these instances, keeps those that were never started from being removed by remove_absent(),
-- until the end of the transaction: something is about to be sent to them. Waits for a removal under
-- way, and for nothing else. False when one of them is gone or started, so that its id has to be looked
-- up again. Who starts one meanwhile leaves a note for unpark_started().
create or replace function keep_absent(p_iids bigint[], p_clock bigint)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_absent bigint[] := array(
    select i.iid
    from instances as i
    where i.iid = any (p_iids)
      and i.status = 0
  );
  v_kept integer;
begin
  if cardinality(v_absent) = 0 then
    return true;
  end if;
  -- Before the insert: that would wait for a start, which changes the row.
  perform
  from absences as a
  where a.iid = any (v_absent)
  order by a.iid
  for key share;
  get diagnostics v_kept = row_count;
  if v_kept < cardinality(v_absent) then
    insert into absences (at, iid)
    select p_clock, a.iid
    from unnest(v_absent) as a (iid)
    order by a.iid
    on conflict do nothing;

    perform
    from absences as a
    where a.iid = any (v_absent)
    order by a.iid
    for key share;
  end if;

  -- In a new statement, which sees what the lock waited for.
  return (
    select count(*) = cardinality(v_absent)
    from instances as i
    where i.iid = any (v_absent)
      and i.status = 0
  );
end
$$;
`,
  },
  {
    name: 'procedures/keep_clock',
    checksum: 'f28ecd11e570df37',
    sql: `-- Notes where the server's clock and the store's are, so that the store's goes on from there when the
-- server's is set back: see clock_after(). Called whenever a lease is taken or renewed. It changes nothing
-- about the time: now_ms() says the same before and after it.
--
-- What was noted is read before the server's clock, and under the lock: otherwise somebody who stood
-- still in between would take what others noted meanwhile for a step back.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function keep_clock()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_kept bigint := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall bigint := wall_ms();
begin
  -- Somebody else has just been here, or is here now: nobody waits for that.
  if v_wall - v_kept / 1000000 between 0 and 1000
    or not pg_try_advisory_xact_lock(lock_space(), -1)
  then
    return;
  end if;
  v_kept := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall := wall_ms();
  perform setval('clock_kept', v_wall * 1000000 + (clock_after(v_kept, v_wall) - v_wall + 9) / 10);
end
$$;
`,
  },
  {
    name: 'procedures/last_turn',
    checksum: '2fc03e9c212d0258',
    sql: `-- Where an instance stands: one descent of the index, whatever the planner thinks of the table.
create or replace function last_turn(
  p_iid bigint,
  out execution integer,
  out turn integer,
  out at bigint,
  -- The number that its next event gets.
  out next_event integer
)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_sort to off
as $$
#variable_conflict use_column
begin
  select h.execution, h.turn, h.at, h.first + h.count
  into execution, turn, at, next_event
  from history as h
  where h.iid = p_iid
  order by h.iid desc, h.execution desc, h.turn desc
  limit 1;
end
$$;
`,
  },
  {
    name: 'procedures/limit_left',
    checksum: 'ec58dbeabeac825c',
    sql: `-- How many tasks of a limit may be started now; and when it opens by time alone, if it is closed
-- now (null if another task has to end first).
--
-- How many are held is counted. How many were started lately is one time for each limit, until
-- which its rate is used up (the generic cell rate algorithm): each start adds its share to it,
-- and one may start as long as that leaves it within p_rate_ms from now. So p_rate_count may start
-- at once, and then one for each share of time that has passed.
create or replace function limit_left(
  p_limit_key text,
  p_concurrency integer,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint,
  out most bigint,
  out opens_at bigint
)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
as $$
declare
  v_share bigint;
  v_spent_until bigint;
begin
  most := 2147483647;
  if p_concurrency is not null then
    most := p_concurrency - (
      select count(*)
      from (
        select
        from tasks as t
        where t.limit_key = p_limit_key collate "C"
          and t.held_by is not null
        limit p_concurrency
      ) as held
    );
    if most < 1 then
      return;
    end if;
  end if;
  if p_rate_count is not null then
    v_share := limit_share(p_rate_count, p_rate_ms);
    v_spent_until := greatest(
      p_clock * 1000,
      (select l.spent_until from limits as l where l.limit_key = p_limit_key collate "C")
    );
    -- Negative when somebody with a later clock was here.
    most := greatest(
      least(most, (p_clock * 1000 + p_rate_ms * 1000 - v_spent_until) / v_share),
      0
    );
    if most < 1 then
      opens_at := (v_spent_until + v_share - p_rate_ms * 1000 + 999) / 1000;
    end if;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/limit_share',
    checksum: 'd289912698029010',
    sql: `-- What one start takes of a rate, in microseconds. Rounded down, or the last of p_rate_count would
-- have to wait.
create or replace function limit_share(p_rate_count integer, p_rate_ms bigint)
  returns bigint
  language plpgsql
  immutable
  set search_path from current
as $$
begin
  return greatest(p_rate_ms * 1000 / p_rate_count, 1);
end
$$;
`,
  },
  {
    name: 'procedures/load',
    checksum: '5c06cbf8d7f8cdf2',
    sql: `-- Everything needed to run instances: themselves, their parents, the history of their execution
-- after a certain turn, their inbox, the tasks of their execution. One statement, so that all of it
-- is of one moment, and without locks.
--
-- A row is one part, and most are turns; so parts share columns. Of a parent, number is its iid,
-- first the command, count what becomes of the child, text its id. Of an inbox row, number is its
-- id, first the command, count the kind, text the payload. Of a task, number is the command, count
-- the attempts, parked whether it is held.
create or replace function load(p_iids bigint[], p_afters integer[])
  returns table (
    part text,
    iid bigint,
    execution integer,
    number bigint,
    at bigint,
    first integer,
    count integer,
    text text,
    name text,
    version text,
    reply_to text,
    parked boolean
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select i.*, w.name, w.version, p.after
    from unnest(p_iids, p_afters) as p (iid, after)
    join instances as i on i.iid = p.iid
    join workflows as w on w.workflow = i.workflow
  ),
  parts as (
    select
      1 as rank, 'instance' as part, w.iid, w.execution, null::bigint as number,
      null::bigint as at, null::integer as first, null::integer as count, w.id as text,
      w.name, w.version, null::text as reply_to, null::boolean as parked
    from wanted as w
    union all
    select
      2, 'parent', w.iid, w.parent_execution, w.parent_iid, null, w.parent_command,
      w.on_close::integer, w.parent_id, null, null, null, null
    from wanted as w
    where w.parent_iid is not null
    union all
    select
      3, 'turn', h.iid, h.execution, h.turn, h.at, h.first, h.count, h.events, null, null, null,
      null
    from wanted as w
    join history as h
      on h.iid = w.iid
      and h.execution = w.execution
      and h.turn > w.after
    union all
    select
      4, 'mail', m.iid, coalesce(m.execution, 0), m.id, null, coalesce(m.command, 0),
      m.kind::integer,
      -- As much of each channel as is read at once; what is behind that comes without its text.
      case
        when m.kind <> 3
          or sum(octet_length(m.payload)) over (partition by m.iid, m.name order by m.id)
            <= greatest(1048576, octet_length(m.payload))
          then m.payload
      end,
      coalesce(m.name, ''), null, coalesce(m.reply_to, ''), m.parked
    from wanted as w
    join inbox as m on m.iid = w.iid
    union all
    select
      5, 'task', t.iid, t.execution, t.command, null, null, t.attempts, null, null, null, null,
      t.held_by is not null
    from wanted as w
    join tasks as t
      on t.iid = w.iid
      and t.execution = w.execution
  )
  select
    p.part, p.iid, p.execution, p.number, p.at, p.first, p.count, p.text, p.name, p.version,
    p.reply_to, p.parked
  from parts as p
  order by p.rank, p.iid, p.number;
end
$$;
`,
  },
  {
    name: 'procedures/lock_owners',
    checksum: 'e5caaf3088bc4737',
    sql: `-- Locks runs for somebody who does not own them, and keeps whoever owns them from writing, until
-- the end of the transaction: no commit of an owner is under way any more, and none follows that
-- does not see what is changed now.
create or replace function lock_owners(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_limit text := current_setting('lock_timeout');
  v_expected integer[];
  v_owner integer;
  v_owners integer[];
begin
  loop
    v_expected := array(
      select distinct r.owner
      from runs as r
      where r.iid = any (p_iids)
        and r.owner is not null
      order by r.owner
    );
    begin
      -- First the owners, as in every commit; then the rows. A commit may take longer than is waited
      -- for rows, which somebody may have locked for long.
      perform set_config('lock_timeout', '1s', true);
      foreach v_owner in array v_expected loop
        perform pg_advisory_xact_lock(lock_space(), v_owner);
      end loop;
      perform set_config('lock_timeout', v_limit, true);
      v_owners := array(
        select r.owner
        from runs as r
        where r.iid = any (p_iids)
        order by r.iid
        for update
      );
      if array_remove(v_owners, null) <@ v_expected then
        return;
      end if;
      -- One was claimed in between, by somebody who may be writing now. Leaving this block by an
      -- error gives back all locks, so that the next try takes them in order again.
      raise exception 'an owner has changed' using errcode = 'HF002';
    exception
      when sqlstate 'HF002' then
        null;
    end;
  end loop;
end
$$;
`,
  },
  {
    name: 'procedures/lock_space',
    checksum: '8779d147eab8c3a1',
    sql: `-- The first half of our advisory locks; the second is the number of a runtime. Another schema of
-- the same database has another table, and so another half.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function lock_space()
  returns integer
  language sql
  stable
as $$
  select ('runtimes'::regclass::oid::bigint - 2147483648)::integer
$$;
`,
  },
  {
    name: 'procedures/may_be_careful',
    checksum: 'ae96445d37dd685d',
    sql: `-- Whether a runtime may be given something that runtimes died with, an instance or a task, until the
-- end of this transaction. Both are asked for at the same time, on two connections: without the
-- lock, each would be given what the other does not see yet, and both be blamed for the next death.
create or replace function may_be_careful(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  -- The same number without the sign stands for the runtime being alive, see enter().
  perform pg_advisory_xact_lock(lock_space(), -p_runtime);
  -- A new statement, and so a new snapshot: it sees what the lock waited for.
  return not is_careful(p_runtime);
end
$$;
`,
  },
  {
    name: 'procedures/may_transact',
    checksum: '9dab514a0771fb98',
    sql: `-- Whether the result of a transaction would be taken: its runtime owns the instance at this epoch, or
-- holds the task at this attempt, and there is no result yet. Locks nothing.
create or replace function may_transact(
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  p_epoch integer,
  p_attempt integer,
  -- The last turn that the owner knows of, and the token of the task. A null is not compared.
  p_turn integer,
  p_token bigint
)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  if exists (
    select
    from inbox as m
    where m.iid = p_iid
      and m.execution = p_execution
      and m.command = p_command
  ) then
    return false;
  end if;
  if p_attempt is null then
    return exists (
      select
      from runs as r
      where r.iid = p_iid
        and r.owner = p_runtime
        and r.epoch = p_epoch
        and not r.held
    )
    -- A server that lost the latest writes may not know of what the code follows from.
    and (
      p_turn is null
      or exists (
        select
        from history as h
        where h.iid = p_iid
          and h.execution = p_execution
          and h.turn = p_turn
      )
    );
  end if;
  return exists (
    select
    from tasks as t
    where t.iid = p_iid
      and t.execution = p_execution
      and t.command = p_command
      -- Not by "=": the plan would go through all that the runtime holds.
      and t.held_by is not distinct from p_runtime
      and t.attempts = p_attempt
      and (p_token is null or t.token = p_token)
  );
end
$$;
`,
  },
  {
    name: 'procedures/next_task_at',
    checksum: 'b20223de34ad05bf',
    sql: `-- When the next task of these activities becomes available by time alone, which may be past; null
-- for never. Tags count only for those whose holder falls silent.
create or replace function next_task_at(p_activities text[], p_tags text[], p_any_tag boolean)
  returns bigint
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  return (
    select least(min(visible.at), min(silent.at))
    from unnest(p_activities) as a (activity)
    left join lateral (
      select t.visible_at as at
      from tasks as t
      where t.activity = a.activity collate "C"
        and t.visible_at is not null
      order by t.visible_at
      limit 1
    ) as visible on true
    left join lateral (
      select t.beat_until as at
      from tasks as t
      where t.activity = a.activity collate "C"
        and t.beat_until is not null
        and (t.tag = any (p_tags) or p_any_tag and t.tag <> '')
      order by t.beat_until
      limit 1
    ) as silent on true
  );
end
$$;
`,
  },
  {
    name: 'procedures/next_wake',
    checksum: '6a81ea6315e6ac5f',
    sql: `-- When the next instance of these workflows falls due, which may be past; null for never.
--
-- Its settings are those of its caller.
create or replace function next_wake(p_workflows integer[])
  returns bigint
  language plpgsql
  volatile
as $$
begin
  return (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at is not null
        and r.attempts < 2
      order by r.wake_at
      limit 1
    ) as next
  );
end
$$;
`,
  },
  {
    name: 'procedures/note_ended',
    checksum: '6409ff4350a63bb7',
    sql: `-- Notes the end of instances whose workflow does not want them kept for ever, for remove_expired().
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function note_ended(p_clock bigint, p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  -- Most schemas have none of these, and are spared the look at each instance.
  if (select true from workflows as w where w.retention_ms is not null limit 1) then
    insert into ended (at, iid, workflow)
    select p_clock, e.iid, i.workflow
    from unnest(p_iids) as e (iid)
    -- The limit keeps the order of the join: from the few that are named to the many there are.
    cross join lateral (
      select i.workflow
      from instances as i
      where i.iid = e.iid
        and i.status > 1
      limit 1
    ) as i
    where (select w.retention_ms from workflows as w where w.workflow = i.workflow) is not null
    order by e.iid
    on conflict do nothing;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/now_ms',
    checksum: 'd78ff5ebd0b5f9c4',
    sql: `-- The only clock, in milliseconds since 1970: that of the server, and ahead of it for a while after
-- that was set back, see clock_after(). Procedures read it once, into a variable: in a condition it
-- would be asked for every row. Tests replace it in their own schema.
create or replace function now_ms()
  returns bigint
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  -- Before the server's clock: see keep_clock().
  v_kept bigint := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall bigint := wall_ms();
begin
  -- Nearly always: it is not ahead, and was not set back. Another call would cost more than all this.
  if v_kept % 1000000 = 0 and v_wall >= v_kept / 1000000 then
    return v_wall;
  end if;
  return clock_after(v_kept, v_wall);
end
$$;
`,
  },
  {
    name: 'procedures/open_lanes',
    checksum: '178fe79bfffc1d85',
    sql: `-- Of the lines in which tasks wait that a runtime serves, those that it may take tasks from, the
-- oldest task first. \`most\` tells how many it may take, and is 0 of a line that is closed but opens
-- by time alone, at \`opens_at\`. Limits are locked until the end of the transaction.
create or replace function open_lanes(
  p_runtime integer,
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  -- How many lines are enough: each has a task.
  p_limit integer,
  p_most_sessions integer,
  p_session_idle_ms bigint,
  p_clock bigint
)
  returns table (
    activity text,
    tag text,
    lane bigint,
    most bigint,
    -- How many it may take of all lines with the same limit; null for no limit.
    limited_to bigint,
    opens_at bigint
  )
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
as $$
#variable_conflict use_column
declare
  -- More than these are not looked at in one call, unless by chance.
  v_bound constant integer := 1000;
  v_lane record;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Where this runtime holds tasks, or will.
  v_sessions text[] := array(
    select distinct t.session
    from tasks as t
    where t.held_by = p_runtime
      and t.session is not null
  );
  -- Not known until it matters.
  v_may_be_careful boolean;
  v_keys text[] := '{}';
  v_lefts bigint[] := '{}';
begin
  for v_lane in
    with first as materialized (
      select * from ready_lanes(p_activities, p_tags, p_any_tag, 0, v_bound)
    ),
    -- Lines beyond the bound have their chance too, wherever they are.
    by_chance as materialized (
      select l.*
      from (select floor(random() * 9e18)::bigint as lane from first having count(*) = v_bound) as f
      cross join lateral ready_lanes(p_activities, p_tags, p_any_tag, f.lane, v_bound) as l
    )
    select l.* from first as l
    union
    select l.* from by_chance as l
    order by number
  loop
    v_looked_at := v_looked_at + 1;
    activity := v_lane.activity;
    tag := v_lane.tag;
    lane := v_lane.lane;
    most := 2147483647;
    limited_to := null;
    opens_at := null;

    if v_lane.deaths > 1 then
      v_may_be_careful := coalesce(v_may_be_careful, may_be_careful(p_runtime));
      continue when not v_may_be_careful;
    end if;
    if v_lane.session is not null and v_lane.session <> all (v_sessions) then
      continue when cardinality(v_sessions) >= p_most_sessions;
      opens_at := session_free_at(p_runtime, v_lane.session, p_session_idle_ms);
      continue when opens_at is null;
      if opens_at > p_clock then
        most := 0;
        return next;
        continue;
      end if;
      opens_at := null;
    end if;
    if v_lane.limit_key is not null then
      if v_lane.limit_key <> all (v_keys) then
        select t.most, t.opens_at
        into limited_to, opens_at
        from take_limit(
          v_lane.limit_key, v_lane.concurrency, v_lane.rate_count, v_lane.rate_ms, p_clock
        ) as t;
        v_keys := v_keys || v_lane.limit_key;
        v_lefts := v_lefts || limited_to;
      end if;
      limited_to := v_lefts[array_position(v_keys, v_lane.limit_key)];
      most := limited_to;
      if limited_to < 1 then
        if opens_at is not null then
          return next;
        end if;
        continue;
      end if;
    end if;

    if v_lane.session is not null and v_lane.session <> all (v_sessions) then
      v_sessions := v_sessions || v_lane.session;
    end if;
    if v_lane.deaths > 1 then
      v_may_be_careful := false;
      most := 1;
    end if;
    return next;
    v_found := v_found + 1;
    exit when v_found >= p_limit;
  end loop;

  if v_looked_at >= v_bound and v_found < p_limit then
    most := 0;
    opens_at := p_clock + 1000;
    return next;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/own_mail',
    checksum: 'c60299c1bac20399',
    sql: `-- Instances of a runtime that have mail. Bounded, for a small answer: those left out come with a
-- later tick.
create or replace function own_mail(p_runtime integer)
  returns bigint[]
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
begin
  return array(
    select m.iid
    from (select distinct iid from inbox where not parked) as m
    -- The inner limit keeps the order of the join: from the mail, which is little, to the runs.
    cross join lateral (
      select
      from runs as r
      where r.iid = m.iid
        and r.owner = p_runtime
      limit 1
    ) as own
    limit 10000
  );
end
$$;
`,
  },
  {
    name: 'procedures/owned',
    checksum: '8e81207ace357f2e',
    sql: `-- All that a runtime owns. Scans the unfinished instances: for the rare case that a tick counted
-- more than the runtime knows of.
create or replace function owned(p_runtime integer)
  returns table (
    iid bigint,
    epoch integer,
    execution integer,
    turn integer,
    attempts integer,
    doing text
  )
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
begin
  return query
  select r.iid, r.epoch, last.execution, last.turn, r.attempts::integer, coalesce(r.doing, '')
  from runs as r
  cross join lateral last_turn(r.iid) as last
  where r.owner = p_runtime
  order by r.iid;
end
$$;
`,
  },
  {
    name: 'procedures/park_mail',
    checksum: '3a547a803cd2c1e1',
    sql: `-- Takes the mail of instances that nobody owns out of the way of claims and ticks, which would look at
-- it again and again. What can be claimed becomes due instead, and due instances are found by their
-- workflow. What cannot be claimed (suspended, waiting for its first turn, never started) has its mail
-- read when it is resumed, falls due or is started.
--
-- Senders only insert. So a message is parked by who has locked what will lead to it: the run, or the
-- instance that is not started yet. Bounded, so that a tick stays short: the rest goes with later ticks.
create or replace function park_mail(p_clock bigint)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_runs bigint[];
  v_unstarted bigint[];
begin
  if (select true from inbox where not parked limit 1) is null then
    return;
  end if;
  v_runs := array(
    select unowned.iid
    from (select distinct iid from inbox where not parked) as m
    cross join lateral (
      select r.iid
      from runs as r
      where r.iid = m.iid
        and r.owner is null
      limit 1
      for update skip locked
    ) as unowned
    limit 1000
  );
  v_unstarted := array(
    select absent.iid
    from (select distinct iid from inbox where not parked) as m
    cross join lateral (
      select i.iid
      from instances as i
      where i.iid = m.iid
        and i.status = 0
      limit 1
      for update skip locked
    ) as absent
    limit 1000
  );
  if cardinality(v_runs) > 0 then
    update runs as r
    set wake_at = p_clock
    where r.iid = any (v_runs)
      and not r.held
      -- What was never run waits for its time, whatever is sent to it meanwhile.
      and (r.epoch > 0 or r.wake_at is null)
      and (r.wake_at is null or r.wake_at > p_clock);
  end if;
  if cardinality(v_runs) + cardinality(v_unstarted) > 0 then
    update inbox as m
    set parked = true,
        early = m.iid = any (v_unstarted)
    from (
      select u.iid, u.id
      from unnest(v_runs || v_unstarted) as p (iid)
      cross join lateral (
        select w.iid, w.id
        from inbox as w
        where w.iid = p.iid
          and not w.parked
      ) as u
      limit 10000
    ) as u
    where m.iid = u.iid
      and m.id = u.id;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/post',
    checksum: '7aaed3f0e3fb0cc5',
    sql: `-- Puts messages, and wishes that an instance ends, into inboxes by the caller's ids. Only inserts,
-- as send() does. A message for an id that is not there makes a row for it, under the number that
-- came with it: who starts that id finds the row, since both meet on the unique id. No more than
-- 10,000 messages wait for a start.
--
-- Answers with one letter each, in the order given (s sent, d duplicate, f full, e ended,
-- u unknown), and with the instances' numbers and owners.
create or replace function post(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  -- A wish to end is a channel with room for one.
  p_capacities integer[],
  p_iids bigint[],
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();

  -- One plain message to an instance that runs and has room for it is a single statement, at a
  -- third of the cost. What does not fit in here is looked at in full.
  if cardinality(p_iids) = 1
    and p_kinds[1] = 3
    and p_keys = ''
    and strpos(p_names || p_payloads || p_reply_tos, e'\\x01') = 0
  then
    with sent as (
      insert into inbox (iid, kind, name, reply_to, payload, at)
      select i.iid, 3, p_names, nullif(p_reply_tos, ''), p_payloads, v_clock
      from instances as i
      where i.id = p_ids collate "C"
        and i.status = 1
        and (
          p_capacities[1] is null
          or p_capacities[1] > (
            select count(*)
            from (
              select
              from inbox as m
              where m.iid = i.iid
                and m.kind > 2
                and m.kind = 3
                and m.name = p_names collate "C"
              limit p_capacities[1]
            ) as waiting
          )
        )
      returning iid
    )
    select 's', array[s.iid], array[r.owner]
    into verdicts, iids, owners
    from sent as s
    left join runs as r on r.iid = s.iid;
    if found then
      return;
    end if;
  end if;

  select a.verdicts, a.iids, a.owners
  into verdicts, iids, owners
  from post_any(
    p_ids, p_kinds, p_names, p_payloads, p_reply_tos, p_keys, p_capacities, p_iids, v_clock
  ) as a;
end
$$;
`,
  },
  {
    name: 'procedures/post_any',
    checksum: '1772b65000b10c7a',
    sql: `-- post() in general: any number, of any kind, to instances that run, have ended or are not there. Its
-- settings are those of its caller.
create or replace function post_any(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  -- A wish to end is a channel with room for one.
  p_capacities integer[],
  p_iids bigint[],
  p_clock bigint,
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_names text[] := split_texts(p_names, v_size);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_reply_tos text[] := split_texts(p_reply_tos, v_size);
  v_keys text[] := split_texts(p_keys, v_size);
  v_targets bigint[];
  v_early bigint[];
  v_post record;
  -- How many wait in a channel, and which keys are used up, at the place of the first post of each.
  v_waiting bigint[] := array_fill(0::bigint, array[v_size]);
  v_used boolean[] := array_fill(false, array[v_size]);
  -- How many wait for a start, at the place of the first post to each that was never started.
  v_unstarted bigint[] := array_fill(0::bigint, array[v_size]);
  v_letters text[] := '{}';
  v_keyed integer := 0;
  v_kept_iids bigint[];
  v_kept_keys text[];
  v_is_taken boolean := false;
  -- Whether no more messages are kept for instances that were never started; null until it matters.
  v_is_full boolean;
  v_parked boolean[] := array_fill(false, array[v_size]);
begin
  loop
    v_targets := iids_of(p_ids, v_size);
    v_early := array(
      select g.place
      from unnest(v_targets, p_kinds, p_capacities) with ordinality
        as g (target, kind, capacity, place)
      where g.target is null
        and g.kind = 3
        -- It will be refused, and what is refused leaves no trace.
        and g.capacity is distinct from 0
    );
    if v_is_full is null and cardinality(v_early) > 0 then
      v_is_full := early_is_full();
    end if;
    if v_is_full then
      v_early := '{}';
    end if;
    exit when cardinality(v_early) = 0 and keep_absent(v_targets, p_clock);
    -- Then look again: in a new statement, which sees whoever was first. Whoever is still not there
    -- has a number that is taken: it was given out before a failover that lost the latest writes. One
    -- from the sequence may come out of a block that is just being reserved; who finds that one taken
    -- takes another in turn.
    insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select
      case when v_is_taken then nextval('instance_numbers') else p_iids[n.place] end,
      n.id, 0, 0, 0, p_clock, p_clock
    from (
      select distinct on (id) e.place, v_ids[e.place] as id
      from unnest(v_early) as e (place)
      order by id, e.place
    ) as n
    order by n.id
    on conflict do nothing;
    v_is_taken := cardinality(v_early) > 0;
  end loop;

  -- One after the other: whether there is room for one depends on those before it.
  for v_post in
    with given as materialized (
      select
        g.place, g.target, i.status, g.kind, g.name, g.key, g.capacity,
        min(g.place) over (partition by g.target, g.kind, g.name) as channel,
        max(g.capacity) over (partition by g.target, g.kind, g.name) as counted,
        min(g.place) over (partition by g.target, g.key) as key_place,
        min(g.place) over (partition by g.target) as target_place
      from unnest(v_targets, p_kinds, v_names, v_keys, p_capacities) with ordinality
        as g (target, kind, name, key, capacity, place)
      left join instances as i on i.iid = g.target
    )
    select
      g.*,
      case
        when g.place = g.channel and g.counted > 0 then (
          select count(*)
          from (
            select
            from inbox as m
            where m.iid = g.target
              and m.kind > 2
              and m.kind = g.kind
              and m.name = g.name collate "C"
            limit g.counted
          ) as waiting
        )
      end as waiting,
      case
        when g.key <> '' then (
          select true
          from posted as p
          where p.iid = g.target
            and p.key = g.key collate "C"
        )
      end as is_known,
      case
        when g.status = 0 and g.place = g.target_place then (
          select count(*)
          from (
            select
            from inbox as m
            where m.iid = g.target
              and m.kind > 2
            limit 10000
          ) as unstarted
        )
      end as unstarted
    from given as g
    order by g.place
  loop
    if v_post.waiting > 0 then
      v_waiting[v_post.place] := v_post.waiting;
    end if;
    if v_post.unstarted > 0 then
      v_unstarted[v_post.place] := v_post.unstarted;
    end if;
    if v_is_full is null and v_post.status = 0 then
      v_is_full := early_is_full();
    end if;
    if v_post.target is null then
      v_letters := v_letters || case when v_post.kind = 3 then 'f' else 'u' end;
    -- Asked before anything else: whoever repeats a message that arrived learns that, also when its
    -- reader has ended.
    elsif v_post.is_known then
      v_letters := v_letters || 'd'::text;
    -- Or removed since we looked.
    elsif coalesce(v_post.status, 2) > 1 then
      v_letters := v_letters || 'e'::text;
    elsif v_post.status = 0 and v_post.kind > 3 then
      v_letters := v_letters || 'u'::text;
    elsif v_post.key <> '' and v_used[v_post.key_place] then
      v_letters := v_letters || 'd'::text;
    elsif v_waiting[v_post.channel] >= v_post.capacity then
      v_letters := v_letters || case when v_post.kind = 3 then 'f' else 'd' end;
    elsif v_post.status = 0
      and (v_unstarted[v_post.target_place] >= 10000 or v_is_full)
    then
      v_letters := v_letters || 'f'::text;
    else
      v_parked[v_post.place] := v_post.status = 0;
      v_letters := v_letters || 's'::text;
      v_waiting[v_post.channel] := v_waiting[v_post.channel] + 1;
      v_unstarted[v_post.target_place] := v_unstarted[v_post.target_place] + 1;
      if v_post.key <> '' then
        v_used[v_post.key_place] := true;
        v_keyed := v_keyed + 1;
      end if;
    end if;
  end loop;

  if v_keyed > 0 then
    with kept as (
      insert into posted (iid, key)
      select g.target, g.key
      from unnest(v_targets, v_keys, v_letters) as g (target, key, letter)
      where g.letter = 's'
        and g.key <> ''
      order by g.target, g.key
      on conflict do nothing
      returning iid, key
    )
    select array_agg(k.iid), array_agg(k.key)
    into v_kept_iids, v_kept_keys
    from kept as k;
    -- Somebody else has posted with the same key since we looked.
    if coalesce(cardinality(v_kept_iids), 0) < v_keyed then
      v_letters := array(
        select
          case
            when g.letter = 's' and g.key <> '' and k.iid is null then 'd'
            else g.letter
          end
        from unnest(v_targets, v_keys, v_letters) with ordinality
          as g (target, key, letter, place)
        left join unnest(v_kept_iids, v_kept_keys) as k (iid, key)
          on k.iid = g.target
          and k.key = g.key
        order by g.place
      );
    end if;
  end if;

  -- Parked until the start: claims and ticks would otherwise look at what nobody can claim.
  insert into inbox (iid, kind, name, reply_to, payload, at, parked, early)
  select
    g.target, g.kind, g.name, nullif(g.reply_to, ''), g.payload, p_clock, g.parked, g.parked
  from unnest(v_targets, p_kinds, v_names, v_reply_tos, v_payloads, v_letters, v_parked)
    with ordinality as g (target, kind, name, reply_to, payload, letter, parked, place)
  where g.letter = 's'
  -- By instance, so that two senders meet in one order; within one, as they were posted.
  order by g.target, g.place;

  -- One that was never run is not woken by mail. The wish for its end need not wait for its time.
  if p_kinds && array[4, 5]::smallint[] then
    update runs as r
    set wake_at = case when not r.held then p_clock end,
        due_at = case when r.held then p_clock end
    from unnest(v_targets, p_kinds, v_letters) as g (target, kind, letter)
    where r.iid = g.target
      and g.letter = 's'
      and g.kind in (4, 5)
      and r.epoch = 0
      and r.owner is null
      and (r.wake_at is not null or r.held);
  end if;

  verdicts := array_to_string(v_letters, '');
  select
    array_agg(case when g.letter = 'u' then 0 else coalesce(g.target, 0) end order by g.place),
    array_agg(r.owner order by g.place)
  into iids, owners
  from unnest(v_targets, v_letters) with ordinality as g (target, letter, place)
  left join runs as r on r.iid = g.target;
end
$$;
`,
  },
  {
    name: 'procedures/post_nowait',
    checksum: '1262a105484516ec',
    sql: `-- post() for a sender that waits for nobody: another transaction that has locked one of the ids, or a
-- key of a message, makes it fail with 55P03 (lock_not_available), and nothing is done. Not
-- immediately, since two who send at once are done with it in a moment.
create or replace function post_nowait(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  p_capacities integer[],
  p_iids bigint[],
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '5ms'
as $$
begin
  select p.verdicts, p.iids, p.owners
  into verdicts, iids, owners
  from post(p_ids, p_kinds, p_names, p_payloads, p_reply_tos, p_keys, p_capacities, p_iids) as p;
end
$$;
`,
  },
  {
    name: 'procedures/post_skip_locked',
    checksum: '97c497656f69b0bf',
    sql: `-- post() one by one, leaving out what another transaction has locked, and what comes behind it for the
-- same instance: each is answered l, and nothing is done about it. For what post_nowait() could not do.
--
-- After 20 ms the rest is answered n, not tried, and nothing is done about it either: its sender must
-- not wait long for the sake of others, and sends these again. The first is always tried.
create or replace function post_skip_locked(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  p_capacities integer[],
  p_iids bigint[],
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '1ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_until timestamptz;
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_names text[] := split_texts(p_names, v_size);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_reply_tos text[] := split_texts(p_reply_tos, v_size);
  v_keys text[] := split_texts(p_keys, v_size);
  v_locked text[] := '{}';
  v_letter text;
  v_one record;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  verdicts := '';
  v_until := clock_timestamp() + interval '20 ms';
  for n in 1 .. v_size loop
    if v_ids[n] = any (v_locked) then
      v_letter := 'l';
    elsif n > 1 and clock_timestamp() >= v_until then
      v_letter := 'n';
    else
      begin
        select a.*
        into v_one
        from post_any(
          v_ids[n], p_kinds[n:n], v_names[n], v_payloads[n], v_reply_tos[n], v_keys[n],
          p_capacities[n:n], p_iids[n:n], v_clock
        ) as a;
        verdicts := verdicts || v_one.verdicts;
        iids := iids || v_one.iids;
        owners := owners || v_one.owners;
        continue;
      exception
        when lock_not_available then
          v_letter := 'l';
          v_locked := v_locked || v_ids[n];
      end;
    end if;
    verdicts := verdicts || v_letter;
    iids := iids || 0::bigint;
    owners := owners || null::integer;
  end loop;
end
$$;
`,
  },
  {
    name: 'procedures/post_within',
    checksum: '411d2e877673d259',
    sql: `-- post() in a transaction that the user commits; see start_within(). Its answer is JSON of texts.
create or replace function post_within(
  p_token text,
  p_ids text,
  p_kinds text,
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  p_capacities text,
  p_iids text,
  p_tell text,
  out answer text
)
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_posted record;
begin
  if current_setting('holdfast.within', true) = p_token then
    select a.*
    into v_posted
    from post(
      p_ids, p_kinds::smallint[], p_names, p_payloads, p_reply_tos, p_keys,
      p_capacities::integer[], p_iids::bigint[]
    ) as a;
    answer := json_build_object(
      'verdicts', v_posted.verdicts,
      'iids', v_posted.iids::text,
      'owners', v_posted.owners::text
    );
    if p_tell::boolean then
      perform tell_within(v_posted.iids, false);
    end if;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/read_state',
    checksum: '219706998c1d7ea6',
    sql: `-- Values that workflows keep, by the caller's ids and the keys. \`place\` counts from 1; places of
-- what is not there are missing.
create or replace function read_state(p_ids text, p_keys text, p_count integer)
  returns table (place bigint, value text)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select g.place, s.value
  from unnest(split_texts(p_ids, p_count), split_texts(p_keys, p_count)) with ordinality
    as g (id, key, place)
  join instances as i on i.id = g.id collate "C"
  join state as s on s.iid = i.iid and s.key = g.key collate "C";
end
$$;
`,
  },
  {
    name: 'procedures/ready_lanes',
    checksum: '2e3ee82a9dde06c1',
    sql: `-- The lines in which tasks wait that a runtime serves, each with its first task: from p_from on,
-- and p_most at most. p_tags are the tags that are served, empty for none; with p_any_tag, all
-- others are served too.
--
-- Goes from one line to the next, over all tasks between them.
create or replace function ready_lanes(
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  p_from bigint,
  p_most integer
)
  returns table (
    activity text,
    tag text,
    lane bigint,
    number bigint,
    deaths smallint,
    session text,
    limit_key text,
    concurrency integer,
    rate_count integer,
    rate_ms bigint
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
#variable_conflict use_column
begin
  return query
  with recursive named as (
    select a.activity, '' collate "C" as tag
    from unnest(p_activities) as a (activity)
    where p_any_tag
    union all
    select n.activity, next.tag
    from named as n
    cross join lateral (
      select t.tag
      from tasks as t
      where t.activity = n.activity collate "C"
        and t.tag > n.tag
        and t.held_by is null
        and t.visible_at is null
        and t.lane is not null
      order by t.tag
      limit 1
    ) as next
  ),
  lanes as (
    select
      served.activity, served.tag, p_from - 1 as lane, null::bigint as number,
      null::smallint as deaths, null::text collate "C" as session,
      null::text collate "C" as limit_key, null::integer as concurrency,
      null::integer as rate_count, null::bigint as rate_ms
    from (
      select a.activity, s.tag collate "C" as tag
      from unnest(p_activities) as a (activity)
      cross join unnest(p_tags) as s (tag)
      union all
      select n.activity, n.tag
      from named as n
      where n.tag <> ''
    ) as served
    union all
    select
      l.activity, l.tag, next.lane, next.number, next.deaths, next.session, next.limit_key,
      next.concurrency, next.rate_count, next.rate_ms
    from lanes as l
    cross join lateral (
      select
        t.lane, t.number, t.deaths, t.session, t.limit_key, t.concurrency, t.rate_count, t.rate_ms
      from tasks as t
      where t.activity = l.activity collate "C"
        and t.tag = l.tag
        and t.lane > l.lane
        and t.held_by is null
        and t.visible_at is null
      order by t.lane, t.number
      limit 1
    ) as next
  )
  select l.*
  from lanes as l
  where l.number is not null
  limit p_most;
end
$$;
`,
  },
  {
    name: 'procedures/register',
    checksum: '9f693fd4ec541b23',
    sql: `-- Takes in a new runtime.
create or replace function register(
  p_lease_ms bigint,
  p_info text,
  p_names text,
  p_versions text,
  p_count integer,
  -- How long each workflow wants its instances kept after their end, null for ever. No list from a
  -- runtime that does not know of it: then all stay as they are.
  p_retentions bigint[] default null,
  -- The tags and activities that it serves, as JSON; null when it does not tell.
  p_serves text default null,
  out runtime integer,
  out server text,
  out clock bigint,
  out workflows integer[]
)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_clock bigint;
begin
  workflows := workflow_numbers(p_names, p_versions, p_count);
  update workflows as w
  set retention_ms = g.retention_ms
  from unnest(workflows, p_retentions) as g (workflow, retention_ms)
  where p_retentions is not null
    and w.workflow = g.workflow
    and w.retention_ms is distinct from g.retention_ms;
  perform keep_clock();
  v_clock := now_ms();
  -- Who is not here is as dead as who is dead. Here, because each start adds a row.
  delete from runtimes as r
  where r.state <> 1
    and r.lease_until < v_clock - 7 * 86400000::bigint;
  loop
    insert into runtimes (runtime, state, lease_until, registered_at, info, workflows, serves)
    values (
      1 + floor(random() * 2147483646)::integer, 1, v_clock + p_lease_ms, v_clock, p_info,
      workflows, p_serves
    )
    on conflict do nothing
    returning runtimes.runtime into runtime;
    exit when found;
  end loop;
  server := server_identity();
  clock := v_clock;
end
$$;
`,
  },
  {
    name: 'procedures/remove',
    checksum: 'cdf5785a30220c81',
    sql: `-- Removes instances that have ended, or were never started, with all there is of them; returns how
-- many there were.
create or replace function remove(p_ids text, p_count integer, out removed bigint)
  language plpgsql
  volatile
  set search_path from current
  -- A transaction of a user may have locked one of them: then it is tried again, and takes no
  -- connection from others meanwhile.
  set lock_timeout to '30ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_iids bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  v_iids := array(
    select i.iid
    from instances as i
    where i.iid = any (iids_of(p_ids, p_count))
      and i.status <> 1
    order by i.id
    for update
  );
  -- What is just being sent to one that was never started: see unpark_started().
  update absences set at = -1 where iid = any (v_iids);
  delete from instances where iid = any (v_iids);
  delete from history where iid = any (v_iids);
  delete from state where iid = any (v_iids);
  delete from inbox where iid = any (v_iids);
  delete from posted where iid = any (v_iids);
  perform remove_tasks(v_iids, null);
  removed := cardinality(v_iids);
end
$$;
`,
  },
  {
    name: 'procedures/remove_absent',
    checksum: '194ccbf014e6e5ad',
    sql: `-- Removes instances that were never started, a week after the newest message for them, with all
-- their messages. Returns how many messages these were. Bounded, so that a tick stays short: the
-- rest goes with later ticks.
--
-- Never waits, and nobody but a sender to one that is just removed waits for it.
create or replace function remove_absent(p_clock bigint)
  returns bigint
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
as $$
declare
  v_week_ago bigint := p_clock - 604800000;
  v_old bigint[];
  v_iid bigint;
  v_newest bigint;
  v_messages bigint;
  v_removed bigint := 0;
begin
  -- Somebody who is just sending has locked the row: see keep_absent().
  v_old := array(
    select a.iid
    from absences as a
    where a.at >= 0
      and a.at < v_week_ago
    order by a.at
    limit 500
    for update skip locked
  );
  foreach v_iid in array v_old loop
    -- In a new statement, which sees what those sent who had the lock before.
    v_newest := (
      select max(m.at)
      from inbox as m
      where m.iid = v_iid
        and m.kind > 2
    );
    if v_newest >= v_week_ago then
      update absences
      set at = v_newest
      where iid = v_iid;
      continue;
    end if;

    perform
    from instances as i
    where i.iid = v_iid
      and i.status = 0
    for update skip locked;
    if found then
      delete from instances
      where iid = v_iid;
      delete from posted
      where iid = v_iid;
      delete from inbox
      where iid = v_iid;
      get diagnostics v_messages = row_count;
      v_removed := v_removed + v_messages;
    else
      -- Somebody is just starting it; or it was started or removed, and there is nothing to keep.
      continue when (
        select true
        from instances as i
        where i.iid = v_iid
          and i.status = 0
      );
    end if;
    delete from absences
    where iid = v_iid;
    exit when v_removed >= 10000;
  end loop;
  return v_removed;
end
$$;
`,
  },
  {
    name: 'procedures/remove_expired',
    checksum: 'ab0b605cc81ee33d',
    sql: `-- Removes instances that ended longer ago than their workflow wants them kept, with all there is of
-- them: those first whose time was over first, at most p_limit. Returns how many ends were looked at,
-- and when the time of the last of them was over.
--
-- What a workflow started is kept while the execution that did it goes on: whoever takes that over may
-- start it again, and has to find it. It is looked at again after as long.
--
-- p_since spares the look at those whose time was over before, and which are known to be gone. While
-- somebody holds back vacuum, each look would pass over all that were ever removed.
create or replace function remove_expired(
  p_since bigint,
  p_limit integer,
  out looked_at integer,
  out reached bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[];
  v_kept bigint[];
begin
  perform require_fresh_snapshots();
  -- What is lost in a crash is done again.
  perform set_config('synchronous_commit', 'off', true);
  with expired as materialized (
    select e.workflow, e.at, e.iid, e.at + w.retention_ms as over_at
    from workflows as w
    cross join lateral (
      select e.workflow, e.at, e.iid
      from ended as e
      where e.workflow = w.workflow
        and e.at >= p_since - w.retention_ms
        and e.at < v_clock - w.retention_ms
      order by e.at
      limit p_limit
      -- Each runtime takes others.
      for update skip locked
    ) as e
    where w.retention_ms is not null
    order by over_at
    limit p_limit
  ),
  noted as (
    delete from ended as n
    using expired as e
    where n.workflow = e.workflow
      and n.at = e.at
      and n.iid = e.iid
  )
  select array_agg(e.iid), count(*), max(e.over_at)
  into v_iids, looked_at, reached
  from expired as e;

  if v_iids is null then
    return;
  end if;

  v_kept := array(
    select child.iid
    from unnest(v_iids) as e (iid)
    cross join lateral (
      select i.iid, i.parent_iid, i.parent_execution
      from instances as i
      where i.iid = e.iid
        and i.parent_iid is not null
      limit 1
    ) as child
    cross join lateral (
      select
      from instances as p
      where p.iid = child.parent_iid
        and p.execution = child.parent_execution
        and p.status = 1
      limit 1
    ) as parent
  );
  if cardinality(v_kept) > 0 then
    perform note_ended(v_clock, v_kept);
    v_iids := array(select unnest(v_iids) except select unnest(v_kept));
  end if;

  delete from instances
  where iid = any (v_iids)
    and status > 1;
  delete from history
  where iid = any (v_iids);
  delete from state
  where iid = any (v_iids);
  delete from posted
  where iid = any (v_iids);
end
$$;
`,
  },
  {
    name: 'procedures/remove_tasks',
    checksum: 'd16b998751723a5e',
    sql: `-- Removes the tasks of instances that have ended, or of their executions before the one given.
create or replace function remove_tasks(p_iids bigint[], p_executions integer[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_iids bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  select array_agg(t.iid), array_agg(t.execution), array_agg(t.command)
  into v_iids, v_executions, v_commands
  from unnest(p_iids, p_executions) as g (iid, execution)
  cross join lateral (
    select t.iid, t.execution, t.command
    from tasks as t
    where t.iid = g.iid
      and t.execution < coalesce(g.execution, 2147483647)
    -- Keeps the order of the join: from the few that are named to the many there are.
    offset 0
  ) as t;
  if v_iids is not null then
    perform drop_tasks(v_iids, v_executions, v_commands);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/remove_undelivered',
    checksum: 'ce635fd545e804d9',
    sql: `-- Removes what was sent while its instance ended or was removed: its sender looked before, and
-- committed after. Returns how many messages were among it. Bounded, so that a tick stays short: the
-- rest goes with later ticks.
create or replace function remove_undelivered()
  returns bigint
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_messages bigint := 0;
  v_ended bigint[] := array(
    select m.iid
    from (select distinct iid from inbox where not parked) as m
    where (
      select true
      from instances as i
      where i.iid = m.iid
        and i.status < 2
    ) is null
    limit 1000
  );
begin
  if cardinality(v_ended) > 0 then
    with removed as (
      delete from inbox
      where iid = any (v_ended)
      returning kind
    )
    select count(*)
    into v_messages
    from removed as r
    where r.kind = 3;
    -- The keys of one that is still there are known until it is removed.
    delete from posted as p
    where p.iid = any (v_ended)
      and (select true from instances as i where i.iid = p.iid) is null;
  end if;
  return v_messages;
end
$$;
`,
  },
  {
    name: 'procedures/renew_lease',
    checksum: '7be4b5db2ed4d1df',
    sql: `-- Makes the lease of a runtime end p_lease_ms from now, and nothing else that may be waited for: a
-- statement by itself cannot fail, or wait, for anything that a tick does. False when the runtime is not
-- alive any more.
create or replace function renew_lease(
  p_runtime integer,
  p_lease_ms bigint,
  out is_alive boolean,
  out clock bigint
)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  perform require_fresh_snapshots();
  perform keep_clock();
  clock := now_ms();
  update runtimes
  set lease_until = clock + p_lease_ms
  where runtime = p_runtime
    and state = 1;
  is_alive := found;
end
$$;
`,
  },
  {
    name: 'procedures/replies_to',
    checksum: '8398d27552e06951',
    sql: `-- Answers to requests. \`place\` counts from 1; places of those without an answer are missing.
create or replace function replies_to(p_tos text, p_count integer)
  returns table (place bigint, value text)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select g.place, r.payload
  from unnest(split_texts(p_tos, p_count)) with ordinality as g (reply_to, place)
  join replies as r on r.reply_to = g.reply_to collate "C";
end
$$;
`,
  },
  {
    name: 'procedures/require_fresh_snapshots',
    checksum: 'cc258d4167cdb15e',
    sql: `-- Refuses a transaction whose statements do not see what was committed while they waited: a
-- judgement made after waiting for a lock would rest on what was true before.
create or replace function require_fresh_snapshots()
  returns void
  language plpgsql
  volatile
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'transaction isolation is "%", must be "read committed"',
      current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/reserve',
    checksum: '6cb5f004ab347c08',
    sql: `-- Gives out p_count numbers in a row, from the one returned. Not undone by a rollback.
create or replace function reserve(p_count bigint, out first bigint)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  -- Two steps that nobody may come between. No runtime has the number 0.
  perform pg_advisory_xact_lock(lock_space(), 0);
  first := nextval('instance_numbers');
  if p_count > 1 then
    perform setval('instance_numbers', first + p_count - 1);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/resolve_versions',
    checksum: 'f53f5350154f019d',
    sql: `-- Gives the latest version that a live runtime has to those of these instances whose start named
-- none, for claim(). Answers with those of them that p_runtime has not got the code of.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function resolve_versions(
  p_runtime integer,
  p_iids bigint[],
  p_workflows integer[],
  p_clock bigint
)
  returns bigint[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_unnamed integer[];
  v_latest integer[];
  v_passed bigint[];
begin
  select array_agg(named.workflow), array_agg(named.latest)
  into v_unnamed, v_latest
  from (
    select
      u.workflow,
      (
        select v.workflow
        from workflows as v
        where v.name = u.name
          and v.version <> ''
          and v.workflow in (
            select served.workflow
            from runtimes as t
            cross join lateral unnest(t.workflows) as served (workflow)
            where t.state = 1
              -- Who asks is alive, whatever its lease says.
              and (t.lease_until > p_clock or t.runtime = p_runtime)
          )
        order by version_rank(v.version) collate "C" desc
        limit 1
      ) as latest
    from (
      select distinct r.workflow
      from unnest(p_iids) as f (iid)
      cross join lateral (
        select r.workflow
        from runs as r
        where r.iid = f.iid
          -- A version is named by the first claim.
          and r.epoch = 0
        limit 1
      ) as r
    ) as r
    join workflows as u on u.workflow = r.workflow
    where u.version = ''
  ) as named
  where named.latest is not null;
  if v_unnamed is null then
    return '{}';
  end if;

  with resolved as (
    update runs as r
    set workflow = v_latest[array_position(v_unnamed, r.workflow)]
    where r.iid = any (p_iids)
      and r.workflow = any (v_unnamed)
    returning r.iid, r.workflow
  ),
  noted as (
    update instances as i
    set workflow = r.workflow
    from resolved as r
    where i.iid = r.iid
  )
  select array_agg(r.iid) filter (where r.workflow <> all (p_workflows))
  into v_passed
  from resolved as r;
  return coalesce(v_passed, '{}');
end
$$;
`,
  },
  {
    name: 'procedures/resume',
    checksum: 'ceecc7953450049e',
    sql: `-- Makes instances that were set aside claimable again, those that were never run from the time on
-- that they were started for; returns how many there were.
create or replace function resume(p_ids text, p_count integer, out resumed bigint)
  language plpgsql
  volatile
  set search_path from current
  -- A transaction of a user may have locked one of them: then it is tried again, and takes no
  -- connection from others meanwhile.
  set lock_timeout to '30ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
begin
  perform be_durable();
  with freed as (
    update runs as r
    set held = false,
        wake_at = coalesce(r.due_at, v_clock),
        due_at = null,
        attempts = 0,
        doing = null
    from unnest(split_texts(p_ids, p_count)) as g (id)
    join instances as i on i.id = g.id collate "C"
    where r.iid = i.iid
      and r.held
    returning r.iid
  ),
  -- They may have been put off because whoever ran them died.
  tasks_freed as (
    update tasks as t
    set deaths = 0,
        visible_at = null,
        lane = task_lane(t.session, t.limit_key, 0)
    from freed as f
    where t.iid = f.iid
      and t.held_by is null
      and t.deaths > 0
      and t.lane is not null
  ),
  told as (
    update instances as i
    set report = null,
        updated_at = v_clock
    from freed as f
    where i.iid = f.iid
  )
  select count(*)
  into resumed
  from freed;
end
$$;
`,
  },
  {
    name: 'procedures/send',
    checksum: '33cfb5f761748608',
    sql: `-- Puts results into inboxes. Only inserts: an instance is claimable because it has mail, so there
-- is no flag to set and no row to lock. A second result for a command is dropped, and so is what
-- comes for an instance that has ended, or from somebody who knows of a turn that history does not
-- have: that one followed from what a failover lost.
create or replace function send(
  p_iids bigint[],
  p_kinds smallint[],
  p_executions integer[],
  p_commands integer[],
  p_payloads text,
  -- The last turns that the senders know of, and their times; a null is not compared.
  p_turns integer[] default null,
  p_ats bigint[] default null
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  perform be_durable();
  insert into inbox (iid, kind, execution, command, payload)
  select g.iid, g.kind, g.execution, g.command, g.payload
  from unnest(
    p_iids, p_kinds, p_executions, p_commands, split_texts(p_payloads, cardinality(p_iids)),
    p_turns, p_ats
  ) with ordinality as g (iid, kind, execution, command, payload, turn, at, place)
  join runs as r on r.iid = g.iid
  where g.turn is null
    or g.at = (
      select h.at
      from history as h
      where h.iid = g.iid
        and h.execution = g.execution
        and h.turn = g.turn
    )
  -- By instance, so that two senders meet in one order; within one, as they were sent.
  order by g.iid, g.place
  on conflict do nothing;
end
$$;
`,
  },
  {
    name: 'procedures/server_identity',
    checksum: 'a48a7842d3e23321',
    sql: `-- Which server this is: changes when it restarts and when another one takes its place.
create or replace function server_identity()
  returns text
  language sql
  volatile
as $$
  select to_hex((extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint)
    -- The first eight digits of a WAL file's name are the timeline.
    || '-' || ltrim(left(pg_walfile_name(pg_current_wal_lsn()), 8), '0')
$$;
`,
  },
  {
    name: 'procedures/server_since',
    checksum: '8a2e540a2ee79f24',
    sql: `-- Since when the server has been there, by the store's clock as it was last noted: see clock_kept. Tests
-- that set the clock replace it in their own schema.
create or replace function server_since()
  returns bigint
  language sql
  stable
as $$
  select floor(extract(epoch from pg_postmaster_start_time()) * 1000)::bigint
    + coalesce(pg_sequence_last_value('clock_kept'::regclass), 0) % 1000000 * 10
$$;
`,
  },
  {
    name: 'procedures/session_free_at',
    checksum: 'd8e8505f6adfe687',
    sql: `-- When a runtime may take over a session: now or earlier, or later by time alone; null while
-- another live runtime holds a task of it.
create or replace function session_free_at(p_runtime integer, p_session text, p_idle_ms bigint)
  returns bigint
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_touched_at bigint;
  v_owner integer;
begin
  select s.touched_at, s.runtime
  into v_touched_at, v_owner
  from sessions as s
  where s.session = p_session collate "C";
  if v_owner is null
    or v_owner = p_runtime
    or (select r.state from runtimes as r where r.runtime = v_owner) is distinct from 1
  then
    return 0;
  end if;
  if (
    select true
    from tasks as t
    where t.held_by = v_owner
      and t.session = p_session collate "C"
    limit 1
  ) then
    return null;
  end if;
  return v_touched_at + p_idle_ms;
end
$$;
`,
  },
  {
    name: 'procedures/shelve_tasks',
    checksum: 'ee9d5ebb2ef7a11c',
    sql: `-- Takes those tasks out of their lines that were not started in time: nobody need look at them
-- again.
create or replace function shelve_tasks(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_late boolean[]
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  with late as materialized (
    select t.iid, t.execution, t.command
    from unnest(p_iids, p_executions, p_commands, p_late) as g (iid, execution, command, late)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.iid, t.execution, t.command, t.held_by, t.attempts
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
    where g.late
      and t.held_by is null
      and t.attempts = 0
  )
  update tasks as t
  set lane = null
  from late as l
  where t.iid = l.iid
    and t.execution = l.execution
    and t.command = l.command;
end
$$;
`,
  },
  {
    name: 'procedures/spend_limits',
    checksum: 'b6ecff290a540f1a',
    sql: `-- Notes how many tasks were started of limits that have a rate, whose locks the caller has.
create or replace function spend_limits(
  p_limit_keys text[],
  p_rate_counts integer[],
  p_rate_mss bigint[],
  p_clock bigint
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  insert into limits as l (limit_key, spent_until)
  select g.limit_key, p_clock * 1000 + sum(limit_share(g.rate_count, g.rate_ms))
  from unnest(p_limit_keys, p_rate_counts, p_rate_mss) as g (limit_key, rate_count, rate_ms)
  where g.rate_count is not null
  group by g.limit_key
  on conflict (limit_key) do update
  set spent_until = greatest(l.spent_until, p_clock * 1000)
    + excluded.spent_until - p_clock * 1000;
end
$$;
`,
  },
  {
    name: 'procedures/split_lists',
    checksum: '686c2ffbebb33b86',
    sql: `-- Lists that came as one text, joined by \\x02. What is seldom sent, or sent by few, is packed like
-- this: each parameter costs something also when it is empty.
create or replace function split_lists(p_lists text, p_count integer)
  returns text[]
  language plpgsql
  immutable
as $$
declare
  v_lists text[] := string_to_array(p_lists, e'\\x02');
begin
  if cardinality(v_lists) <> p_count then
    raise exception 'got % lists where % belong: a text holds the control character U+0002',
      cardinality(v_lists), p_count
      using errcode = '22023';
  end if;
  return v_lists;
end
$$;
`,
  },
  {
    name: 'procedures/split_texts',
    checksum: 'd602625aa3769d41',
    sql: `-- Texts that came as one, joined by \\x01: several times cheaper to send than an array. A text that
-- holds the separator itself would shift all that follow, so the count is checked.
create or replace function split_texts(p_texts text, p_count integer)
  returns text[]
  language plpgsql
  immutable
as $$
declare
  v_texts text[] := string_to_array(p_texts, e'\\x01');
begin
  -- Nothing, and one text that is empty, look the same.
  if p_texts = '' and p_count = 1 then
    return array[''];
  end if;
  if cardinality(v_texts) <> p_count then
    raise exception 'got % texts where % belong: one holds the control character U+0001',
      cardinality(v_texts), p_count
      using errcode = '22023';
  end if;
  return v_texts;
end
$$;
`,
  },
  {
    name: 'procedures/start_batch',
    checksum: 'c660cad41cbfa3d7',
    sql: `-- Starts instances for a client that owns nothing. Takes and answers what insert_starts() does;
-- p_effects and p_tasks are empty, or what apply_effects() and change_tasks() take.
create or replace function start_batch(
  p_starts text,
  p_effects text,
  p_tasks text default '',
  out starts text
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
  v_born bigint[];
begin
  if p_starts = '' then
    starts := '';
    return;
  end if;
  perform require_fresh_snapshots();
  perform be_durable();
  select s.letters, s.born
  into starts, v_born
  from insert_starts(null, v_clock, p_starts) as s;
  if p_effects <> '' then
    perform apply_effects(v_clock, v_born, p_effects);
  end if;
  if p_tasks <> '' then
    perform change_tasks(v_born, p_tasks);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/start_nowait',
    checksum: 'eea278d9debe596e',
    sql: `-- start_batch() for a client that waits for nobody: another transaction that has locked one of the
-- ids makes it fail with 55P03 (lock_not_available), and nothing is done. Not immediately, since two
-- who start the same id at once are done with it in a moment.
create or replace function start_nowait(
  p_starts text,
  p_effects text,
  p_tasks text,
  out starts text
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '5ms'
as $$
begin
  starts := start_batch(p_starts, p_effects, p_tasks);
end
$$;
`,
  },
  {
    name: 'procedures/start_skip_locked',
    checksum: '0017122a706b232f',
    sql: `-- Starts instances one by one, and leaves out those whose id another transaction has locked: each is
-- answered l, and nothing is done about it. The other letters are those of insert_starts(). For what
-- start_nowait() or commit_batch() could not do because of such an id.
--
-- After 20 ms the rest is answered n, not tried, and nothing is done about it either: its sender must
-- not wait long for the sake of others, and sends these again. The first is always tried.
create or replace function start_skip_locked(
  -- Null for a client. Of a runtime, the instances may be owned, and have to be of its own parents.
  p_runtime integer,
  -- The server as last verified; null where that does not matter, since nothing is owned.
  p_server text,
  -- One entry for each instance: as insert_starts(), apply_effects() and change_tasks() take them.
  p_starts text[],
  p_effects text[],
  p_tasks text[],
  out state text,
  out clock bigint,
  out server text,
  out starts text
)
  language plpgsql
  volatile
  set search_path from current
  set lock_timeout to '1ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_until timestamptz;
  v_letter text;
  v_born bigint[];
begin
  perform require_fresh_snapshots();
  clock := now_ms();
  server := server_identity();
  starts := '';
  if p_runtime is not null then
    -- Its own lock is never held for long, but longer than those that are skipped here.
    perform set_config('lock_timeout', '1s', true);
    if not enter(p_runtime) then
      state := 'dead';
      return;
    end if;
    perform set_config('lock_timeout', '1ms', true);
  end if;
  if server <> p_server then
    state := 'verify';
    return;
  end if;
  perform be_durable();
  state := 'ok';

  v_until := clock_timestamp() + interval '20 ms';
  for n in 1 .. cardinality(p_starts) loop
    v_letter := 'n';
    if n = 1 or clock_timestamp() < v_until then
      begin
        select s.letters, s.born
        into v_letter, v_born
        from insert_starts(p_runtime, clock, p_starts[n]) as s;
        if p_effects[n] <> '' then
          perform apply_effects(clock, v_born, p_effects[n]);
        end if;
        if p_tasks[n] <> '' then
          perform change_tasks(v_born, p_tasks[n]);
        end if;
      exception
        when lock_not_available then
          v_letter := 'l';
      end;
    end if;
    starts := starts || v_letter;
  end loop;
end
$$;
`,
  },
  {
    name: 'procedures/start_within',
    checksum: '80b92f9b7176f162',
    sql: `-- start_batch() in a transaction that the user commits. Null, and nothing is done, when it is not in
-- the transaction that enter_within() marked with this token, and would commit by itself.
create or replace function start_within(
  p_token text,
  p_starts text,
  p_effects text,
  -- Whether a runtime is told when the transaction is committed.
  p_tell text,
  out answer text
)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  if current_setting('holdfast.within', true) = p_token then
    answer := start_batch(p_starts, p_effects);
    if p_tell::boolean then
      perform tell_within((split_lists(p_starts, 23))[1]::bigint[], true);
    end if;
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/stranded',
    checksum: '8e9c9c6cc8461529',
    sql: `-- Unowned instances of these workflows that wait for activities other than those named, a few of
-- them. A runtime knows the activities that it was given, and those that its workflows have called
-- so far; what waits for any other may be in its code all the same.
--
-- Only who knows an activity makes its tasks ready when their time has come, or takes them from who is
-- silent: so those are looked for here as they stand.
create or replace function stranded(p_workflows integer[], p_named text[])
  returns bigint[]
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
#variable_conflict use_column
declare
  v_most constant integer := 16;
  v_clock constant bigint := now_ms();
  v_activity text := '';
  v_found bigint[] := '{}';
begin
  loop
    -- From one activity to the next, over all tasks between them.
    v_activity := least(
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.held_by is null
          and t.visible_at is null
          and t.lane is not null
        order by t.activity
        limit 1
      ) collate "C",
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.visible_at is not null
        order by t.activity
        limit 1
      ) collate "C",
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.beat_until is not null
        order by t.activity
        limit 1
      ) collate "C"
    );
    exit when v_activity is null;
    continue when v_activity = any (p_named);
    v_found := v_found || array(
      select distinct waiting.iid
      from (
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.held_by is null
            and t.visible_at is null
            and t.lane is not null
          limit 1000
        )
        union all
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.visible_at <= v_clock
          limit 1000
        )
        union all
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.beat_until <= v_clock
          limit 1000
        )
      ) as waiting
      cross join lateral (
        select
        from runs as r
        where r.iid = waiting.iid
          and r.owner is null
          and not r.held
          and r.workflow = any (p_workflows)
        limit 1
      ) as unowned
      limit v_most
    );
    exit when cardinality(v_found) >= v_most;
  end loop;
  return v_found;
end
$$;
`,
  },
  {
    name: 'procedures/suspend',
    checksum: '0d9391c4e6f2c68c',
    sql: `-- Sets unfinished instances aside, whoever owns them. One letter for each, t or f: whether it was
-- unfinished.
create or replace function suspend(
  p_ids text,
  p_count integer,
  p_report text,
  out suspended text
)
  language plpgsql
  volatile
  set search_path from current
  -- A transaction of a user may have locked one of them: then it is tried again, and takes no
  -- connection from others meanwhile.
  set lock_timeout to '30ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[] := iids_of(p_ids, p_count);
  v_aside bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  perform lock_owners(v_iids);

  with aside as (
    update runs
    set owner = null,
        -- Nobody has run it at 0, and so there is nobody to overrule: it stays one that was never run.
        epoch = case when epoch = 0 then 0 else epoch + 1 end,
        due_at = case when epoch = 0 then coalesce(wake_at, due_at) end,
        wake_at = null,
        held = true
    where iid = any (v_iids)
    returning iid
  ),
  told as (
    update instances as i
    set report = p_report,
        updated_at = v_clock
    from aside as a
    where i.iid = a.iid
  )
  select array_agg(a.iid)
  into v_aside
  from aside as a;
  suspended := truths(v_iids, v_aside);
end
$$;
`,
  },
  {
    name: 'procedures/sweep',
    checksum: 'd3bc9854c28ae054',
    sql: `-- Removes what nobody asks for any more: answers that are older than an hour, tasks that were locked
-- when they were dropped, sessions without tasks that were idle for an hour, and limits that have
-- recovered as long ago. Bounded, so that a tick stays short: the rest goes with later ticks.
create or replace function sweep(p_clock bigint)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_old text[];
  v_hour_ago bigint := p_clock - 3600000;
begin
  v_old := array(
    select r.reply_to
    from replies as r
    where r.at < v_hour_ago
    order by r.at
    limit 10000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from replies
    where reply_to = any (v_old);
  end if;

  perform sweep_tasks();

  v_old := array(
    select s.session
    from sessions as s
    where s.touched_at < v_hour_ago
      and (select true from tasks as t where t.session = s.session limit 1) is null
    order by s.touched_at
    limit 1000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from sessions
    where session = any (v_old);
  end if;

  v_old := array(
    select l.limit_key
    from limits as l
    where l.spent_until < v_hour_ago * 1000
    order by l.spent_until
    limit 1000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from limits
    where limit_key = any (v_old);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/sweep_tasks',
    checksum: '1aefb77c953e4edb',
    sql: `-- Removes tasks that were locked when they were dropped, those that are not locked any more. Bounded,
-- as sweep() is.
create or replace function sweep_tasks()
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_numbers bigint[];
begin
  with unwanted as materialized (
    select u.number, u.iid, u.execution, u.command
    from unwanted_tasks as u
    order by u.number
    limit 1000
    for update skip locked
  ),
  free as materialized (
    select t.*
    from unwanted as u
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = u.iid
        and t.execution = u.execution
        and t.command = u.command
      limit 1
      for update skip locked
    ) as t
    -- Another one may have taken its place.
    where t.number = u.number
  ),
  removed as (
    delete from tasks as t
    using free as f
    where t.iid = f.iid
      and t.execution = f.execution
      and t.command = f.command
  )
  select array_agg(u.number)
  into v_numbers
  from unwanted as u
  where u.number = any (array(select f.number from free as f))
    or u.number is distinct from (
      select t.number
      from tasks as t
      where t.iid = u.iid
        and t.execution = u.execution
        and t.command = u.command
    );

  if v_numbers is not null then
    delete from unwanted_tasks
    where number = any (v_numbers);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/take_limit',
    checksum: '77bc13dd54687dca',
    sql: `-- As limit_left(), and keeps others from starting tasks of the limit until the end of the
-- transaction. Who is kept from it looks again soon.
create or replace function take_limit(
  p_limit_key text,
  p_concurrency integer,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint,
  out most bigint,
  out opens_at bigint
)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  -- First without the lock: most that is closed is passed by here.
  select l.most, l.opens_at
  into most, opens_at
  from limit_left(p_limit_key, p_concurrency, p_rate_count, p_rate_ms, p_clock) as l;
  if most < 1 then
    return;
  end if;

  if not try_lock_name('limits', p_limit_key) then
    most := 0;
    opens_at := p_clock + 5;
    return;
  end if;
  -- A new statement, and so a new snapshot: it sees what whoever had the lock has started.
  select l.most, l.opens_at
  into most, opens_at
  from limit_left(p_limit_key, p_concurrency, p_rate_count, p_rate_ms, p_clock) as l;
end
$$;
`,
  },
  {
    name: 'procedures/take_sessions',
    checksum: 'dd1dd71fe64fbd27',
    sql: `-- Gives sessions to a runtime, those that are its own or free; answers with these. One that another
-- runtime is taking at this moment is not waited for.
create or replace function take_sessions(
  p_runtime integer,
  p_sessions text[],
  p_idle_ms bigint,
  p_clock bigint
)
  returns text[]
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_sessions text[] := array(
    select distinct s.session
    from unnest(p_sessions) as s (session)
    where try_lock_name('sessions', s.session)
  );
begin
  -- A new statement, and so a new snapshot: it sees what whoever had the lock has taken.
  v_sessions := array(
    select s.session
    from unnest(v_sessions) as s (session)
    where session_free_at(p_runtime, s.session, p_idle_ms) <= p_clock
    order by s.session
  );
  insert into sessions (session, runtime, touched_at)
  select s.session, p_runtime, p_clock
  from unnest(v_sessions) as s (session)
  on conflict (session) do update
  set runtime = excluded.runtime,
      touched_at = excluded.touched_at;
  return v_sessions;
end
$$;
`,
  },
  {
    name: 'procedures/task_lane',
    checksum: 'b348fb4b9bf3f093',
    sql: `-- The line that a task stands in. Tasks that one runtime may take and another may not, or not now,
-- stand in lines of their own: by session, by limit, and those that two runtimes died with. So who
-- looks for work passes by a line that is closed, however long it is.
--
-- Two that share a line by accident may hold each other up for a while; what may be taken is
-- decided by the rows.
create or replace function task_lane(p_session text, p_limit_key text, p_deaths integer)
  returns bigint
  language plpgsql
  immutable
  set search_path from current
as $$
begin
  if p_session is null and p_limit_key is null and p_deaths < 2 then
    return 0;
  end if;
  return 9223372036854775807 & hashtextextended(
    concat_ws(e'\\x01', p_deaths > 1, 's' || p_session, 'l' || p_limit_key),
    0
  );
end
$$;
`,
  },
  {
    name: 'procedures/tell_hints',
    checksum: '55e210cd3ca227df',
    sql: `-- Tells others what the caller has committed. Nothing is written here but to the queue of
-- notifications, so that no commit waits for a disk while it holds the lock on that queue.
--
-- Answers whether there are other live runtimes at all.
create or replace function tell_hints(
  -- 0 for a client.
  p_teller integer,
  p_has_room boolean,
  p_mail bigint[],
  p_due bigint[],
  p_activities text,
  p_counts integer[],
  p_pinned boolean[],
  -- Whom to tell what as it is: \`all\`, or a listener.
  p_tos text,
  p_payloads text,
  p_count integer,
  out others boolean
)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  if cardinality(p_mail) > 0 then
    perform tell_work(p_mail, false, p_teller, p_has_room);
  end if;
  if cardinality(p_due) > 0 then
    perform tell_work(p_due, true, p_teller, p_has_room);
  end if;
  if cardinality(p_counts) > 0 then
    perform tell_tasks(
      split_texts(p_activities, cardinality(p_counts)), p_counts, p_pinned, p_teller
    );
  end if;
  perform pg_notify(hint_channel(told.recipient), told.payload)
  from unnest(split_texts(p_tos, p_count), split_texts(p_payloads, p_count))
    as told (recipient, payload);
  others := exists (
    select
    from runtimes as t
    where t.state = 1
      and t.runtime <> p_teller
      and t.lease_until > v_clock
  );
end
$$;
`,
  },
  {
    name: 'procedures/tell_mail',
    checksum: '56855bbfe600a5b9',
    sql: `-- Tells of the mail of instances by the caller's ids, as tell_work() does. A client sends it right
-- behind post(), before that has answered: so it names nobody by number, and looks for itself whether
-- something waits. What was refused, or is in the owner's hands already, is not told.
create or replace function tell_mail(p_ids text, p_count integer)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_iid bigint;
  v_owner integer;
  v_iids bigint[];
begin
  if p_count = 1 then
    -- The usual case: somebody has it.
    select r.iid, r.owner
    into v_iid, v_owner
    from instances as i
    join runs as r on r.iid = i.iid
    where i.id = p_ids collate "C"
      and r.owner is not null
      and not r.held
      and (
        select true
        from inbox as m
        where m.iid = i.iid
          and (not m.parked or m.early)
        limit 1
      );
    if found then
      perform pg_notify(
        hint_channel('r' || v_owner), format('{"kind":"work","iids":[%s],"at":0}', v_iid)
      );
      return;
    end if;
  end if;
  v_iids := array(
    select distinct i.iid
    from unnest(split_texts(p_ids, p_count)) as g (id)
    join instances as i on i.id = g.id collate "C"
    where (
      select true
      from inbox as m
      where m.iid = i.iid
        and (not m.parked or m.early)
      limit 1
    )
  );
  if cardinality(v_iids) > 0 then
    perform tell_work(v_iids, false, 0, false);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/tell_parents',
    checksum: '8c75d67887f91122',
    sql: `-- Puts the results of instances that have ended into the inboxes of their parents. A parent that
-- has ended, or is in another execution by now, does not wait for them.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function tell_parents(p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into inbox (iid, kind, execution, command, payload)
  select
    child.parent_iid,
    case when child.status = 2 then 1 else 2 end,
    child.parent_execution, child.parent_command, child.output
  from instances as child
  join instances as parent
    on parent.iid = child.parent_iid
    and parent.execution = child.parent_execution
    and parent.status = 1
  where child.iid = any (p_iids)
    and child.on_close <> 4
  order by child.parent_iid, child.parent_execution, child.parent_command
  on conflict do nothing;
end
$$;
`,
  },
  {
    name: 'procedures/tell_tasks',
    checksum: 'fbcf80f6ecdacdad',
    sql: `-- Tells of new tasks: as many live runtimes as there are tasks of an activity, those with nothing to
-- do first. Where a tag or a session decides who can run them, everybody is told. Not the one that
-- tells, which knows already.
create or replace function tell_tasks(
  p_activities text[],
  p_counts integer[],
  p_pinned boolean[],
  p_teller integer
)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_clock bigint := now_ms();
begin
  perform pg_notify(
    hint_channel(told.recipient),
    case
      -- The server takes less than 8000 bytes. None means: any.
      when octet_length(told.activities) > 7000 then '{"kind":"tasks","activities":[]}'
      else format('{"kind":"tasks","activities":%s}', told.activities)
    end
  )
  from (
    select heard.recipient, json_agg(distinct heard.activity)::text as activities
    from (
      select a.activity, 'all' as recipient
      from unnest(p_activities, p_pinned) as a (activity, pinned)
      where a.pinned
      union all
      select a.activity, 'r' || able.runtime
      from unnest(p_activities, p_counts, p_pinned) as a (activity, count, pinned)
      cross join lateral (
        select t.runtime
        from runtimes as t
        where t.state = 1
          and t.lease_until > v_clock
          and t.runtime <> p_teller
          and a.activity = any (t.activities)
        order by t.idle desc, random()
        limit a.count
      ) as able
      where not a.pinned
    ) as heard
    group by heard.recipient
  ) as told;
end
$$;
`,
  },
  {
    name: 'procedures/tell_within',
    checksum: '5351bfe14ac1ee3f',
    sql: `-- tell_work() in a transaction that the user commits. A commit with a NOTIFY fails when the server's
-- queue of notifications is full, and only the hint may be lost of that: none is sent while half of
-- the queue is in use. What is told nobody is found by the next tick of a runtime.
create or replace function tell_within(p_iids bigint[], p_due boolean)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  if pg_notification_queue_usage() < 0.5 then
    perform tell_work(p_iids, p_due, 0, false);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/tell_work',
    checksum: '8ada4c1db0efe718',
    sql: `-- Tells of instances that have mail (p_due false), or are due: the owner of each or, where there is
-- none, a live runtime that has its workflow. Not the one that tells, which knows already; only
-- when it has no room, another one is found for what it could do itself.
--
-- What is unowned is dealt out in small lots, so that many starts at once wake several runtimes.
create or replace function tell_work(
  p_iids bigint[],
  p_due boolean,
  p_teller integer,
  p_has_room boolean
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
begin
  perform pg_notify(
    hint_channel('r' || told.runtime),
    case
      -- The server takes less than 8000 bytes. None means: look everywhere.
      when length(told.iids) > 7000 then '{"kind":"work","iids":[],"at":0}'
      else format('{"kind":"work","iids":[%s],"at":%s}', told.iids, told.at)
    end
  )
  from (
    with work as materialized (
      select
        r.iid, r.owner, r.workflow,
        case when p_due then coalesce(r.wake_at, 0) else 0 end as at,
        (row_number() over (partition by r.workflow, r.owner) - 1) / 16 as lot
      from unnest(p_iids) as w (iid)
      -- The limit keeps the order of the join: from the few that are named to the runs.
      cross join lateral (
        select r.iid, r.owner, r.workflow, r.wake_at
        from runs as r
        where r.iid = w.iid
          and not r.held
        limit 1
      ) as r
    ),
    able as materialized (
      select
        w.workflow,
        array_agg(t.runtime order by t.idle desc, random())
          filter (where t.runtime <> p_teller) as runtimes
      from (select distinct workflow from work where owner is null) as w
      join runtimes as t
        on t.state = 1
        and t.lease_until > v_clock
        and w.workflow = any (t.workflows)
      group by w.workflow
      having not (p_has_room and bool_or(t.runtime = p_teller))
    )
    select dealt.runtime, string_agg(dealt.iid::text, ',') as iids, min(dealt.at) as at
    from (
      select
        w.iid, w.at,
        coalesce(w.owner, a.runtimes[1 + w.lot % cardinality(a.runtimes)]) as runtime
      from work as w
      left join able as a
        on a.workflow = w.workflow
        and w.owner is null
    ) as dealt
    where dealt.runtime <> p_teller
    group by dealt.runtime
  ) as told;
end
$$;
`,
  },
  {
    name: 'procedures/terminate',
    checksum: '4de67656fc479977',
    sql: `-- Ends unfinished instances at once, whoever owns them. One letter for each, t or f: whether it was
-- unfinished. And who should be told: instances that may have mail because of it, and whether any of
-- those that ended had tasks.
create or replace function terminate(
  p_ids text,
  p_outputs text,
  p_events text,
  p_count integer,
  out terminated text,
  out mail bigint[],
  out had_tasks boolean
)
  language plpgsql
  volatile
  set search_path from current
  -- A transaction of a user may have locked one of them: then it is tried again, and takes no
  -- connection from others meanwhile.
  set lock_timeout to '30ms'
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[] := iids_of(p_ids, p_count);
  v_ended bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  -- An id that is given twice has ended when its second turn comes.
  v_iids := array(
    select case when row_number() over (partition by g.iid order by g.place) = 1 then g.iid end
    from unnest(v_iids) with ordinality as g (iid, place)
    order by g.place
  );
  perform lock_owners(v_iids);

  with ended as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select
      r.iid, last.execution, last.turn + 1, r.epoch + 1, greatest(v_clock, last.at),
      last.next_event, 1, g.events
    from unnest(v_iids, split_texts(p_events, p_count)) as g (iid, events)
    join runs as r on r.iid = g.iid
    cross join lateral last_turn(r.iid) as last
    order by r.iid
    returning iid
  )
  select array_agg(e.iid)
  into v_ended
  from ended as e;
  terminated := truths(v_iids, v_ended);
  mail := '{}';
  had_tasks := coalesce(
    (select true from runs as r where r.iid = any (v_ended) and r.has_tasks limit 1),
    false
  );

  if v_ended is not null then
    perform end_instances(
      v_clock, v_ended, v_iids, array_fill(5::smallint, array[p_count]), p_outputs
    );
    perform close_children(
      v_ended,
      array_fill(null::integer, array[cardinality(v_ended)]),
      array_fill(null::integer, array[cardinality(v_ended)])
    );
    mail := array(
      select i.parent_iid
      from instances as i
      where i.iid = any (v_ended)
        and i.parent_iid is not null
        and i.on_close < 4
    ) || array(
      select child.iid
      from instances as child
      where child.parent_iid = any (v_ended)
        and child.status = 1
        and child.on_close < 3
    );
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/tick',
    checksum: '952d88aef7f854d7',
    sql: `-- Buries runtimes whose lease ended, and tells all that a lost hint would have told. What it costs does
-- not depend on how many instances wait: nothing is counted, and nothing read through.
create or replace function tick(
  p_runtime integer,
  -- Null from those who renew their lease by itself. Otherwise it is renewed here, and what the
  -- runtime owns is counted, which older versions ask for.
  p_lease_ms bigint,
  p_workflows integer[],
  -- The tasks that it serves, as ready_lanes() takes it; no activities when it runs no tasks.
  p_activities text,
  p_activity_count integer,
  p_tags text,
  p_tag_count integer,
  p_any_tag boolean,
  -- The attempts it is busy with.
  p_held_iids bigint[],
  p_held_executions integer[],
  p_held_commands integer[],
  p_held_attempts integer[],
  p_idle boolean,
  -- Activities that it has no code for, as far as it could find out.
  p_unknown text,
  p_unknown_count integer,
  out state text,
  out clock bigint,
  out server text,
  out mail bigint[],
  out owned bigint,
  out claimable boolean,
  out next_due bigint,
  out next_task bigint,
  out wanted text,
  -- Joined by \\x01.
  out helped text,
  out stranded bigint[],
  -- How many messages were removed that nobody will receive.
  out late_messages bigint,
  out early_messages bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
  v_activities text[] := split_texts(p_activities, p_activity_count);
  v_tags text[] := split_texts(p_tags, p_tag_count);
  -- What it can run for others.
  v_offered text[];
begin
  perform require_fresh_snapshots();
  clock := v_clock;
  server := server_identity();

  if p_lease_ms is null then
    perform from runtimes as r where r.runtime = p_runtime and r.state = 1;
  else
    update runtimes
    set lease_until = v_clock + p_lease_ms
    where runtime = p_runtime
      and state = 1;
  end if;
  if not found then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  perform bury_expired(v_clock, p_runtime);
  perform free_forgotten_tasks();
  perform sweep(v_clock);
  perform unpark_started();
  late_messages := remove_undelivered();
  early_messages := remove_absent(v_clock);
  perform park_mail(v_clock);

  mail := own_mail(p_runtime);
  claimable := is_claimable(p_runtime, p_workflows, v_clock);
  next_due := (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at > v_clock
        and r.attempts < 2
      order by r.wake_at
      limit 1
    ) as next
  );
  if p_lease_ms is not null then
    owned := (select count(*) from runs as r where r.owner = p_runtime);
  end if;

  wanted := are_held(
    p_runtime, p_held_iids, p_held_executions, p_held_commands, p_held_attempts
  );
  -- Who serves no tag at all runs no tasks.
  if p_tag_count > 0 or p_any_tag then
    stranded := stranded(p_workflows, v_activities || split_texts(p_unknown, p_unknown_count));
  end if;
  if p_activity_count > 0 then
    next_task := case
      when (select true from ready_lanes(v_activities, v_tags, p_any_tag, 0, 1)) then v_clock
      else next_task_at(v_activities, v_tags, p_any_tag)
    end;
    helped := array_to_string(helped_activities(p_runtime, v_activities, v_clock), e'\\x01');
  end if;

  -- Last, because renewing the lease waits for this row; and only where something has changed.
  v_offered := case when '' = any (v_tags) then v_activities else '{}' end;
  update runtimes
  set idle = p_idle,
      activities = v_offered
  where runtime = p_runtime
    and state = 1
    and (idle <> p_idle or activities <> v_offered);
end
$$;
`,
  },
  {
    name: 'procedures/touch_sessions',
    checksum: '036cc09123a3cc36',
    sql: `-- Notes that a runtime was busy in these sessions just now, those that are its own.
create or replace function touch_sessions(p_runtime integer, p_sessions text[], p_clock bigint)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  with own as materialized (
    select s.session
    from sessions as s
    where s.session = any (p_sessions)
      and s.runtime = p_runtime
    -- Whoever has it locked does the same, or takes it over.
    for no key update skip locked
  )
  update sessions as s
  set touched_at = p_clock
  from own as o
  where s.session = o.session;
end
$$;
`,
  },
  {
    name: 'procedures/truths',
    checksum: 'b6e1b17c23975e30',
    sql: `-- One letter for each of p_iids, in its order: t when it is among p_true, otherwise f.
create or replace function truths(p_iids bigint[], p_true bigint[])
  returns text
  language plpgsql
  immutable
  set search_path from current
as $$
begin
  return (
    select coalesce(
      string_agg(case when t.iid is null then 'f' else 't' end, '' order by g.place),
      ''
    )
    from unnest(p_iids) with ordinality as g (iid, place)
    left join unnest(p_true) as t (iid) on t.iid = g.iid
  );
end
$$;
`,
  },
  {
    name: 'procedures/try_lock_name',
    checksum: '9124634548afbc71',
    sql: `-- Locks a name until the end of the transaction, if nobody else does: what a row of the table
-- stands for, whether the row is there or not. Names that share a hash share a lock, which costs
-- them a second look.
create or replace function try_lock_name(p_table regclass, p_name text)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  return pg_try_advisory_xact_lock((p_table::oid::bigint - 2147483648)::integer, hashtext(p_name));
end
$$;
`,
  },
  {
    name: 'procedures/turns_of',
    checksum: '2eba27d321ea1a2c',
    sql: `-- The turns of one execution, in order.
create or replace function turns_of(p_iid bigint, p_execution integer)
  returns table (
    execution integer,
    number integer,
    at bigint,
    first integer,
    count integer,
    text text
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select h.execution, h.turn, h.at, h.first, h.count, h.events
  from history as h
  where h.iid = p_iid
    and h.execution = p_execution
  order by h.turn;
end
$$;
`,
  },
  {
    name: 'procedures/turns_within',
    checksum: '4c250e73456a065b',
    sql: `-- turns_of(), as one text of JSON: see find_within().
create or replace function turns_within(p_iid text, p_execution text, out answer text)
  language plpgsql
  stable
  set search_path from current
as $$
begin
  answer := (
    select json_agg(
      (select json_object_agg(e.key, e.value) from json_each_text(row_to_json(t)) as e)
      order by t.number
    )
    from turns_of(p_iid::bigint, p_execution::integer) as t
  );
end
$$;
`,
  },
  {
    name: 'procedures/unpark_started',
    checksum: '714d60635aa4452d',
    sql: `-- Unparks what was sent to an instance in the moment in which it was started, or removed. Its sender
-- parked it, because it was not started yet, and committed when the start had looked. The start left a
-- note (a time of -1), and whoever is still sending has locked it: see keep_absent().
create or replace function unpark_started()
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
as $$
declare
  v_iids bigint[] := array(
    select a.iid
    from absences as a
    where a.at < 0
    limit 5000
    for update skip locked
  );
begin
  if cardinality(v_iids) > 0 then
    -- In a new statement, which sees what those sent who had the lock before.
    update inbox
    set parked = false,
        early = false
    where iid = any (v_iids)
      and early;
    delete from absences
    where iid = any (v_iids);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/unregister',
    checksum: 'c4c27862b869bfc7',
    sql: `-- Ends a runtime and frees all it owns and holds. Waits for its commits; a second call is harmless.
create or replace function unregister(p_runtime integer)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  perform require_fresh_snapshots();
  perform be_durable();
  perform pg_advisory_xact_lock(lock_space(), p_runtime);
  update runtimes
  set state = 3
  where runtime = p_runtime
    and state = 1;
  if found then
    perform free_runs(array[p_runtime], now_ms(), false);
    perform free_tasks(array[p_runtime], false);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/verify',
    checksum: '0c11bdc1597e2be1',
    sql: `-- Which copies in memory the store still has, for this owner: one letter each, t or f. There may be
-- a turn more: the copy's own, whose answer has not reached it.
create or replace function verify(
  p_runtime integer,
  p_iids bigint[],
  p_epochs integer[],
  p_executions integer[],
  p_turns integer[],
  out server text,
  out same text
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
begin
  server := server_identity();
  same := (
    select coalesce(
      string_agg(
        case
          when r.iid is not null
            and (
              select true
              from history as h
              where h.iid = c.iid
                and h.execution = c.execution
                and h.turn = c.turn
            )
            then 't'
          else 'f'
        end,
        '' order by c.place
      ),
      ''
    )
    from unnest(p_iids, p_epochs, p_executions, p_turns) with ordinality
      as c (iid, epoch, execution, turn, place)
    left join runs as r
      on r.iid = c.iid
      and r.owner = p_runtime
      and r.epoch = c.epoch
  );
end
$$;
`,
  },
  {
    name: 'procedures/version_rank',
    checksum: '4971b6fb6cb3cf03',
    sql: `-- Where a version stands among others, as latestOf() in versions.ts orders them: every release comes
-- after every pre-release. A number sorts by its length, then by its digits. To be compared in the
-- collation "C".
create or replace function version_rank(p_version text)
  returns text[]
  language sql
  immutable
as $$
  select
    array[case when strpos(p_version, '-') = 0 then '1' else '0' end]
    || array(
      select lpad(length(n.part)::text, 6, '0') || n.part
      from unnest(string_to_array(split_part(p_version, '-', 1), '.')) with ordinality
        as n (part, place)
      order by n.place
    )
    || array(
      select
        case
          when i.part ~ '^[0-9]+$' then '0' || lpad(length(i.part)::text, 6, '0') || i.part
          else '1' || i.part
        end
      from unnest(string_to_array(nullif(substr(p_version, strpos(p_version || '-', '-') + 1), ''), '.'))
        with ordinality as i (part, place)
      order by i.place
    )
$$;
`,
  },
  {
    name: 'procedures/wake_tasks',
    checksum: 'f12b0d292d094500',
    sql: `-- Makes tasks of these activities available whose time has come: those that were not visible so
-- far, whatever their tag, and those of the tags given whose holder has been silent for too long.
-- Bounded: the rest comes with the next call. Answers whether some were passed over because somebody
-- else has them locked, who may be doing the same: they can be had in a moment, and nothing tells.
create or replace function wake_tasks(
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  p_clock bigint
)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_due bigint := (
    select count(*)
    from unnest(p_activities) as a (activity)
    cross join lateral (
      select
      from tasks as t
      where t.activity = a.activity collate "C"
        and t.visible_at <= p_clock
      limit 1000
    ) as t
  );
  v_woken bigint;
begin
  with visible as materialized (
    select t.iid, t.execution, t.command
    from unnest(p_activities) as a (activity)
    cross join lateral (
      select t.iid, t.execution, t.command
      from tasks as t
      where t.activity = a.activity collate "C"
        and t.visible_at <= p_clock
      order by t.visible_at
      limit 1000
      for update skip locked
    ) as t
  )
  update tasks as t
  set visible_at = null
  from visible as v
  where t.iid = v.iid
    and t.execution = v.execution
    and t.command = v.command;
  get diagnostics v_woken = row_count;

  with silent as materialized (
    select t.iid, t.execution, t.command
    from unnest(p_activities) as a (activity)
    cross join lateral (
      select t.iid, t.execution, t.command
      from tasks as t
      where t.activity = a.activity collate "C"
        and t.beat_until <= p_clock
        and (t.tag = any (p_tags) or p_any_tag and t.tag <> '')
      order by t.beat_until
      limit 1000
      for update skip locked
    ) as t
  )
  update tasks as t
  set held_by = null,
      beat_until = null
  from silent as s
  where t.iid = s.iid
    and t.execution = s.execution
    and t.command = s.command;

  return v_woken < v_due;
end
$$;
`,
  },
  {
    name: 'procedures/wall_ms',
    checksum: 'bf3a0a303576f231',
    sql: `-- The server's clock, in milliseconds since 1970. Only now_ms() and keep_clock() ask for it. Tests
-- replace it in their own schema.
create or replace function wall_ms()
  returns bigint
  language sql
  volatile
as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
`,
  },
  {
    name: 'procedures/whereabouts',
    checksum: '7140b460d8e42f5c',
    sql: `-- Who works on an instance, what became of its tasks, and what the live runtimes can run: for people,
-- who ask why it does not move. Each answer is JSON.
create or replace function whereabouts(
  p_iid bigint,
  out owner text,
  out tasks text,
  out runtimes text
)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  owner := (
    select json_build_object('runtime', t.runtime, 'info', t.info)
    from runs as r
    join runtimes as t on t.runtime = r.owner
    where r.iid = p_iid
  );
  tasks := (
    select json_agg(
      json_build_object(
        'command', t.command,
        'attempts', t.attempts,
        'holder',
        case when t.held_by is not null then json_build_object('runtime', h.runtime, 'info', h.info) end,
        'heldSince', case when t.held_by is not null then t.held_since end,
        'visibleAt', t.visible_at,
        'error', t.error
      )
    )
    from instances as i
    join tasks as t
      on t.iid = i.iid
      and t.execution = i.execution
    left join runtimes as h on h.runtime = t.held_by
    where i.iid = p_iid
  );
  runtimes := (
    select json_agg(
      json_build_object(
        'runtime', t.runtime,
        'info', t.info,
        'registers', i.workflow = any (t.workflows),
        'serves', t.serves::json,
        'activities', t.activities
      )
    )
    from instances as i
    cross join runtimes as t
    where i.iid = p_iid
      and t.state = 1
      and t.lease_until > v_clock
  );
end
$$;
`,
  },
  {
    name: 'procedures/workflow_numbers',
    checksum: '29fe1d92097e8c44',
    sql: `-- The numbers of workflows, in the order given; new ones get one.
create or replace function workflow_numbers(
  p_names text,
  p_versions text,
  p_count integer,
  out numbers integer[]
)
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_names text[] := split_texts(p_names, p_count);
  v_versions text[] := split_texts(p_versions, p_count);
begin
  perform require_fresh_snapshots();
  insert into workflows (name, version)
  select distinct g.name, g.version
  from unnest(v_names, v_versions) as g (name, version)
  -- A refused insert would use up a number all the same.
  left join workflows as w on w.name = g.name and w.version = g.version
  where w.workflow is null
  order by g.name, g.version
  on conflict do nothing;

  numbers := array(
    select w.workflow
    from unnest(v_names, v_versions) with ordinality as g (name, version, place)
    join workflows as w on w.name = g.name and w.version = g.version
    order by g.place
  );
end
$$;
`,
  },
]
