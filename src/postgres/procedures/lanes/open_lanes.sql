-- The lanes that a runtime serves and may take tasks from, the oldest task first. `most` is how many
-- tasks it may take; 0 for a closed lane that opens at `opens_at`. Locks limits until the end of the
-- transaction.
create or replace function open_lanes(
  p_runtime integer,
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  -- How many lanes are enough: each has a task.
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
    -- How many it may take of all lanes with the same limit; null for no limit.
    limited_to bigint,
    opens_at bigint
  )
  language plpgsql
  volatile
  set enable_bitmapscan to off
as $$
#variable_conflict use_column
declare
  -- At most this many lanes are examined in one call, and some random ones.
  v_bound constant integer := 1000;
  v_lane record;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Sessions in which this runtime owns tasks, or will.
  v_sessions text[] := array(
    select distinct t.session
    from tasks as t
    where t.held_by = p_runtime
      and t.session is not null
  );
  -- Not read until it matters.
  v_may_take_quarantined boolean;
  v_keys text[] := '{}';
  v_lefts bigint[] := '{}';
begin
  for v_lane in
    with first as materialized (
      select * from ready_lanes(p_activities, p_tags, p_any_tag, 0, v_bound)
    ),
    -- Random lanes beyond the bound, so that each gets its turn.
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

    if v_lane.deaths >= :QUARANTINE_DEATHS then
      v_may_take_quarantined := coalesce(v_may_take_quarantined, may_take_quarantined(p_runtime));
      continue when not v_may_take_quarantined;
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
    if v_lane.deaths >= :QUARANTINE_DEATHS then
      v_may_take_quarantined := false;
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
