-- The oldest p_limit tasks that a runtime may take now, without locking them; and when the next may be
-- taken. p_missed are numbers of tasks to skip.
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
    -- Several lanes may share a limit.
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
