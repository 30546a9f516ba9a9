-- When the next task of these activities becomes ready, possibly in the past; null for never. Tags
-- count only for tasks whose owner sends no heartbeat.
create or replace function next_task_at(p_activities text[], p_tags text[], p_any_tag boolean)
  returns bigint
  language plpgsql
  stable
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
