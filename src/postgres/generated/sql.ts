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
]

/** Functions, applied again whenever their text changes. */
export const PROCEDURES: readonly SqlFile[] = [
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
    checksum: '86869603c9792ed8',
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
            or (select true from inbox as i where i.iid = r.iid and not i.parked limit 1)
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
    name: 'procedures/commit_batch',
    checksum: '8b0fd13158684dcc',
    sql: `-- Writes what one runtime decided about many instances, each judged by itself (design: F1, F2, F4,
-- C8). Must be called alone, as the only statement of its transaction.
--
-- Answers with one letter per start and per turn, in the order given: d done, r refused, e exists.
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
  -- The starts, as insert_starts() takes them.
  p_start_iids bigint[],
  p_start_ids text,
  p_start_workflows integer[],
  p_start_owned boolean[],
  p_start_wake_ats bigint[],
  p_start_executions integer[],
  p_start_turns integer[],
  p_start_ats bigint[],
  p_start_firsts integer[],
  p_start_counts integer[],
  p_start_events text,
  p_start_statuses smallint[],
  p_start_outputs text,
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

    -- The first turn of another execution.
    if 1 = any (p_turns) then
      update instances as i
      set execution = b.execution
      from unnest(p_iids, p_executions, p_turns) as b (iid, execution, turn)
      join unnest(v_done) as d (iid) on d.iid = b.iid
      where i.iid = b.iid
        and b.turn = 1;
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

    if cardinality(p_ended_iids) > 0 then
      with ended as materialized (
        select e.iid, e.status, e.output
        from unnest(
          p_ended_iids,
          p_ended_statuses,
          split_texts(p_ended_outputs, cardinality(p_ended_iids))
        ) as e (iid, status, output)
        join unnest(v_done) as d (iid) on d.iid = e.iid
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
      )
      update instances as i
      set status = e.status,
          output = e.output,
          updated_at = v_clock,
          finished_at = v_clock
      from ended as e
      where i.iid = e.iid;
    end if;
  end if;

  if cardinality(p_start_iids) > 0 then
    starts := insert_starts(
      p_runtime, v_clock, p_start_iids, p_start_ids, p_start_workflows, p_start_owned,
      p_start_wake_ats, p_start_executions, p_start_turns, p_start_ats, p_start_firsts,
      p_start_counts, p_start_events, p_start_statuses, p_start_outputs
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
        -- Released or set aside, and nobody claimed it since. Who else frees an instance first
        -- declares its owner dead, and then we are not here.
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
    checksum: '2e023607291f022a',
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
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text
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
    name: 'procedures/insert_starts',
    checksum: 'b2df0dd535610c61',
    sql: `-- Adds new instances, for commit_batch() and start_batch(). Returns one letter for each, in the
-- order given: d done, e the id is taken, r the number is taken.
create or replace function insert_starts(
  p_owner integer,
  p_clock bigint,
  p_iids bigint[],
  p_ids text,
  p_workflows integer[],
  p_owned boolean[],
  p_wake_ats bigint[],
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_statuses smallint[],
  p_outputs text
)
  returns text
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_events text[] := split_texts(p_events, v_size);
  v_outputs text[] := split_texts(p_outputs, v_size);
  v_born bigint[];
begin
  with given as materialized (
    select *
    from unnest(
      p_iids, v_ids, p_workflows, p_owned, p_wake_ats, p_executions, p_turns, p_ats, p_firsts,
      p_counts, v_events, p_statuses, v_outputs
    ) as g (
      iid, id, workflow, owned, wake_at, execution, turn, at, first, count, events, status, output
    )
  ),
  born as (
    insert into instances (
      iid, id, workflow, execution, status, output, created_at, updated_at, finished_at
    )
    select
      iid, id, workflow, execution, status,
      case when status > 1 then output end,
      p_clock,
      p_clock,
      case when status > 1 then p_clock end
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
      case when owned then 1 else 0 end,
      case when not owned then wake_at end
    from given
    join born using (iid)
    where status = 1
    order by iid
  ),
  first_turns as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select
      iid, execution, turn,
      case when owned then 1 else 0 end,
      at, first, count, events
    from given
    join born using (iid)
    order by iid
  )
  select array_agg(iid)
  into v_born
  from born;

  if cardinality(v_born) = v_size then
    return repeat('d', v_size);
  end if;

  -- The number is known from before: the same start, sent again. If it was to be owned and its
  -- sender has lost it since, the sender must not go on with it.
  return (
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
        when known.id is null then 'e'
        else 'r'
      end,
      '' order by g.place
    )
    from unnest(p_iids, v_ids, p_owned, p_statuses) with ordinality
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
    checksum: 'c1f148e1ebd0beb0',
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
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text
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
    g.place, i.iid, i.id, w.name, w.version, i.execution, i.status, coalesce(r.held, false),
    r.wake_at, i.created_at, greatest(i.updated_at, last.at), i.finished_at,
    i.output, i.report
  from unnest(p_iids) with ordinality as g (iid, place)
  join instances as i on i.iid = g.iid
  join workflows as w on w.workflow = i.workflow
  left join runs as r on r.iid = i.iid
  cross join lateral last_turn(i.iid) as last
  order by g.place;
