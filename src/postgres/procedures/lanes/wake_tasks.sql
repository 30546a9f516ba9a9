-- Makes due tasks of these activities ready: delayed ones, whatever their tag, and those of the given
-- tags whose owner sent no heartbeat in time. Bounded: the rest comes with the next call. Returns whether
-- some were skipped because another transaction has them locked, possibly to do the same: they are ready
-- in a moment, without a hint.
create or replace function wake_tasks(
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  p_clock bigint
)
  returns boolean
  language plpgsql
  volatile
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
