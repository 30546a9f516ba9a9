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
]

/** Functions, applied again whenever their text changes. */
export const PROCEDURES: readonly SqlFile[] = [
  {
    name: 'procedures/apply_effects',
    checksum: '8072cf20d7a33c8d',
    sql: `-- What turns do beyond their own history, for those instances that are in p_done: one statement for
-- each kind of effect that there is. p_effects are the lists that are declared below.
create or replace function apply_effects(p_clock bigint, p_done bigint[], p_effects text)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
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
    name: 'procedures/be_durable',
    checksum: '3a3a3b409b38c9a9',
    sql: `-- Makes this transaction wait for the disk, whatever the role or the session says. A setting on
-- the function itself would end before the commit does.
create or replace function be_durable()
  returns void
  language plpgsql
  volatile
  set search_path from current
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
    name: 'procedures/bury_expired',
    checksum: 'f7e851c771225aaf',
    sql: `-- Declares dead, for ever, every runtime whose lease ended, and frees what it owned.
create or replace function bury_expired(p_clock bigint)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_runtime integer;
  v_dead integer[] := '{}';
begin
  for v_runtime in
    select r.runtime
    from runtimes as r
    where r.state = 1
      and r.lease_until <= p_clock
    order by r.runtime
    for update skip locked
  loop
    -- It is writing at this moment: then it lives, and we look again at the next tick.
    if pg_try_advisory_xact_lock(lock_space(), v_runtime) then
      v_dead := v_dead || v_runtime;
    end if;
  end loop;

  if cardinality(v_dead) > 0 then
    update runtimes
    set state = 2
    where runtime = any (v_dead);
    perform free_runs(v_dead, p_clock, true);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/claim',
    checksum: 'c21691c0809b108c',
    sql: `-- Takes ownership of up to p_limit instances of these workflows: first of those hinted at, then of
-- what is due, then of what has mail. Numbers only; load() reads the rest (a large answer to a
-- process that stopped reading would keep the rows locked).
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
  out attempts integer[]
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
begin
  clock := v_clock;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  if p_limit < 1 or cardinality(p_workflows) = 0 then
    return;
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
          and r.workflow = any (p_workflows)
          and (
            r.wake_at <= v_clock
            or (r.epoch > 0 or r.wake_at is null) and (select true from inbox as i where i.iid = r.iid and not i.parked limit 1)
          )
        limit 1
        for update skip locked
      ) as unowned
      limit p_limit
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
    return;
  end if;

  with taken as (
    update runs as r
    set owner = p_runtime,
        epoch = r.epoch + 1,
        wake_at = null
    where r.iid = any (v_found)
    returning r.iid, r.epoch, r.attempts
  )
  select
    array_agg(t.iid order by f.place),
    array_agg(t.epoch order by f.place),
    array_agg(last.execution order by f.place),
    array_agg(last.turn order by f.place),
    array_agg(t.attempts::integer order by f.place)
  into iids, epochs, executions, turns, attempts
  from unnest(v_found) with ordinality as f (iid, place)
  join taken as t on t.iid = f.iid
  cross join lateral last_turn(t.iid) as last;
end
$$;
`,
  },
  {
    name: 'procedures/close_children',
    checksum: '64a03f6c1fc4c4f8',
    sql: `-- Asks unfinished children to end, each in the way that its link to the parent says. p_commands
-- names them by the command that started them; null stands for all children of that parent.
-- p_executions is null for the current execution.
create or replace function close_children(
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
    checksum: 'f578fcb831b1205b',
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
  -- insert_starts() and apply_effects() take them.
  p_continued text,
  p_starts text,
  p_effects text,
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
    select s.letters, s.born
    into starts, v_born
    from insert_starts(p_runtime, v_clock, p_starts) as s;
  end if;

  if v_size > 0 then
    v_events := split_texts(p_events, v_size);

    -- The insert's own answer is the verdict. History is not looked at here: a join with it may
    -- be planned, while the table is small, in a way that reads every turn of the instance.
    with judged as materialized (
      select b.iid, b.epoch, b.execution, b.turn, b.at, b.first, b.count, b.events, r.attempts
      from unnest(
        p_iids, p_epochs, p_executions, p_turns, p_ats, p_firsts, p_counts, v_events
      ) as b (iid, epoch, execution, turn, at, first, count, events)
      join runs as r
        on r.iid = b.iid
        and r.owner = p_runtime
        and r.epoch = b.epoch
        and not r.held
      where b.turn is not null
    ),
    appended as (
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select iid, execution, turn, epoch, at, first, count, events
      from judged
      order by iid
      on conflict do nothing
      returning iid
    )
    select
      (select array_agg(iid) from appended),
      (select array_agg(iid) from judged where attempts > 0)
    into v_done, v_struggling;

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
      set attempts = 0
      where iid = any (v_struggling)
        and iid = any (v_done);
    end if;

    if cardinality(p_released_iids) > 0 then
      -- To come to rest is progress: who released it did not die of it.
      update runs as r
      set owner = null,
          wake_at = l.wake_at,
          attempts = 0
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

  if cardinality(p_ended_iids) > 0 then
    perform end_instances(v_clock, v_done, p_ended_iids, p_ended_statuses, p_ended_outputs);
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
    checksum: '18eeb033b6c9464d',
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
begin
  with going_on as materialized (
    select c.*, r.epoch
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
        attempts = 0
    from going_on as g
    where r.iid = g.iid
  ),
  -- Nobody waits for these any more.
  late_results as (
    delete from inbox as i
    where i.iid = any (array(select g.iid from going_on as g))
      and i.command is not null
      and i.execution < (select g.execution from going_on as g where g.iid = i.iid limit 1)
  )
  update instances as i
  set execution = g.execution,
      workflow = g.workflow
  from going_on as g
  where i.iid = g.iid;
end
$$;
`,
  },
  {
    name: 'procedures/end_instances',
    checksum: '0cacfd8d800653ba',
    sql: `-- Ends instances, those of p_iids that are also in p_done: what waits for them goes, their history
-- and state stay, and their parents are told.
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
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_children bigint[];
begin
  with ended as materialized (
    select e.iid, e.status, e.output
    from unnest(
      p_iids, p_statuses, split_texts(p_outputs, cardinality(p_iids))
    ) as e (iid, status, output)
    join unnest(p_done) as d (iid) on d.iid = e.iid
  ),
  run as (
    delete from runs as r
    using ended as e
    where r.iid = e.iid
  ),
  undelivered as (
    delete from inbox as i
    using ended as e
    where i.iid = e.iid
  ),
  forgotten as (
    delete from posted as p
    using ended as e
    where p.iid = e.iid
  ),
  finished as (
    update instances as i
    set status = e.status,
        output = e.output,
        report = null,
        updated_at = p_clock,
        finished_at = p_clock
    from ended as e
    where i.iid = e.iid
    returning i.iid, i.parent_iid
  )
  select array_agg(f.iid)
  into v_children
  from finished as f
  where f.parent_iid is not null;

  if v_children is not null then
    perform tell_parents(v_children);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/enter',
    checksum: '515cf4d8b2f593b8',
    sql: `-- The first step of all that a runtime writes: keeps it from being declared dead until the end of
-- the transaction, and says whether it is alive. Who wants it dead needs the same lock alone, so
-- when a death is visible, no write of the dead follows.
create or replace function enter(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
  set search_path from current
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
    checksum: '03768c0a9ff5d10d',
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
    checksum: '69616c142ae4b429',
    sql: `-- Adds new instances, for commit_batch() and start_batch(). Answers with one letter for each, in the
-- order given (d done, e the id is taken, a messages wait for the id under another number, r the
-- number is taken), and with the numbers of those that were added now.
--
-- p_starts are lists, in the order of the columns of \`given\`; the labels follow their number. Then
-- come those of messages that go with a start. Lists of parents and labels are empty where none of
-- the instances has any.
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
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
declare
  v_lists text[] := split_lists(p_starts, 23);
  v_iids bigint[] := v_lists[1];
  v_size integer := cardinality(v_iids);
  v_ids text[] := split_texts(v_lists[2], v_size);
  v_owned boolean[] := v_lists[4];
  v_statuses smallint[] := v_lists[12];
  v_message_iids bigint[] := v_lists[21];
  v_born bigint[] := '{}';
  v_more bigint[];
  v_awaited bigint[];
  v_ended bigint[];
begin
  loop
    with given as materialized (
      select *
      from unnest(
        v_iids, v_ids, v_lists[3]::integer[], v_owned, v_lists[5]::bigint[],
        v_lists[6]::integer[], v_lists[7]::integer[], v_lists[8]::bigint[],
        v_lists[9]::integer[], v_lists[10]::integer[], split_texts(v_lists[11], v_size),
        v_statuses, split_texts(v_lists[13], v_size),
        v_lists[14]::bigint[], v_lists[15]::integer[], v_lists[16]::integer[],
        v_lists[17]::smallint[],
        case when v_lists[14] <> '{}' then split_texts(v_lists[18], v_size) end,
        case when v_lists[19] <> '0' then split_texts(v_lists[20], v_size) end
      ) as g (
        iid, id, workflow, owned, wake_at, execution, turn, at, first, count, events, status,
        output, parent_iid, parent_execution, parent_command, on_close, parent_id, labels
      )
    ),
    added as (
      insert into instances (
        iid, id, workflow, execution, status, output, created_at, updated_at, finished_at,
        parent_iid, parent_execution, parent_command, on_close, parent_id, labels
      )
      select
        iid, id, workflow, execution, status,
        case when status > 1 then output end,
        p_clock,
        p_clock,
        case when status > 1 then p_clock end,
        parent_iid, parent_execution, parent_command, on_close, parent_id,
        nullif(labels, '{}')
      from given
      -- Two who start the same ids meet them in the same order, and cannot block each other.
      order by id
      on conflict do nothing
      returning iid
    ),
    to_run as (
      insert into runs (iid, workflow, owner, epoch, wake_at)
      select
        iid, workflow,
        case when owned then p_owner end,
        -- 0 as long as nobody has run its code.
        case when owned or count > 1 then 1 else 0 end,
        case when not owned then wake_at end
      from given
      join added using (iid)
      where status = 1
      order by iid
    ),
    first_turns as (
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select
        iid, execution, turn,
        case when owned or count > 1 then 1 else 0 end,
        case when p_owner is null then p_clock else at end,
        first, count, events
      from given
      join added using (iid)
      order by iid
    )
    select array_agg(iid)
    into v_more
    from added;
    v_born := v_born || v_more;
    exit when cardinality(v_born) = v_size or v_awaited is not null;

    -- Messages came first: the row that stands for the instance under the same number gives way to
    -- the start, and the messages stay.
    v_awaited := array(
      select i.iid
      from unnest(v_iids, v_ids) as g (iid, id)
      join instances as i on i.iid = g.iid
      where i.id = g.id collate "C"
        and i.status = 0
      order by i.id
      for update of i
    );
    exit when cardinality(v_awaited) = 0;
    delete from instances
    where iid = any (v_awaited);
  end loop;
  born := v_born;

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
      delete from posted
      where iid = any (v_ended);
      perform tell_parents(v_ended);
    end if;
  end if;

  if v_lists[14] <> '{}' then
    perform close_orphans(v_born);
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
        when (
            select i.status
            from instances as i
            where i.id = g.id collate "C"
          ) = 0
          then 'a'
        else 'e'
      end,
      '' order by g.place
    )
    from unnest(v_iids, v_ids, v_owned, v_statuses) with ordinality
      as g (iid, id, owned, status, place)
    left join unnest(v_born) as b (iid) on b.iid = g.iid
    left join lateral (
      select i.id
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as known on true
  );
end
$$;
`,
  },
  {
    name: 'procedures/instance_rows',
    checksum: '8d817609c430d192',
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
declare
  v_clock bigint := now_ms();
begin
  return query
  select
    g.place, i.iid, i.id, coalesce(w.name, ''), coalesce(w.version, ''), i.execution, i.status,
    coalesce(r.held, false),
    -- Nobody has claimed it yet, because its time has not come.
    coalesce(not r.held and r.epoch = 0 and r.wake_at > v_clock, false),
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
    name: 'procedures/is_claimable',
    checksum: 'c41e59a289e3b335',
    sql: `-- Whether claim() would find anything of these workflows.
create or replace function is_claimable(p_workflows integer[], p_clock bigint)
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
        limit 1
      ) as due
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
    name: 'procedures/load',
    checksum: '4f361cffbddeb362',
    sql: `-- Everything needed to run instances: themselves, their parents, the history of their execution
-- after a certain turn, their inbox. One statement, so that all of it is of one moment, and without
-- locks.
--
-- A row is one part, and most are turns; so parts share columns. Of a parent, number is its iid,
-- first the command, count what becomes of the child, text its id. Of an inbox row, number is its
-- id, first the command, count the kind, text the payload.
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
      m.kind::integer, m.payload, coalesce(m.name, ''), null, coalesce(m.reply_to, ''), m.parked
    from wanted as w
    join inbox as m on m.iid = w.iid
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
    checksum: '688a784948abb09c',
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
      -- First the owners, as in every commit; then the rows.
      foreach v_owner in array v_expected loop
        perform pg_advisory_xact_lock(lock_space(), v_owner);
      end loop;
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
    checksum: '3ba4ec26b0cbcc11',
    sql: `-- The first half of our advisory locks; the second is the number of a runtime. Another schema of
-- the same database has another table, and so another half.
create or replace function lock_space()
  returns integer
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return 'runtimes'::regclass::oid::bigint - 2147483648;
end
$$;
`,
  },
  {
    name: 'procedures/now_ms',
    checksum: '66c843d3869cddd4',
    sql: `-- The only clock, in milliseconds since 1970. Procedures read it once, into a variable: in a
-- condition it would be asked for every row. Tests replace it in their own schema.
create or replace function now_ms()
  returns bigint
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  return floor(extract(epoch from clock_timestamp()) * 1000);
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
    checksum: 'c002fcdd048870fc',
    sql: `-- All that a runtime owns. Scans the unfinished instances: for the rare case that a tick counted
-- more than the runtime knows of.
create or replace function owned(p_runtime integer)
  returns table (iid bigint, epoch integer, execution integer, turn integer, attempts integer)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
begin
  return query
  select r.iid, r.epoch, last.execution, last.turn, r.attempts::integer
  from runs as r
  cross join lateral last_turn(r.iid) as last
  where r.owner = p_runtime
  order by r.iid;
end
$$;
`,
  },
  {
    name: 'procedures/post',
    checksum: 'c8c38d5a414ac683',
    sql: `-- Puts messages, and wishes that an instance ends, into inboxes by the caller's ids. Only inserts,
-- as send() does. A message for an id that is not there makes a row for it, under the number that
-- came with it: who starts that id finds the row, since both meet on the unique id.
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
  v_letters text[] := '{}';
  v_keyed integer := 0;
  v_kept_iids bigint[];
  v_kept_keys text[];
begin
  perform require_fresh_snapshots();
  perform be_durable();

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
    exit when cardinality(v_early) = 0;
    -- Then look again: in a new statement, which sees whoever was first.
    insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select distinct on (id) p_iids[e.place], v_ids[e.place] as id, 0, 0, 0, v_clock, v_clock
    from unnest(v_early) as e (place)
    order by id, e.place
    on conflict (id) do nothing;
  end loop;

  -- One after the other: whether there is room for one depends on those before it.
  for v_post in
    with given as materialized (
      select
        g.place, g.target, i.status, g.kind, g.name, g.key, g.capacity,
        min(g.place) over (partition by g.target, g.kind, g.name) as channel,
        max(g.capacity) over (partition by g.target, g.kind, g.name) as counted,
        min(g.place) over (partition by g.target, g.key) as key_place
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
      end as is_known
    from given as g
    order by g.place
  loop
    if v_post.waiting > 0 then
      v_waiting[v_post.place] := v_post.waiting;
    end if;
    if v_post.target is null then
      v_letters := v_letters || case when v_post.kind = 3 then 'f' else 'u' end;
    -- Or removed since we looked.
    elsif coalesce(v_post.status, 2) > 1 then
      v_letters := v_letters || 'e'::text;
    elsif v_post.status = 0 and v_post.kind > 3 then
      v_letters := v_letters || 'u'::text;
    elsif v_post.is_known or (v_post.key <> '' and v_used[v_post.key_place]) then
      v_letters := v_letters || 'd'::text;
    elsif v_waiting[v_post.channel] >= v_post.capacity then
      v_letters := v_letters || case when v_post.kind = 3 then 'f' else 'd' end;
    else
      v_letters := v_letters || 's'::text;
      v_waiting[v_post.channel] := v_waiting[v_post.channel] + 1;
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

  insert into inbox (iid, kind, name, reply_to, payload)
  select g.target, g.kind, g.name, nullif(g.reply_to, ''), g.payload
  from unnest(v_targets, p_kinds, v_names, v_reply_tos, v_payloads, v_letters) with ordinality
    as g (target, kind, name, reply_to, payload, letter, place)
  where g.letter = 's'
  -- By instance, so that two senders meet in one order; within one, as they were posted.
  order by g.target, g.place;

  -- One that was never run is not woken by mail. The wish for its end need not wait for its time.
  if p_kinds && array[4, 5]::smallint[] then
    update runs as r
    set wake_at = v_clock
    from unnest(v_targets, p_kinds, v_letters) as g (target, kind, letter)
    where r.iid = g.target
      and g.letter = 's'
      and g.kind in (4, 5)
      and r.epoch = 0
      and r.owner is null
      and r.wake_at is not null;
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
    name: 'procedures/register',
    checksum: 'fad34302a06b94b8',
    sql: `-- Takes in a new runtime.
create or replace function register(
  p_lease_ms bigint,
  p_info text,
  p_names text,
  p_versions text,
  p_count integer,
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
  v_clock := now_ms();
  loop
    insert into runtimes (runtime, state, lease_until, registered_at, info)
    values (
      1 + floor(random() * 2147483646)::integer, 1, v_clock + p_lease_ms, v_clock, p_info
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
    checksum: '81bd6a511b113473',
    sql: `-- Removes instances that have ended, or were never started, with all there is of them; returns how
-- many there were.
create or replace function remove(p_ids text, p_count integer, out removed bigint)
  language plpgsql
  volatile
  set search_path from current
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
  delete from instances where iid = any (v_iids);
  delete from history where iid = any (v_iids);
  delete from state where iid = any (v_iids);
  delete from inbox where iid = any (v_iids);
  delete from posted where iid = any (v_iids);
  removed := cardinality(v_iids);
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
    checksum: '48eaa33142a74241',
    sql: `-- Refuses a transaction whose statements do not see what was committed while they waited: a
-- judgement made after waiting for a lock would rest on what was true before.
create or replace function require_fresh_snapshots()
  returns void
  language plpgsql
  volatile
  set search_path from current
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
    name: 'procedures/resume',
    checksum: 'dbdd2fe57a2e52f0',
    sql: `-- Makes instances that were set aside claimable again; returns how many were.
create or replace function resume(p_ids text, p_count integer, out resumed bigint)
  language plpgsql
  volatile
  set search_path from current
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
        wake_at = v_clock,
        attempts = 0
    from unnest(split_texts(p_ids, p_count)) as g (id)
    join instances as i on i.id = g.id collate "C"
    where r.iid = i.iid
      and r.held
    returning r.iid
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
    checksum: '3450d21001fd9d0c',
    sql: `-- Puts results into inboxes. Only inserts: an instance is claimable because it has mail, so there
-- is no flag to set and no row to lock. A second result for a command is dropped, and so is what
-- comes for an instance that has ended.
create or replace function send(
  p_iids bigint[],
  p_kinds smallint[],
  p_executions integer[],
  p_commands integer[],
  p_payloads text
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
    p_iids, p_kinds, p_executions, p_commands, split_texts(p_payloads, cardinality(p_iids))
  ) with ordinality as g (iid, kind, execution, command, payload, place)
  join runs as r on r.iid = g.iid
  -- By instance, so that two senders meet in one order; within one, as they were sent.
  order by g.iid, g.place
  on conflict do nothing;
end
$$;
`,
  },
  {
    name: 'procedures/server_identity',
    checksum: '819f14b45db01eca',
    sql: `-- Which server this is: changes when it restarts and when another one takes its place.
create or replace function server_identity()
  returns text
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  return to_hex((extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint)
    -- The first eight digits of a WAL file's name are the timeline.
    || '-' || ltrim(left(pg_walfile_name(pg_current_wal_lsn()), 8), '0');
end
$$;
`,
  },
  {
    name: 'procedures/split_lists',
    checksum: '84d84f65030390e9',
    sql: `-- Lists that came as one text, joined by \\x02. What is seldom sent, or sent by few, is packed like
-- this: each parameter costs something also when it is empty.
create or replace function split_lists(p_lists text, p_count integer)
  returns text[]
  language plpgsql
  immutable
  set search_path from current
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
    checksum: 'e0336ad33bd96827',
    sql: `-- Texts that came as one, joined by \\x01: several times cheaper to send than an array. A text that
-- holds the separator itself would shift all that follow, so the count is checked.
create or replace function split_texts(p_texts text, p_count integer)
  returns text[]
  language plpgsql
  immutable
  set search_path from current
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
    checksum: '0dfbb340b2cd8c93',
    sql: `-- Starts instances for a client that owns nothing. Takes and answers what insert_starts() does;
-- p_effects is empty, or what apply_effects() takes.
create or replace function start_batch(p_starts text, p_effects text, out starts text)
  language plpgsql
  volatile
  set search_path from current
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
end
$$;
`,
  },
  {
    name: 'procedures/suspend',
    checksum: '68bb6addacfa7b5c',
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
        epoch = epoch + 1,
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
    checksum: '8c3b8ab8bae5f7b8',
    sql: `-- Removes what nobody asks for any more: answers that are older than an hour, and mail that was sent
-- while its instance ended. Bounded, so that a tick stays short: the rest goes with later ticks.
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
  v_ended bigint[];
begin
  v_old := array(
    select r.reply_to
    from replies as r
    where r.at < p_clock - 3600000
    order by r.at
    limit 10000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from replies
    where reply_to = any (v_old);
  end if;

  v_ended := array(
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
  if cardinality(v_ended) > 0 then
    delete from inbox
    where iid = any (v_ended);
    delete from posted
    where iid = any (v_ended);
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/tell_parents',
    checksum: '1bc49d46a9596b5f',
    sql: `-- Puts the results of instances that have ended into the inboxes of their parents. A parent that
-- has ended, or is in another execution by now, does not wait for them.
create or replace function tell_parents(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
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
    name: 'procedures/terminate',
    checksum: '6c1d090c4ed20996',
    sql: `-- Ends unfinished instances at once, whoever owns them. One letter for each, t or f: whether it was
-- unfinished.
create or replace function terminate(
  p_ids text,
  p_outputs text,
  p_events text,
  p_count integer,
  out terminated text
)
  language plpgsql
  volatile
  set search_path from current
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

  if v_ended is not null then
    perform end_instances(
      v_clock, v_ended, v_iids, array_fill(5::smallint, array[p_count]), p_outputs
    );
    perform close_children(
      v_ended,
      array_fill(null::integer, array[cardinality(v_ended)]),
      array_fill(null::integer, array[cardinality(v_ended)])
    );
  end if;
end
$$;
`,
  },
  {
    name: 'procedures/tick',
    checksum: '3219708d83eaaa24',
    sql: `-- Renews the lease of a runtime, buries others whose lease ended, and tells all that a lost hint
-- would have told.
create or replace function tick(
  p_runtime integer,
  p_lease_ms bigint,
  p_workflows integer[],
  out state text,
  out clock bigint,
  out server text,
  out mail bigint[],
  out owned bigint,
  out claimable boolean,
  out next_due bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  clock := v_clock;
  server := server_identity();

  update runtimes
  set lease_until = v_clock + p_lease_ms
  where runtime = p_runtime
    and state = 1;
  if not found then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  perform bury_expired(v_clock);
  perform sweep(v_clock);

  mail := own_mail(p_runtime);
  claimable := is_claimable(p_workflows, v_clock);
  next_due := (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at > v_clock
      order by r.wake_at
      limit 1
    ) as next
  );
  owned := (select count(*) from runs as r where r.owner = p_runtime);
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
    name: 'procedures/unregister',
    checksum: '0c5e61c839a19d59',
    sql: `-- Ends a runtime and frees all it owns. Waits for its commits; a second call is harmless.
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