end
$$;
`,
  },
  {
    name: 'procedures/is_claimable',
    checksum: '447d559bb422f178',
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
    checksum: '5039bbe7efbd9882',
    sql: `-- Where an instance stands: one descent of the index, whatever the planner thinks of the table.
create or replace function last_turn(
  p_iid bigint,
  out execution integer,
  out turn integer,
  out at bigint
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
  select h.execution, h.turn, h.at
  into execution, turn, at
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
    checksum: '50a0302a93683a6c',
    sql: `-- Everything needed to run instances: themselves, the history of their execution after a certain
-- turn, their inbox. One statement, so that all of it is of one moment, and without locks.
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
    version text
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
    select i.iid, i.id, i.execution, w.name, w.version, p.after
    from unnest(p_iids, p_afters) as p (iid, after)
    join instances as i on i.iid = p.iid
    join workflows as w on w.workflow = i.workflow
  ),
  parts as (
    select
      1 as rank, 'instance' as part, w.iid, w.execution, null::bigint as number,
      null::bigint as at, null::integer as first, null::integer as count, w.id as text,
      w.name, w.version
    from wanted as w
    union all
    select
      2, 'turn', h.iid, h.execution, h.turn, h.at, h.first, h.count, h.events, null, null
    from wanted as w
    join history as h
      on h.iid = w.iid
      and h.execution = w.execution
      and h.turn > w.after
    union all
    select
      -- One kind so far: results. Their command stands in \`first\`.
      3, 'result', m.iid, m.execution, m.id, null, m.command, null, m.payload, null, null
    from wanted as w
    join inbox as m on m.iid = w.iid
  )
  select
    p.part, p.iid, p.execution, p.number, p.at, p.first, p.count, p.text, p.name, p.version
  from parts as p
  order by p.rank, p.iid, p.number;
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
    checksum: 'dfb09775d386a08c',
    sql: `-- Puts results into inboxes. Only inserts: an instance is claimable because it has mail, so there
-- is no flag to set and no row to lock. A second result for a command is dropped, and so is what
-- comes for an instance that has ended.
create or replace function send(
  p_iids bigint[],
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
  select g.iid, 1, g.execution, g.command, g.payload
  from unnest(
    p_iids, p_executions, p_commands, split_texts(p_payloads, cardinality(p_iids))
  ) with ordinality as g (iid, execution, command, payload, place)
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
    checksum: 'fe8dfd8db9282ec1',
    sql: `-- Starts instances for a client that owns nothing. Answers as insert_starts() does.
create or replace function start_batch(
  p_iids bigint[],
  p_ids text,
  p_workflows integer[],
  p_wake_ats bigint[],
  p_executions integer[],
  p_turns integer[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_statuses smallint[],
  p_outputs text,
  out starts text
)
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  starts := insert_starts(
    null, v_clock, p_iids, p_ids, p_workflows,
    array_fill(false, array[cardinality(p_iids)]),
    p_wake_ats, p_executions, p_turns,
    -- A client does not know the time here.
    array_fill(v_clock, array[cardinality(p_iids)]),
    p_firsts, p_counts, p_events, p_statuses, p_outputs
  );
end
$$;
`,
  },
  {
    name: 'procedures/tick',
    checksum: 'b06beb105011cf5a',
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
