-- Takes ownership of up to p_limit instances of these workflows: first hinted ones, then due ones, then
-- those with messages. A runtime gets one quarantined instance at a time. Returns numbers only, and
-- load() reads the rest: a large answer to a process that stopped reading would keep the rows locked.
-- An instance that was started without a version gets one, and is passed on if that version is not
-- among these workflows. One that the limit of its workflow does not admit is not claimed.
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
  -- Joined by \x01.
  out doings text,
  -- Instances for other runtimes, which have the version that these were given.
  out passed bigint[],
  -- When the next one is due; in the past if another transaction has locked it.
  out next_due bigint,
  -- Instances whose limit cannot be judged until their key is computed.
  out unkeyed bigint[],
  -- Whether there are more limits to judge.
  out has_more boolean
)
  language plpgsql
  volatile
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
  v_quarantined bigint;
  v_late bigint[];
  -- Which priorities there are: one entry for each of a workflow.
  v_ranked integer[] := p_workflows;
  v_ranks integer[] := array_fill(0, array[cardinality(p_workflows)]);
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
  -- Before any row is locked: see line_lock().
  if has_unadmitted() then
    select a.unkeyed, a.has_more
    into unkeyed, has_more
    from admit_due(p_workflows, p_hinted, v_clock) as a;
  end if;
  if (select true from runs as r where r.priority is not null and r.wake_at is not null and :ORDINARY limit 1) then
    select array_agg(k.workflow), array_agg(k.rank)
    into v_ranked, v_ranks
    from ranks_of(p_workflows) as k;
  end if;

  if (
    select true
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.iid
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at <= v_clock
        and :QUARANTINED
      limit 1
    ) as quarantined
    limit 1
  ) and may_take_quarantined(p_runtime) then
    -- A quarantined instance is due at once, and is found by that only.
    v_quarantined := (
      select quarantined.iid
      from unnest(p_workflows) as w (workflow)
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= v_clock
          and :QUARANTINED
        order by r.wake_at
        limit 1
        for update skip locked
      ) as quarantined
      limit 1
    );
    if v_quarantined is not null then
      v_found := v_found || v_quarantined;
      update runtimes
      set careful = v_quarantined
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
          and :UNOWNED
          and :ORDINARY
          and r.workflow = any (p_workflows)
          and (
            r.wake_at <= v_clock
            or :WAKEABLE and (
              select true
              from inbox as i
              where i.iid = r.iid
                -- Sent while the instance was started: see unpark_started().
                and (not i.parked or i.early)
              limit 1
            )
            -- This runtime may have the code of its activity: see stranded().
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
  -- is left, to any of them. The workflow that has waited longest comes first: where there is
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
        select k.workflow, array_agg(k.rank order by k.rank desc) as ranks
        from unnest(v_ranked, v_ranks) with ordinality as k (workflow, rank, place)
        cross join lateral (
          select r.wake_at
          from runs as r
          where r.workflow = k.workflow
            and :RANK = k.rank
            and r.wake_at <= v_clock
            and :ORDINARY
          order by r.wake_at
          limit 1
        ) as oldest
        group by k.workflow
        order by min(oldest.wake_at), min(k.place)
      ) as w
      cross join lateral (
        select ranked.iid
        from unnest(w.ranks) as k (rank)
        cross join lateral (
          select r.iid
          from runs as r
          where r.workflow = w.workflow
            and :RANK = k.rank
            and r.wake_at <= v_clock
            and :ORDINARY
            and r.iid <> all (v_found)
          order by r.wake_at
          limit v_share
          for update skip locked
        ) as ranked
        limit v_share
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
          and :WAKEABLE
          and :ORDINARY
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

  if cardinality(v_found) > 0 then
    v_late := line_up_late(v_found, v_clock);
    if cardinality(v_late) > 0 then
      has_more := true;
      v_found := array(
        select f.iid
        from unnest(v_found) with ordinality as f (iid, place)
        where f.iid <> all (v_late)
        order by f.place
      );
    end if;
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
    string_agg(coalesce(t.doing, ''), e'\x01' order by f.place)
  into iids, epochs, executions, turns, attempts, doings
  from unnest(v_found) with ordinality as f (iid, place)
  join taken as t on t.iid = f.iid
  cross join lateral last_turn(t.iid) as last;
  next_due := next_wake(p_workflows);
end
$$;
